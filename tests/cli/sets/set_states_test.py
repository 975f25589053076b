"""Every state of a set, on a disk, in a bucket and on a web server, and what each verb does there: the table of expected.py.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/sets/set_states_test.py

A sample of the cells, of a fixed seed; with SHARDKIT_SOAK all of them. SHARDKIT_CELLS is a regular expression of the cells
("STATE VERB MEDIUM") to look at instead."""

import collections
import fnmatch
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cells import StatesTest, first_line  # noqa: E402
from expected import READING, WRITING, expected, words  # noqa: E402
from media import Disk  # noqa: E402
from program import PROGRAMS, SOAK  # noqa: E402
from states import samples_in  # noqa: E402

SAMPLE = 450  # cells, in less than a minute on two cores

# verb: column of the expected tables, command. NEW is a place of its own for what the verb writes, on the disk or in the bucket.
VERBS = {
    "verify": ("verify", "shardctl verify S"),
    "ls": ("look", "shardctl ls S"),
    "cat": ("look", "shardctl cat S MEMBER"),
    "stat": ("look", "shardctl stat S"),
    "extract": ("take", "shardctl extract S out"),
    "reshard": ("take", "shardctl reshard S out --samples 20"),
    "salvage": ("salvage", "shardctl reshard S out --samples 20 --salvage"),
    "read": ("measure", "iobench read S --budget 1s"),
    "decode": ("measure", "iobench decode S --samples 8 --min-time 1ms"),
    "pipeline": ("measure", "iobench pipeline S --batch 4 --crop 16 --budget 1s"),
    "run": ("measure", "iobench run S --budget 1s --crop 16 --gpus 1 --batch 4 --step-time 1s"),
    "stage": ("from", "shardctl stage S out --lease 0"),
    "upload": ("from", "shardctl upload S s3://bucket/CELL/new"),
    "index": ("index", "shardctl index S"),
    "index-replace": ("replace", "shardctl index S --replace"),
    "convert-same": ("same", ""),
    "convert-options": ("options", ""),
    "convert-source": ("source", ""),
    "convert-append": ("append", ""),
    "stage-into": ("into", "shardctl stage $A S --lease 0"),
    "stage-other": ("other", "shardctl stage $B S --lease 0"),
    "stage-grown": ("grown", "shardctl stage $G S --lease 0"),
    "upload-grown": ("upgrown", "shardctl upload $G S"),
    "upload-into": ("upload", "shardctl upload $A S"),
    "merge": ("merge", "shardctl merge S"),
    "parts": ("parts", "shardctl parts S"),
    "cache-check": ("check", "shardctl cache check S"),
    "cache-ls": ("check", "shardctl cache ls S"),
}
SLOW = ("pipeline", "run")  # for a state of each row
SAMPLES = {"append": 60, "appendparts": 60, "grown": 60, "bad": 30, "1.0": 9, "1.0parts": 9, "1.0reshard": 9, "1.0reshardparts": 9, "1.0stage": 9, "1.0listed": 3}


def commands_of(verb, state):
    """The commands of a cell, one after the other."""
    column, command = VERBS[verb]
    again = state.commands()
    alone = re.sub(r" --part \S+", "", again[0])
    is_convert = alone.startswith("convert")
    if column == "same":
        found = again
    elif column == "options":
        found = [re.sub(r"--samples \d+", "--samples 7", alone) if "--samples" in alone else "stage $A S --lease 0 --include shard-000001.tar"
                 if state.row == "partial" else "convert $p S --samples 7"]
    elif column == "source":
        found = ["convert $q S --samples 10" + (" --append" if "--append" in alone else "")]
    elif column == "append":
        is_begun = state.row.split("-")[0] in ("writing", "unmerged", "damaged", "uploading", "staging")
        is_own = is_convert and (is_begun or state.kind not in ("convert", "parts"))
        found = [alone.replace(" --append", "") + " --append" if is_own else "convert $p2 S --samples 10 --append"]
    else:
        return [command]
    return [f"shardctl {one}" for one in found]


class Cell:
    def __init__(self, test, state, verb, medium):
        self.test, self.state, self.verb, self.medium = test, state, verb, medium
        self.column = VERBS[verb][0]
        self.expected = expected(state, self.column, verb, medium.name)

    def __str__(self):
        return f"{self.state.name} {self.verb} {self.medium.name}"

    def run_all(self, commands, folder, operand):
        done = None
        for command in commands:
            done = self.test.run_command(command, folder, operand, self.state)
            if done.returncode != 0:
                break
        return done

    def check(self):
        """What is wrong in this cell: (kind, text) each."""
        if self.expected == "-" or self.verb == "upload" and self.medium.name != "disk":
            return []
        self.test.maker.state(self.state.name)
        cell = self.test.new_cell()
        try:
            operand, locks = self.medium.place(self.state, cell)
            before = self.medium.seen(cell)
            command = commands_of(self.verb, self.state)
            if self.medium.name == "web" and self.verb == "index":
                command = [command[0] + " --output out"]
            done = self.run_all(command, cell, operand)
            wrong = self.judge(done, before, self.medium.seen(cell), cell, operand)
            for file in locks:
                file.close()
            return wrong
        finally:
            self.medium.remove(cell)

    def judge(self, done, before, after, cell, operand):
        done.stderr, done.stdout = (re.sub(rf"{re.escape(str(cell))}/?", "", text).replace(str(self.test.root), "$") for text in (done.stderr, done.stdout))
        message = " ".join((done.stderr + "\n" + done.stdout).split())
        got = f"expected {self.expected}, got exit {done.returncode}: {first_line(done)}"
        codes = {"ok": 0, "W": 0, "R": 4, "F": 3, "1": 1, "2": 2}
        allowed = {code: codes[code] for code in self.expected.split("|") if code in codes}
        if self.column == "check" and (self.expected == "none" or self.verb == "cache-ls"):
            allowed = {"ok": 0, "R": 4, "F": 3} if self.verb == "cache-ls" else {"ok": 0, "R": 4}
        wrong = []
        if done.returncode not in allowed.values():
            wrong.append(("exit", got))
        else:
            chosen = [code for code, number in allowed.items() if number == done.returncode]
            if all(code in ("W", "R", "F") for code in chosen) and self.verb != "cache-ls" and self.expected != "none":
                for kind, pattern in zip(("words", "advice"), words(self.state, self.column, operand), strict=True):
                    if kind == "advice" and self.medium.name != "disk":
                        continue
                    if pattern and not re.search(pattern, message):
                        wrong.append((kind, f"{got}; lacks /{pattern}/"))
        wrong += self.changes(done, before, after, got, cell.name)
        if done.returncode == 0 and not wrong:
            wrong += self.consequences(cell, operand)
        if self.medium.name == "disk" and self.column in READING + WRITING and (done.returncode in (3, 4) or self.expected == "W"):
            self.test.keep_advice(self.state, self.verb, message)
        return wrong

    def changes(self, done, before, after, got, cell_name):
        """Files that this verb had no right to change: all of them if it refused or only reads."""
        left = [name for name in after if name.split("/")[0] == "out"] if done.returncode == 4 and self.column in READING else []
        if self.verb == "upload" and done.returncode == 4:
            left += self.test.bucket.listing(f"{cell_name}/new")
        if left:
            return [("wrote", f"{got}; it is refused, but has written {left[0]}")]
        before, after = ({name: content for name, content in seen.items() if name.split("/")[0] not in ("out", "copy")} for seen in (before, after))
        is_writer = self.column in WRITING or self.column in ("index", "replace")
        if not is_writer or done.returncode in (1, 2, 4) and len(commands_of(self.verb, self.state)) == 1:
            changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name) and "/new" not in name]
            return [("wrote", f"{got}; changed {', '.join(sorted(changed)[:3])}")] if changed else []
        may_change = r"(^|/)(\.shardkit|\.nv-meta)(/|$)|/shardindex\.json$|\.idx$|\.tmp$"
        if self.state.row not in ("files-other", "foreign-other"):
            may_change += r"|/manifest\.json$"
        if self.state.row.startswith(("incomplete", "gone")):  # a shard that is damaged is written again
            may_change += r"|/shard-00000[12]\.tar$"
        lost = [name for name in before if before[name] != after.get(name) and not re.search(may_change, name)]
        return [("destroyed", f"{got}; changed {', '.join(sorted(lost)[:3])}")] if lost else []

    def consequences(self, cell, operand):
        """What exit code 0 promised."""
        place, kind = operand, self.state.kind
        if self.verb in ("reshard", "salvage", "stage"):
            place = "out"
        elif self.verb == "upload":
            place = f"s3://bucket/{cell.name}/new"
        elif self.column not in ("same", "append", "into", "upload", "grown", "upgrown", "merge", "replace", "index") or self.medium.name == "web":
            return []
        if self.state.row.startswith(("files", "foreign-staged")) and self.verb in ("stage", "upload") or kind in ("files", "1.0large"):
            return []
        done = self.test.run_command(f"shardctl verify {place}", cell, operand, self.state)
        is_other = self.state.row in ("index", "readers", "plan") and self.column not in ("same", "index")  # only these repair it
        allowed = (0, 3) if self.state.extra or self.state.is_live or is_other or self.state.row == "foreign" and self.column == "upload" else (0,)
        if done.returncode not in allowed:
            return [("unsound", f"exit 0, but then `verify {place}` ends with {done.returncode}: {first_line(done)}")]
        expected = SAMPLES.get(kind, 40) if self.column == "same" or place == operand and self.column == "merge" else None
        if self.state.row == "extra-indexed":
            expected = None  # "index" takes the extra tar too
        if self.column in ("into", "upload", "grown", "upgrown"):
            expected = 60 if "grown" in self.column else 40
        if self.verb == "reshard" and self.state.row.startswith(("complete", "extra", "append", "indexed", "staged")):
            expected = SAMPLES.get(kind, 40) if "append" not in self.state.row else self.old_samples()
        folder = cell / place if self.medium.name == "disk" or place == "out" else self.medium.local(cell) / "S"
        found = samples_in(folder)
        if expected is not None and found is not None and found != expected and "split" not in kind:
            return [("unsound", f"exit 0, but then {place} has {found} samples instead of {expected}")]
        return []

    def old_samples(self):
        return samples_in(self.state.folder / "S")


OPEN = [" ".join(line.split("|")[0].split()) for line in (pathlib.Path(__file__).parent / "open_cells").read_text().splitlines()
        if "|" in line and not line.startswith("#")]


def is_open(cell):
    """Whether a wrong cell is one that is known, "STATE VERB MEDIUM KIND"."""
    return any(fnmatch.fnmatchcase(cell, pattern) for pattern in OPEN)


class SetStates(StatesTest):
    advice = {}

    def keep_advice(self, state, verb, message):
        """Commands of a message or report, but of those that only tell what a verb is, write to another place, or need a
        newer program."""
        for command in re.findall(r"`(shardctl [^`]+)`|next: (shardctl \S+ .*?)(?= next: |$)", message):
            command = (command[0] or command[1]).split(" # ")[0].replace("$/", f"{self.root}/")
            if command.startswith("shardctl merge ") and "--missing`" in message:
                continue  # only behind the parts that have to run
            if re.match(r"shardctl (cache )?\S+ [^-]", command) and not re.search(r"\bout\b|\bDST\b|^shardctl verify |/new\b", command) \
                    and not state.row.startswith("newer"):
                with self.lock:
                    self.advice.setdefault((state.name, command), verb)
        if re.search(r"same command", message):
            with self.lock:
                self.advice.setdefault((state.name, "the same command"), verb)

    def cells(self):
        first = {}
        for state in self.maker.states.values():
            first.setdefault(state.row, state.name)
            for verb in VERBS:
                if verb in SLOW and first[state.row] != state.name:
                    continue
                for medium in self.media:
                    if (cell := Cell(self, state, verb, medium)).expected != "-":
                        yield cell

    def chosen(self):
        cells = list(self.cells())
        if pattern := os.environ.get("SHARDKIT_CELLS"):
            return [cell for cell in cells if re.search(pattern, str(cell))]
        return cells if SOAK else random.Random(61).sample([cell for cell in cells if cell.verb not in SLOW], SAMPLE)

    def test_1_each_verb_in_each_state(self):
        cells = self.chosen()
        lines, counts = [], collections.Counter()
        for cell, wrong in zip(cells, self.in_parallel(Cell.check, cells), strict=True):
            for kind, text in wrong:
                if is_open(f"{cell} {kind}"):
                    continue
                counts[kind] += 1
                lines.append(f"WRONG {cell}: [{kind}] {text}")
        self.report(lines, counts, f"{len(cells)} cells of {len(self.maker.states)} states")

    def test_2_each_advice_leads_to_a_sound_set(self):
        """Those of the cells before, as they are printed. After at most three the set, or the new one, has to be sound."""
        items = sorted(self.advice)
        lines, counts = [], collections.Counter()
        for (name, command), wrong in zip(items, self.in_parallel(lambda item: self.follow(*item), items), strict=True):
            for kind, text in wrong:
                counts[kind] += 1
                lines.append(f"WRONG advice in {name} of {self.advice[name, command]}: [{kind}] {text}")
        self.report(lines, counts, f"{len(items)} pieces of advice")

    def shell(self, command, folder):
        environment = {**self.bucket.environment, "HOME": str(folder), "PATH": f"{PROGRAMS.resolve()}:{os.environ['PATH']}"}
        return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)

    def follow(self, name, advised):
        state = self.maker.state(name)
        # The last command that wrote to incomplete-appending is the append; the one that wrote the set is meant.
        if state.is_live or advised == "the same command" and (state.kind == "upload" or name == "incomplete-appending"):
            return []
        cell = self.new_cell()
        _, locks = Disk().place(state, cell)
        try:
            command = advised
            for _ in range(3):
                done = self.follow_one(state, command, cell)
                if done.returncode not in (0, 3):
                    return [("advice fails", f"`{command}` ends with {done.returncode}: {first_line(done)}")]
                if re.search(r"shardctl (verify|ls|stat|parts|cache (check|ls|release|gc)|upload --clean|stage .*--dry-run)\b", command) and "verify" not in command:
                    return []  # it tells, or it gives up
                named = re.search(r"(?<= )S(/[\w.-]+)?(?= |$)", command)  # perhaps one set of a group
                place = "OUT" if (cell / "OUT").exists() else named[0] if named else "S"
                judged = self.shell(f"shardctl verify {place} --json -", cell)
                if judged.returncode == 0:
                    return []
                if judged.returncode != 3:
                    return [("advice fails", f"after `{command}`, verify {place} ends with {judged.returncode}: {first_line(judged)}")]
                remedies = [line for line in json.loads(judged.stdout)["result"]["remedies"] if not line.startswith("#")]
                if not remedies or state.extra:
                    return [] if state.extra else [("advice fails", f"after `{command}`, verify {place} is not ok: {first_line(self.shell(f'shardctl verify {place}', cell))}")]
                command = remedies[0].split("  #")[0]
            return [("advice fails", f"`{advised}` and what verify advises then lead nowhere")]
        finally:
            Disk().remove(cell)

    def follow_one(self, state, command, cell):
        if command == "the same command":
            for one in state.commands():
                done = self.run_command(f"shardctl {one}", cell, "S", state)
                if done.returncode != 0:
                    break
            return done
        return self.shell(command, cell)


assert set(READING + WRITING) == {column for column, _ in VERBS.values()}

if __name__ == "__main__":
    unittest.main()
