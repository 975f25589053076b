"""Compares the output that a page shows with what the command really printed.

What depends on the machine or the moment is masked: numbers with their units, intervals, versions, commits, dates, the host, the
presets that a node feeds, and the verdict on a metric of two measurements. Progress is left out, and so is what iobench says of
its machine: its warnings, its hints, and the CLAUSES below; and what shardctl says of the store. The row of the pipeline may be
missing, because on a busy machine its steps are too few. A line `...` in the page stands for any lines, `...` within a line for
any text.
"""

import re

UNITS = r"(?:[KMGT]iB|[kMGT]?B|ms|s|µs|min|h|%|x)"
NUMBER = re.compile(r"(?<![\w.~])(?<!\w-)[-+]?\d[\d,]*(?:\.\d+)*(?:e-?\d+)?(?:\s?" + UNITS + r"(?![A-Za-z]))?(?:/s\b)?")
PROGRESS = r"(stage \d+ of \d+: )?[a-z][a-z -]*( \d+ %  |  \d+ s$)"
NOTES = re.compile(r"^(" + PROGRESS + r"|[a-z]+ +\d+/\d+|iobench: warning: |shardctl: warning: this store |hint: )")
MAY_BE_MISSING = re.compile(r"pipeline  ")
VERDICT = re.compile(r"^(pass|improved|regressed|inconclusive)(?=\s+[a-z_-]+\.)")

# Parts of a verdict of `iobench run` that only come when the measurement was disturbed or two stages are about as slow.
CLAUSES = ("; disturbed: ...others used ... of the disk", "; disturbed: ...others used ... cores",
           "; ... is about as slow (...)",
           "; this is uncertain: ... with a longer --budget",
           " on an idle machine", "; --python measures it")  # of what a loader delivers
CLAUSE = re.compile("|".join("[^;]*?".join(map(re.escape, clause.split("..."))) for clause in CLAUSES))
# The verdict, with the clauses that did not fit into its line below it, up to the blank line before the table.
VERDICT_WITH_NOTES = re.compile(r"^(.* samples/s; .* is the bottleneck.*?)( \([^()]+\))\n((?:(?!iobench: |hint: )[^\n]+\n)+)(?=\n)", re.MULTILINE)


def masked(line):
    line = re.sub(r"^on \S+ \(.*", "on HOST", line)
    line = VERDICT.sub("VERDICT", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "DATE", line)
    line = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,40}(-dirty)?\b", "HASH", line)
    line = NUMBER.sub("#", line)
    line = re.sub(r"(?<=\s)-(?=\s|$)|# to #", "#", line)  # a value that was not measured; an interval
    line = re.sub(r"(?<=^feeds )[^;]+", "PRESETS", line)
    return " ".join(re.sub(r"#(\s+#)+", "#", line).split())


def lines_of(text, scratch=""):
    text = text.replace(str(scratch), "") if scratch else text
    text = VERDICT_WITH_NOTES.sub(lambda found: "; ".join([found[1], *found[3].splitlines()]) + found[2] + "\n", text)
    text = CLAUSE.sub("", text)
    lines = [line.rstrip() for line in text.replace("\r", "\n").splitlines()]
    return [line for line in lines if line and not NOTES.match(line)]


def pattern_of(line):
    return ".*".join(re.escape(masked(part)).replace("\\ ", " ?") for part in line.split("..."))


def matched(shown, printed):
    """(match of the printed lines, masked and joined, or None; patterns of the shown lines, one group each)"""
    whole = "".join(f"{masked(line)}\n" for line in printed)
    parts = [r"((?:.*\n)*?)" if line.strip() == "..." else f"({pattern_of(line)} ?\\n)" + "?" * bool(MAY_BE_MISSING.match(line))
             for line in lines_of(shown)]
    return re.fullmatch("".join(parts), whole), parts


def with_values(line, real):
    """A line with `...` in it, with the values of the real line."""
    parts = []
    for part in line.split("..."):
        texts = [r"\s+".join(map(re.escape, re.split(r"\s+", text))) for text in NUMBER.split(part)]
        parts.append("(" + NUMBER.pattern.join(texts) + ")")
    found = re.match(".*?".join(parts[:-1]) + ".*" + parts[-1] + "$", real)
    return "...".join(found.groups()) if found else line


def refreshed(shown, real, scratch=""):
    """What the page shows, with the values of the real output; `shown` must fit it."""
    printed = lines_of(real, scratch)
    match, _ = matched(shown, printed)
    number, lines = 0, []
    for line in shown.splitlines():
        if not line.strip():
            lines.append(line)
            continue
        number += 1
        at = match.string.count("\n", 0, max(match.start(number), 0))
        lines.append(line if line.strip() == "..." or match[number] is None else with_values(line, printed[at]) if "..." in line else printed[at])
    return "".join(f"{line}\n" for line in lines)


def difference(shown, real, scratch=""):
    """None if the page is right, else a text."""
    wanted, printed = lines_of(shown), lines_of(real, scratch)
    match, parts = matched(shown, printed)
    if match:
        return None
    whole = "".join(f"{masked(line)}\n" for line in printed)
    at = 0
    for count in range(len(parts), 0, -1):  # the longest start of the page that fits
        if re.match("".join(parts[:count]), whole):
            at = count
            break
    missing = wanted[at] if at < len(wanted) else "the end"
    return f"the page shows, at its line {at + 1}:\n    {missing}\nthe command printed:\n" + "".join(
        f"    {line}\n" for line in printed)
