"""What each verb does in each state: written by hand from docs/explain/set-states.md, not from the programs.

    ok  exit code 0, no word of the state       W  exit code 0, and the words of the state
    R   exit code 4, the words of the state and its advice; every byte stays as it was
    F   a finding: exit code 3, words and advice
    1   in use: exit code 1      2  a command line that this medium has not
    a|b either; the page does not decide it, or this medium cannot know     -  no such cell
"""

# What docs/explain/set-states.md leaves open, or cannot be as it says, and what is expected here:
# - A group that a killed stage has left has members with states of their own, so `group` would come before `staging`. It is
#   expected to be refused and found by verify (group-staging), in the words of `staging`.
# - The flag `plan` cannot be raised for each plan that is missing: staged and uploaded sets have none, and copies without dot
#   files stay sound. So verify is ok without a plan (complete-bare), unless a later one is there (plan-first-lost).
# - An appended set that lost a shard of its last append: the command of that plan is an --append, which `incomplete` refuses.
#   Either is taken (incomplete-grown-new append).
# - `--append` to a set without one of its sample indexes cannot know which files were left out: either (complete-no-tar-index).
# - `convert` and `stage` into a folder with files of others are ok by the table; then the folder has them still.
# - Shards of others in a prefix do not meet the names of an upload: ok, and from then on they are `extra`.
# - On a web server, salvage and iobench may find what is missing when they open it: W|R. `index` writes elsewhere there
#   (--output), so sets that are whole may be indexed: R|ok.
# - For `empty` and `files` the page has no words; "no set" of `cache check` and `cache ls` has no exit code: 0 or 4.
# - A marker or journal of a later version: R everywhere, but cache check may call it a finding.
# - Live writers of stage and upload cannot be copied with a state: kills_test.py has them.

import re

READING = "verify look take salvage measure from index replace".split()
WRITING = "same options source append into other upload grown upgrown merge parts check".split()

# On a disk and in a bucket. verify | ls, cat, stat | extract, reshard | reshard --salvage | iobench | stage, upload from |
# index | index --replace || the same command | other options | another source | --append | stage A into | stage B into |
# upload A into | merge | parts | cache check
TABLE = """
                  verify look take salvage measure from index replace  same options source append into other upload merge parts check
empty             R      R    R    R       R       R    R     R        ok   ok      ok     ok     ok   ok    ok     R     R     none
files             R      R    R    R       ok      ok   R     R        ok   ok      ok     ok     ok   ok    ok     R     R     none
files-other       R      R    R    R       W       W    R     R        R    R       R      R      R    R     R      R     R     none
group             ok     R    R    R       ok      ok   R     R        ok   R       R      ok     R    R     R      ok    ok    none
group-staged      ok     R    R    R       ok      ok   R     R        ok   R       R      R      R    R     -      ok    R|ok  ok
group-half        F      R    R    R       W       R    R     R        ok   R       R      ok     R    R     R      R|ok  ok    none
group-lost        F      R    R    R       W       R    R     R        ok   R       R      R      R    R     R      R     ok    none
group-staging     F      R    R    R       W       R    R     R        ok   R       R      R      R    R     -      R     R     F
group-foreign     ok     R    R    R       ok      W    R     R        R    R       R      R      R    R     R      R     R     none
staging           F      R    R    W       W       R    R     R        ok   R       R      R      ok   R     -      R     R     F
uploading         F      R    R    W       W       R    R     R        ok   R       R      R      R    R     ok     R     R     none
uploading-none    F      R    R    R|W     R|W     R    R     R        ok   R       R      R      R    R     ok     R     R     none
writing-run       F      R    R    R       R       R    R     R        ok   ok      ok     ok     R    R     R      R     ok    none
writing-plan      F      R    R    R       R       R    R     R        ok   ok      ok     ok     R    R     R      R     ok    none
writing           F      R    R    W       W       R    R     R        ok   R       R      ok     R    R     R      R     ok    none
writing-bare      F      R    R    R       R       R    R     R        ok   R       R      ok     R    R     R      R     ok    none
writing-parts     F      R    R    W       W       R    R     R        ok   R       R      ok     R    R     R      R     ok    none
writing-taken     F      R    R    W       W       R    R     R        R    R       R      R      R    R     R      R     ok    none
writing-noplan    F      R    R    W       W       R    R     R        R    R       R      R      R    R     R      R     R     none
writing-live      F      R    R    W       W       R    1     1        ok   1       1      1      R    R     R|1    R     ok    none
unmerged          F      R    R    W       W       R    R     R        ok   R       R      ok     R    R     R      ok    ok    none
damaged           F      R    R    W       W       R    R     ok       ok   R       R      ok     R    R     R      ok    ok    none
damaged-bare      F      R    R    W       W       R    R     ok       R    R       R      R      R    R     R      R     R     none
damaged-staged    F      R    R    W       W       R    R     ok       ok   R       R      R      ok   R     R      R     R     F
incomplete        F      W    R    W       W       R    R     W        ok   R       R      R      R    R     ok     R     ok    none
incomplete-bare   F      W    R    W       W       R    R     W        R    R       R      R      R    R     ok     R     R    none
incomplete-staged F      W    R    W       W       R    R     W        ok   R       R      R      ok   R     ok     R     R     F
incomplete-partial F     R|W  R    R|W     R|W     R    R     R        ok   R       R      R      ok   R     ok     R     R     F
gone              F      R    R    R       R       R    R     R        ok   R       R      R      R    R     ok     R     ok    none
gone-bare         F      R    R    R       R       R    R     R        R    R       R      R      R    R     ok     R     R     none
gone-staged       F      R    R    R       R       R    R     R        ok   R       R      R      ok   R     ok     R     R     F
partial           W      W    W    W       W       R    R     R        ok   ok      R      R      ok   R     ok|R   R     R     W
appending         W      ok   ok   ok      ok      W    R     R        ok   R       R      ok     R    R     -      R     ok    none
appended          W      ok   ok   ok      ok      W    R     R        ok   R       R      ok     R    R     -      ok    ok    none
complete          ok     ok   ok   ok      ok      ok   R     W        ok   R       R      ok     R    R     ok     ok    ok    none
complete-noindex  ok     ok   ok   ok      ok      ok   R|ok  W        ok   R       R      ok     R    R     ok     ok    ok    none
complete-bare     ok     ok   ok   ok      ok      ok   R|ok  W        R    R       R      R      R    R     ok     ok    ok|R  none
indexed           ok     ok   ok   ok      ok      ok   ok    ok       ok   R       R      R      R    R     R      ok    ok|R  none
staged            ok     ok   ok   ok      ok      ok   R|ok  W|R      ok   R       R      R      ok   R     ok     ok    ok|R  ok
foreign           ok     ok   ok   ok      ok      W    ok    ok       R    R       R      R      R    R     ok     R     R     none
foreign-other     W      W    W    W       W       W    R     R        R    R       R      R      R    R     R      R     R     none
foreign-staged    ok     ok   ok   ok      ok      W    ok|R  ok|R     ok   R       R      R      R    R     ok     R     R     ok
extra             F      W    W    W       W       W    R     R|W      W    R       R      W      R    R     W|R    W     ok    none
extra-taken       F      W    W    W       W       W    R     R|W      W    R       R      R      R    R     W|R    W     ok    none
extra-indexed     F      W    W    W       W       W    ok    ok       ok   R       R      R      R    R     R      W|ok  ok|R  none
extra-staged      F      W    W    W       W       W    R     R|W      W    R       R      R      W    R     W|R    W     ok|R  W|F
extra-append      F      W    W    W       W       W    R     R|W      W    R       R      W      R    R     -      R     ok    none
index             F      W    W    W       ok|W    W    ok    ok|W     ok   R       R      ok     R    R     R|ok   ok    ok    none
readers           F      ok|W ok|W ok|W    ok|W    W    ok    ok|W     ok   R       R      ok     R    R     R|ok   ok    ok    none
plan              F      ok   ok   ok      ok      ok   R|ok  W        R    R       R      R      R    R     ok     R|ok  R|ok  none
live              W      ok   ok   ok      ok      ok   1     1        ok   1       1      1      R|1  R|1   R|1    ok|1  ok    none
newer             R      R    R    R       R       R    R     R        R    R       R      R      R    R     R      R     R     none
newer-stage       R      R    R    R       R       R    R     R        R    R       R      R      R    R     R      R     R     R|F
newer-plan        R      R    R    R       R       R    R     R        R    R       R      R      R    R     R      R     R     none
"""

# Where a web server cannot list: what it has under known names is a manifest, a marker, a journal, an upload's record, and
# plans. Other tars, a live writer, run records, folders of a group cannot be seen there.
WEB = """
                  verify look take salvage measure from index
empty             R      R    R    R       R       R    R
files             R      R    R    R       R       R    R
files-other       R      R    R    R       R       R    R
group             R      R    R    R       R       R    R
group-staged      R      R    R    R       R       R    R
group-half        R      R    R    R       R       R    R
group-lost        R      R    R    R       R       R    R
group-staging     F|R    R    R    R       R       R    R
group-foreign     R      R    R    R       R       R    R
writing-run       R      R    R    R       R       R    R
staging           F      R    R    W|R     W|R     R    R
uploading         F      R    R    W|R     W|R     R    R
uploading-none    F      R    R    W|R     W|R     R    R
writing           F      R    R    W|R     W|R     R    R
writing-parts     F      R    R    W|R     W|R     R    R
writing-taken     F      R    R    W|R     W|R     R    R
writing-noplan    F      R    R    W|R     W|R     R    R
writing-live      F      R    R    W|R     W|R     R    R
unmerged          F      R    R    W|R     W|R     R    R
damaged           F      R    R    W|R     W|R     R    R
damaged-bare      F      R    R    W|R     W|R     R    R
damaged-staged    F      R    R    W|R     W|R     R    R
incomplete        F      W|R  R    W|R     W|R     R    R
incomplete-bare   F      W|R  R    W|R     W|R     R    R
incomplete-staged F      W|R  R    W|R     W|R     R    R
incomplete-partial F     W|R  R    W|R     W|R     R    R
foreign           R      R    R    R       R       R    R
foreign-other     R      R    R    R       R       R    R
foreign-staged    R      R    R    R       R       R    R
extra             ok     ok   ok   ok      ok      ok   R|ok
extra-taken       ok     ok   ok   ok      ok      ok   R|ok
extra-indexed     ok     ok   ok   ok      ok      ok   ok
extra-staged      ok     ok   ok   ok      ok      ok   R|ok
extra-append      W      ok   ok   ok      ok      W    R|ok
appending         W      ok   ok   ok      ok      W    R|ok
appended          W      ok   ok   ok      ok      W    R|ok
complete          ok     ok   ok   ok      ok      ok   R|ok
complete-noindex  ok     ok   ok   ok      ok      ok   R|ok
complete-bare     ok     ok   ok   ok      ok      ok   R|ok
staged            ok     ok   ok   ok      ok      ok   R|ok
live              ok     ok   ok   ok      ok      ok   R|ok
"""

# Cells of single states that their row does not fit: medium (or "all"), state, verb or column, what is expected.
SPECIAL = """
all     files-texts         decode    R
all     files-texts         pipeline  R
all     complete-no-tar-index append  R|ok
disk    complete            grown     R
disk    complete-staged     grown     ok
disk    incomplete-staged   grown     R|ok
disk    partial-include     grown     R|ok
disk    staging-one         grown     R
bucket  complete-copy       upgrown   ok
bucket  incomplete-copy     upgrown   R|ok
bucket  uploading-one       upgrown   R
bucket  foreign-copy        upgrown   R
all     empty-journal       same      ok
bucket  uploading-one       upload    ok
bucket  uploading-all       upload    ok
all     staging-include     into      R|ok
all     incomplete-grown-new append   R|ok
all     writing-reshard     append    R
all     writing-reshard-plan append   R
all     writing-reshard-part append   R
all     unmerged-reshard    append    R
all     unmerged-reshard-parts append R
all     writing-1.0-reshard append    R
all     writing-1.0-reshard-part append R
all     writing-1.0-part    append    R|ok
all     unmerged-1.0        options   R
all     complete-reshard    append    R
bucket  complete-reshard    upload    R
all     complete-grown      append    ok
bucket  complete-grown      upload    R|ok
bucket  complete-left-out   upload    R
bucket  complete-1.0        upload    R
all     complete-1.0-reshard append   R
bucket  complete-1.0-reshard upload   R
bucket  complete-1.0-listed upload    R
bucket  complete-readers    upload    R|ok
bucket  incomplete-cut      upload    R
bucket  incomplete-longer   upload    R
bucket  incomplete-hollow   upload    R
bucket  incomplete-staged-cut upload  R
bucket  incomplete-grown-new upload   R
bucket  incomplete-grown-old upload   R|ok
bucket  incomplete-reshard  upload    R
bucket  incomplete-indexed  upload    R
bucket  incomplete-appending upload   R|ok
bucket  incomplete-1.0      upload    R
all     incomplete-indexed  replace   W
bucket  damaged-other-set   upload    R
all     complete-staged-1.0 into      R
bucket  complete-staged-1.0 upload    R
all     staging-1.0         into      R
all     staging-1.0         source    R
all     group-begun         measure   R
web     extra-hollow        verify    ok
all     foreign-copy        same      R|ok
bucket  foreign-copy        upload-into R
bucket  plan-first-lost     upload    R|ok
"""

# Words that a message must have, and its advice. "SET" is the operand. An advice is a command between back quotes, or words.
SAME = r"same (command|convert|reshard|stage|upload)|`shardctl (convert|reshard|stage|upload) "
WORDS = {
    "group": (r"train.*val|val.*train|--split", ""),
    "group-half": (r"has not finished|train.*val|val.*train|--split|manifest is not written|parts of|join", ""),
    "group-lost": (r"listed shard|missing|train.*val|val.*train|--split", ""),
    "group-staging": (r"the stage into SET has not finished", r"same (command|stage)|`shardctl stage "),
    "staging": (r"the stage into SET has not finished", r"same (command|stage)|`shardctl stage "),
    "uploading": (r"the upload into SET has not finished", r"same (command|upload)|`shardctl upload "),
    "writing-run": (r"the (convert|reshard|convert or reshard) into SET has not finished", SAME),
    "writing": (r"the (convert|reshard|convert or reshard) into SET has not finished.* missing", SAME),
    "writing-parts": (r"parts? [\d, -]+ of SET (is|are) missing", r"`shardctl parts SET --missing`.*`shardctl merge SET`"),
    "unmerged": (r"all shards of SET are there, its manifest is not written", r"`shardctl merge SET`"),
    "damaged": (r"the manifest of SET is (damaged|of another set)", r"`shardctl merge SET`"),
    "damaged-bare": (r"the manifest of SET is (damaged|of another set)", r"restore|`shardctl index SET --replace`"),
    "damaged-staged": (r"the manifest of SET is (damaged|of another set)", r"same (command|stage)|`shardctl stage |restore"),
    "incomplete": (r"\d+ listed shards? of SET (is|are) (missing|damaged|missing or damaged).*first .*shard-00000\d\.tar", SAME),
    "incomplete-bare": (r"\d+ listed shards? of SET (is|are) (missing|damaged|missing or damaged).*first ", r"restore|copy"),
    "incomplete-staged": (r"\d+ listed shards? of SET (is|are) (missing|damaged|missing or damaged).*first ", r"same (command|stage)|`shardctl (stage|cache check) "),
    "partial": (r"SET has the part|has the part .* of a set", ""),
    "appending": (r"an append into SET has not finished; the set itself is whole", r"same command|--discard|`shardctl convert "),
    "appended": (r"an append into SET is complete but not yet listed", r"`shardctl merge SET`"),
    "complete": (r"", ""),
    "foreign": (r"", r""),
    "extra": (r"\d+ tars? of SET (is|are) not in its manifest.*(zz|shard-000004)\.tar", r"move|name"),
    "index": (r"index", ""),
    "plan": (r"plan", ""),
    "live": (r"process \d+|in use|is writ", ""),
    "other": (r"manifest\.json", ""),
    "newer": (r"newer shardctl|newer version", ""),
}
# Rows whose words are those of another.
LIKE = {"gone": "incomplete", "gone-bare": "incomplete-bare", "gone-staged": "incomplete-staged", "incomplete-partial": "incomplete-staged",
        "writing-plan": "writing-run", "writing-taken": "writing-run", "writing-noplan": "plan", "writing-live": "writing-run", "uploading-none": "uploading",
        "writing-bare": "writing", "group-foreign": "group", "group-staged": "group", "extra-taken": "extra", "extra-indexed": "extra", "extra-staged": "extra",
        "extra-append": "extra", "newer-stage": "newer", "newer-plan": "newer", "readers": "index", "files-other": "other", "foreign-other": "other",
        "complete-noindex": "complete", "complete-bare": "complete", "indexed": "complete", "staged": "complete", "foreign-staged": "foreign"}


def rows(table):
    lines = [line.split() for line in table.strip().splitlines()]
    return {line[0]: dict(zip(lines[0], line[1:], strict=True)) for line in lines[1:]}


CELLS, ON_WEB = rows(TABLE), rows(WEB)
SPECIALS = {(medium, state, column): code for medium, state, column, code in (line.split() for line in SPECIAL.strip().splitlines())}


def expected(state, column, verb, medium):
    """What a cell of a verb, which is in a column, has to give; "-" if there is no such cell."""
    on_medium = {"web": ON_WEB}.get(medium, {}).get(state.row, CELLS[state.row])
    special = (SPECIALS.get((where, state.name, what)) for what in (verb, column) for where in (medium, "all"))
    code = next(filter(None, special), on_medium.get(column, "-"))
    if medium == "web" and (column in WRITING or column == "replace"):
        return "-"
    if medium == "bucket":
        commands = " ".join(state.commands())
        if column in ("into", "other", "grown", "check"):
            return "-"
        if column in ("append", "replace") or column == "same" and ("--append" in commands or commands.startswith("stage ")):
            return "2"
        if column in ("options", "source") and ("--append" in commands or column == "options" and state.row == "partial"):
            return "2"
    elif column in ("upload", "upgrown") or column == "same" and state.kind == "upload":
        return "-"
    return code


def words(state, column, set_name):
    """Regular expressions of the words and of the advice for a state."""
    found = WORDS.get(LIKE.get(state.row, state.row), ("", ""))
    if column in ("same", "options", "source", "append", "into", "other", "upload", "grown", "upgrown", "merge", "parts", "index", "replace") and \
            state.row.split("-")[0] in ("complete", "indexed", "staged", "foreign", "plan", "group", "partial", "files", "empty", "index", "readers"):
        return ("", "")  # what is refused there is the command, not the set
    named = rf"['\"]?\S*{re.escape(set_name)}/?['\"]?"
    return tuple(text.replace("SET", named) for text in found)
