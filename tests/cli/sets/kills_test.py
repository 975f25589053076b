"""Commands that write a set, killed at each rename, sync and write to a bucket: what is left has the state that verify
tells, the same command then completes it, and nothing of others is touched, whatever a second command did meanwhile.

Everyday some of the kills, of a fixed seed; with SHARDKIT_SOAK more than 3000."""

import collections
import contextlib
import dataclasses
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cells import StatesTest, first_line  # noqa: E402
from expected import words  # noqa: E402
from media import Bucket, Disk  # noqa: E402
from program import PROGRAMS, SOAK, strace, tree  # noqa: E402
from states import SHORT, State  # noqa: E402

EVERYDAY = 60  # kills
ROUNDS = 4     # of all kill points, with SHARDKIT_SOAK

# name, medium, kind of the state, what another command does meanwhile | what is there before | the command that is killed |
# what has to follow to complete the set, "-" for nothing
SCENARIOS = """
convert        disk    convert       convert $q S --samples 10 | mkdir S | convert $p S --samples 10 | -
convert-one    disk    convert       convert $q S --samples 10 | mkdir S | convert $p S --samples 40 | -
convert-wids   disk    convert       convert $p S --samples 7  | mkdir S | convert $p S --samples 10 --index dali,wids,energon | -
part           disk    parts         convert $p S --samples 7  | convert $p S --samples 10 --part 0/2 | convert $p S --samples 10 --part 1/2 | merge S
merge          disk    parts         convert $p S --samples 7  | $parts0 | merge S | -
repair         disk    convert       stage $A S --lease 0      | convert $p S --samples 10; rm S/shard-000001.tar | convert $p S --samples 10 | -
append         disk    append        convert $q S --samples 10 --append | convert $p S --samples 10 | convert $p2 S --samples 10 --append | -
append-one     disk    append        stage $B S --lease 0      | convert $p S --samples 40 | convert $p2 S --samples 40 --append | -
append-part    disk    appendparts   index S --replace         | convert $p S --samples 10; convert $p2 S --samples 10 --append --part 0/2 | convert $p2 S --samples 10 --append --part 1/2 | merge S
append-merge   disk    appendparts   index S                   | convert $p S --samples 10; convert $p2 S --samples 10 --append --part 0/2; convert $p2 S --samples 10 --append --part 1/2 | merge S | -
stage          disk    stage         stage $B S --lease 0      | mkdir S | stage $A S --lease 0 | -
stage-again    disk    stage         convert $p S --samples 10 | stage $A S --lease 0; rm S/shard-000001.tar | stage $A S --lease 0 | -
reshard        disk    reshard       convert $p S --samples 10 | mkdir S | reshard $A S --samples 12 | -
reshard-merge  disk    reshardparts  reshard $A S --samples 7  | reshard $A S --samples 12 --part 0/2; reshard $A S --samples 12 --part 1/2 | merge S | -
upload         bucket  upload        convert $q S --samples 10 | mkdir S | upload $A S -j 1 | -
upload-many    bucket  upload        upload $B S               | mkdir S | upload $A S | -
b-convert      bucket  convert       convert $q S --samples 10 | mkdir S | convert $p S --samples 10 | -
b-part         bucket  parts         upload $A S               | convert $p S --samples 10 --part 0/2 | convert $p S --samples 10 --part 1/2 | merge S
b-merge        bucket  parts         convert $p S --samples 7  | $parts0 | merge S | -
b-reshard      bucket  reshard       upload $A S               | mkdir S | reshard $A S --samples 12 | -
"""

CALLS = ("rename,renameat,renameat2", "fsync", "fdatasync", "unlink,unlinkat,link,linkat")
VARIANTS = ("plain", "the same meanwhile", "another meanwhile", "again and again")


@dataclasses.dataclass
class Scenario:
    name: str
    medium: str
    kind: str
    other: str
    before: str
    command: str
    after: list

    @staticmethod
    def of(line):
        head, before, command, after = (part.strip() for part in line.split("|"))
        name, medium, kind, other = head.split(None, 3)
        return Scenario(name, medium, kind, other, before, command, [] if after == "-" else after.split("; "))


def row_of(folder, shards):
    """The state that a folder's files have, of a set that will have these shards: a row of expected.py."""
    def has(pattern):
        return any(folder.glob(pattern))
    journal = folder / ".shardkit/stage.journal"
    lines = journal.read_text().splitlines() if journal.exists() else []
    missing = [name for name in shards if not (folder / name).exists()]
    if any(line.startswith(("file\t", "found\t")) for line in lines) and not has(".shardkit/staged.json"):
        return "staging"
    if has("manifest.json"):
        listed = {shard["name"] for shard in json.loads((folder / "manifest.json").read_text())["shards"]}
        if listed - {path.name for path in folder.glob("*.tar")}:
            return "incomplete"
        if listed == set(shards):
            return "complete"
        return "appended" if has(".shardkit/append-*/manifest.json") else "appending" if has(".shardkit/append-*/.shardkit/plan") else "complete"
    if has(".shardkit/uploads/upload.json"):
        return "uploading"
    if has(".shardkit/plan"):
        is_parted = has(".shardkit/part-*") or has(".shardkit/*.division")
        return "unmerged" if not missing else "writing-parts" if is_parted else "writing" if has("*.tar") else "writing-plan"
    return "writing-run" if has(".shardkit/*.run") else "empty"


def content_of(folder):
    """The files of a set, without those that tell of single runs."""
    return {name: content for name, content in tree(folder).items()
            if not re.search(r"\.(tmp|run|lock|journal)$|staged\.json|/leases/|\.division$|part-\d+-of|/uploads/|\.partial$|\.parts$|\.md5$|\.hits", name)}


class Kills(StatesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.own_bucket = threading.local()
        cls.prepared = {}
        cls.kills = collections.Counter()

    def bucket_of_thread(self):
        """Of its own for each thread, because a bucket holds one command at a time."""
        if not hasattr(self.own_bucket, "bucket"):
            self.own_bucket.bucket = Bucket()
            self.addCleanup(self.own_bucket.bucket.close)
        return self.own_bucket.bucket

    def prepare(self, scenario):
        """What is there before, and the files of the set in the end."""
        with self.lock:
            if scenario.name not in self.prepared:
                folder = self.root / "before" / scenario.name
                shutil.rmtree(folder, ignore_errors=True)  # of an attempt that failed
                folder.mkdir(parents=True)
                state = State(scenario.name, "", scenario.kind, [], folder)
                for step in scenario.before.split("; "):
                    self.maker.step(state, folder, SHORT.get(step[1:], step))
                whole = self.root / "whole" / scenario.name
                shutil.copytree(folder, whole, dirs_exist_ok=True)
                local = [re.sub("^upload (\\S+).*", r"stage \1 S --lease 0", scenario.command), *scenario.after]
                for command in local:
                    self.maker.shardctl(command, whole)
                self.prepared[scenario.name] = folder, content_of(whole / "S")
            return self.prepared[scenario.name]

    # What a kill needs of a medium: the operand, a command that is killed, the set's files.

    def operand(self, scenario, cell):
        return "S" if scenario.medium == "disk" else f"s3://bucket/{cell.name}/S"

    def words_of(self, command, scenario, cell):
        return [str(PROGRAMS / "shardctl"), *(self.operand(scenario, cell) if word == "S" else word for word in self.maker.words(command))]

    def start_there(self, command, scenario, cell):
        return subprocess.Popen(self.words_of(command, scenario, cell), cwd=cell, env={**self.bucket_of_thread().environment, "HOME": str(cell)},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)

    def run_there(self, command, scenario, cell):
        return subprocess.run(self.words_of(command, scenario, cell), cwd=cell, env={**self.bucket_of_thread().environment, "HOME": str(cell)},
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)

    def killed(self, scenario, cell, calls, number, meanwhile):
        """Whether the scenario's command comes to that point, where it stops, `meanwhile()` is called, and it is killed."""
        command = self.words_of(scenario.command, scenario, cell)
        if scenario.medium == "bucket":
            return self.bucket_of_thread().killed(command, number, calls, cell, meanwhile)
        log = cell / "log"
        traced = strace("-o", str(log), "-e", f"trace={calls}", "-e", f"inject={calls}:signal=SIGSTOP:when={number}")
        process = subprocess.Popen([*traced, *command], cwd=cell, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**self.bucket.environment, "HOME": str(cell)})
        while process.poll() is None and not (log.exists() and "stopped by SIGSTOP" in log.read_text()):
            time.sleep(0.003)
        if process.poll() is not None:
            if process.returncode != 0:
                raise AssertionError(f"`{scenario.command}` that was not killed ended with {process.returncode}: {process.stderr.read()[-300:]}")
            process.stderr.close()
            return False
        meanwhile()
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            subprocess.run(["kill", "-KILL", child], check=True)
        process.wait()
        process.stderr.close()
        log.unlink()
        return True

    def files(self, scenario, cell):
        if scenario.medium == "disk":
            return cell / "S"
        shutil.rmtree(cell / "copy", ignore_errors=True)
        self.bucket_of_thread().get_tree(f"{cell.name}/S/", cell / "copy")
        return cell / "copy"

    # One kill and what follows.

    def point(self, item):
        """What is wrong after one kill, as texts; None if the command ends before that point."""
        scenario, calls, number, variant, seed = item
        before, whole = self.prepare(scenario)
        cell = self.new_cell()
        shutil.copytree(before, cell)
        (cell / "neighbour").mkdir()
        (cell / "neighbour/notes.txt").write_text("of somebody else")
        if scenario.medium == "bucket":
            self.bucket_of_thread().put_tree(cell / "S", f"{cell.name}/S/")
        try:
            moments = random.Random(seed)
            meanwhile = {"the same meanwhile": scenario.command, "another meanwhile": scenario.other}.get(variant)
            ended = []

            def second():
                if meanwhile:
                    ended.append(self.start_there(meanwhile, scenario, cell))
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        ended[0].wait(timeout=0.5)  # it may wait for the first, until that is killed
            if not self.killed(scenario, cell, calls, number, second):
                return None
            for process in ended:
                process.stdout, process.stderr = process.communicate(timeout=120)
            self.count(scenario)
            wrong = self.check(scenario, cell, whole)
            if ended and variant == "the same meanwhile" and ended[0].returncode not in (0, 1):
                wrong.append(f"the same command meanwhile ended with {ended[0].returncode}: {first_line(ended[0])}")
            if ended and variant == "another meanwhile":
                if ended[0].returncode == 0:
                    return wrong + self.taken_over(scenario, cell, whole)
                if ended[0].returncode not in (1, 4):
                    wrong.append(f"another command meanwhile ended with {ended[0].returncode}: {first_line(ended[0])}")
            for _ in range(3 if variant == "again and again" else 0):
                calls = moments.choice(CALLS[:3]) if scenario.medium == "disk" else moments.choice(("open", "done"))
                if not self.killed(scenario, cell, calls, moments.randrange(1, 7), lambda: None):
                    break
                self.count(scenario)
                wrong += self.check(scenario, cell, whole)
            return wrong + self.complete(scenario, cell, whole)
        finally:
            Disk().remove(cell)
            if scenario.medium == "bucket":
                self.bucket_of_thread().remove(cell.name)
                self.bucket_of_thread().command("forget")

    def count(self, scenario):
        with self.lock:
            self.kills[scenario.name] += 1

    def check(self, scenario, cell, whole):
        """Whether verify tells the state that the files have."""
        shards = [name for name in whole if name.endswith(".tar")]
        row = row_of(self.files(scenario, cell), shards)
        codes = {"empty": 4, "complete": 0, "appending": 0, "appended": 0}
        verified = self.run_there("verify S", scenario, cell)
        message = " ".join((verified.stdout + verified.stderr).split())
        state = State(scenario.name, row, scenario.kind, [], cell)
        pattern = words(state, "verify", self.operand(scenario, cell))[0]
        if verified.returncode != codes.get(row, 3):
            return [f"{row}: verify ends with {verified.returncode}: {first_line(verified)}"]
        if pattern and row != "empty" and not re.search(pattern, message):
            return [f"{row}: verify does not say /{pattern}/: {first_line(verified)}"]
        return []

    def taken_over(self, scenario, cell, whole):
        """Another command did its work, because the killed one had not begun: its set stays."""
        there = content_of(self.files(scenario, cell))
        again = self.run_there(scenario.command, scenario, cell)
        verified = self.run_there("verify S", scenario, cell)
        if verified.returncode != 0:
            return [f"after another command, verify ends with {verified.returncode}: {first_line(verified)}"]
        now = content_of(self.files(scenario, cell))
        lost = [name for name in there if name.endswith(".tar") and now.get(name) != there[name]]
        return [f"the killed command, ended with {again.returncode}, has replaced {lost[0]} of another one"] if lost else []

    def complete(self, scenario, cell, whole):
        for command in (scenario.command, *scenario.after):
            done = self.run_there(command, scenario, cell)
            if done.returncode != 0:
                return [f"`{command}` again ends with {done.returncode}: {first_line(done)}"]
        verified = self.run_there("verify S", scenario, cell)
        if verified.returncode != 0:
            return [f"after the same command, verify ends with {verified.returncode}: {first_line(verified)}"]
        content = content_of(self.files(scenario, cell))
        differ = sorted(name for name in content.keys() | whole.keys() if content.get(name) != whole.get(name))
        if (cell / "neighbour/notes.txt").read_text() != "of somebody else":
            differ.append("neighbour/notes.txt")
        return [f"after the same command, {', '.join(differ[:3])} differ from a run that was not killed"] if differ else []

    # All kill points.

    def points(self):
        """Kill points in the order of their number, each with its variants; unknown how many there are."""
        for line in SCENARIOS.strip().splitlines():
            scenario = Scenario.of(line)
            for calls in CALLS if scenario.medium == "disk" else ("open", "done"):
                yield scenario, calls

    def some(self, item):
        """What is wrong after one kill, in whole lines; None if there is no such point."""
        scenario, calls, number, variant, _ = item
        try:
            wrong = self.point(item)
        except Exception as error:  # noqa: BLE001 the other kills count
            wrong = [f"{type(error).__name__}: {error}"[:400]]
        return None if wrong is None else [f"WRONG kill of {scenario.name} at {calls} {number}, {variant}: {text}" for text in wrong]

    def all_of(self, key):
        """All kills of a scenario at one kind of call."""
        scenario, calls = key
        found = []
        for number in range(1, 200):
            for turn in range(ROUNDS):
                wrong = self.some((scenario, calls, number, VARIANTS[turn % len(VARIANTS)], number * 10 + turn))
                if wrong is None:
                    return found
                found += wrong
        return found

    def test_each_kill_leaves_its_state_and_a_set_that_can_be_completed(self):
        moments = random.Random(61)
        points = list(self.points())
        if SOAK:
            wrong = self.in_parallel(self.all_of, points)
        else:
            chosen = [(*moments.choice(points), moments.randrange(1, 9), moments.choice(VARIANTS), number) for number in range(EVERYDAY)]
            wrong = self.in_parallel(lambda item: self.some(item) or [], chosen)
        print(f"{sum(self.kills.values())} kills:", dict(self.kills))
        self.report([text for texts in wrong for text in texts], {}, f"{sum(self.kills.values())} kills")
        self.assertGreater(sum(self.kills.values()), 3000 if SOAK else EVERYDAY // 3)


if __name__ == "__main__":
    unittest.main()
