"""Every state of a set that docs/explain/set-states.md names, made as it comes about: by programs that end or are killed, and by what
users do to files afterwards. STATES is the table; its steps are methods of Maker, or commands of shardctl."""

import dataclasses
import fcntl
import json
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from fixtures import FIXTURES, copy_fixtures  # noqa: E402
from program import PROGRAMS, strace  # noqa: E402
from tars import write_tar  # noqa: E402

# What one types: again, with other options, for another source, with more files. "+" divides commands, which follow each other.
KINDS = {
    "convert": "convert $p S --samples 10",
    "parts": "convert $p S --samples 10 --part 0/3 + convert $p S --samples 10 --part 1/3 + convert $p S --samples 10 --part 2/3 + merge S",
    "split": "convert $p S --samples 10 --split train=0.7,val=0.3",
    "bad": "convert $bad S --samples 10 --no-shuffle --on-bad skip --max-bad 50%",
    "append": "convert $p2 S --samples 10 --append",
    "appendparts": "convert $p2 S --samples 10 --append --part 0/2 + convert $p2 S --samples 10 --append --part 1/2 + merge S",
    "grown": "convert $p2 S --samples 10 --append",
    "reshard": "reshard $A S --samples 12",
    "reshardparts": "reshard $A S --samples 12 --part 0/2 + reshard $A S --samples 12 --part 1/2 + merge S",
    "stage": "stage $A S --lease 0",
    "stagegroup": "stage $D S --lease 0",
    "include": "stage $A S --lease 0 --include shard-000000.tar",
    "rank": "stage $A S --lease 0 --rank 0 --world 2",
    "files": "stage $T S --lease 0 --manifest none",
    "upload": "upload $A S",
    "index": "index S",
    "1.0": "convert $f/src S --samples 3 --index dali,wids,energon",
    "1.0parts": "convert $f/src S --plan $f/set.plan --index dali,wids,energon --part 0/2 + "
                "convert $f/src S --plan $f/set.plan --index dali,wids,energon --part 1/2 + merge S",
    "1.0reshard": "reshard $f/set S --shuffle 7 --samples 4",
    "1.0reshardparts": "reshard $f/set S --shuffle 7 --samples 4 --part 0/2 + reshard $f/set S --shuffle 7 --samples 4 --part 1/2 + merge S",
    "1.0stage": "stage $f/set S --lease 0",
    "1.0large": "stage $f/large S --manifest none --lease 0",
    "1.0split": "convert $f/src S --split train=0.7,val=0.3",
    "1.0listed": "convert $f/pool S --list $f/pool/labels.csv --path-column file --label-column class --metadata $f/pool/labels.csv",
}

# name, row of the expected tables, kind, steps. In conditions of `kill`, tars is their number, m whether there is a manifest.
STATES = """
empty-folder            empty         convert   mkdir S
empty-state-folder      empty         convert   mkdir S/.shardkit
empty-journal           empty         stage     copy $A S; rm S/.shardkit S/manifest.json S/*.tar; journal
empty-1.0-partial       empty         1.0large  copy $f/half-staged-large S
files-images            files         convert   copy $p S
files-texts             files         convert   write S/notes.txt mine; write S/more/a.txt words
files-journal           files         convert   copy $p S; journal
files-other-manifest    files-other   convert   copy $p S; write S/manifest.json {"name":"app","start_url":"/"}
group                   group         split     $split
group-1.0               group         1.0split  copy $f/split S
group-staged            group-staged  stagegroup  stage $D S --lease 0
group-begun             group-half    split     kill plans=2,tars=0 $split
group-half              group-half    split     kill m=0,tars>2 $split
group-lost-manifest     group-half    split     $split; rm S/val/manifest.json
group-lost-shard        group-lost    split     $split; rm S/val/shard-000000.tar
group-staging           group-staging stagegroup  kill tars>0,m<2 stage $D S --lease 0
group-foreign           group-foreign split     copy $T S/train; copy $T S/val
staging-one             staging       stage     kill tars=1 stage $A S --lease 0 -j 1
staging-three           staging       stage     kill tars=3 stage $A S --lease 0 -j 1
staging-all             staging       stage     kill tars=4,m=1,marker=0 stage $A S --lease 0 -j 1
staging-no-marker       staging       stage     stage $A S --lease 0; rm S/.shardkit/staged.json
staging-include         staging       include   kill tars=1 $include
staging-again           staging       stage     stage $A S --lease 0; rm S/shard-000001.tar S/.shardkit/staged.json
staging-1.0             staging       1.0stage  copy $f/half-staged S
uploading-one           uploading     upload    uploadkill tars=1 $A
uploading-all           uploading     upload    uploadkill tars=4,m=0,indexes=4 $A
uploading-none          uploading-none    upload    uploadkill tars=0,record=1 $A
writing-run             writing-run   convert   kill runs=1,plans=0 $convert
writing-plan            writing-plan  convert   kill plans=1,tars=0 $convert
writing-one             writing       convert   kill tars=1 $convert
writing-three           writing       convert   kill tars=3 $convert
writing-append          writing       append    kill tars=3 $append
writing-lost-tar        writing       convert   $convert; rm S/manifest.json S/shard-000001.tar
writing-no-tars         writing-bare     convert   $convert; rm S/manifest.json S/*.tar
writing-grown-lost      writing       grown     $grown0; rm S/manifest.json S/shard-000005.tar
writing-part            writing-parts parts     convert $p S --samples 10 --part 1/3
writing-parts           writing-parts parts     convert $p S --samples 10 --part 0/3; convert $p S --samples 10 --part 2/3
writing-part-lost-tar   writing-parts parts     $parts0; rm S/shard-000000.tar
writing-reshard         writing       reshard   kill tars=2 $reshard
writing-reshard-plan    writing-plan  reshard   kill plans=1,tars=0 $reshard
writing-reshard-part    writing-parts reshardparts  reshard $A S --samples 12 --part 1/2
writing-other-tar       writing-taken convert   kill tars=1 $convert; others
writing-live            writing-live  convert   kill tars=2 $convert; live
writing-1.0             writing       1.0       copy $f/half-killed S
writing-1.0-part        writing-parts 1.0parts  copy $f/half-part S
writing-1.0-reshard     writing       1.0reshard  copy $f/half-reshard-killed S
writing-1.0-reshard-part writing-parts 1.0reshardparts  copy $f/half-reshard-part S
writing-bad-plan        writing-noplan convert  kill tars=2 $convert; garble S/.shardkit/plan
unmerged-parts          unmerged      parts     $parts0
unmerged-run            unmerged      convert   kill tars=3 $convert; kill tars=4,m=0 $convert
unmerged-lost           unmerged      convert   $convert; rm S/manifest.json
unmerged-record-lost    unmerged      parts     $parts0; rm S/.shardkit/part-00001-of-00003.json
unmerged-reshard        unmerged      reshard   $reshard; rm S/manifest.json
unmerged-reshard-parts  unmerged      reshardparts  reshard $A S --samples 12 --part 0/2; reshard $A S --samples 12 --part 1/2
unmerged-grown          unmerged      grown     $grown0; rm S/manifest.json
unmerged-left-out       unmerged      bad       $bad; rm S/manifest.json
unmerged-1.0            unmerged      1.0       copy $f/set S; rm S/manifest.json
damaged-cut             damaged       convert   $convert; cut S/manifest.json
damaged-empty           damaged       convert   $convert; hollow S/manifest.json
damaged-other-set       damaged       convert   $convert; copy $B/manifest.json S/manifest.json
damaged-grown           damaged       grown     $grown0; cut S/manifest.json
damaged-parts           damaged       parts     $parts0; merge S; cut S/manifest.json
damaged-no-plan         damaged-bare  convert   $convert; rm S/.shardkit/plan; cut S/manifest.json
damaged-other-no-plan   damaged-bare  convert   $convert; rm S/.shardkit/plan; copy $B/manifest.json S/manifest.json
damaged-bare            damaged-bare  convert   $convert; rm S/.shardkit; cut S/manifest.json
damaged-staged          damaged-staged stage    stage $A S --lease 0; cut S/manifest.json
incomplete              incomplete    convert   $convert; rm S/shard-000002.tar
incomplete-cut          incomplete    convert   $convert; cut S/shard-000002.tar
incomplete-longer       incomplete    convert   $convert; lengthen S/shard-000002.tar
incomplete-hollow       incomplete    convert   $convert; hollow S/shard-000002.tar
incomplete-no-index     incomplete    convert   $convert; rm S/shard-000002.tar S/.shardkit/shard-000002.tar.index
incomplete-grown-new    incomplete    grown     $grown0; rm S/shard-000005.tar
incomplete-grown-old    incomplete    convert    $grown0; rm S/shard-000001.tar
incomplete-reshard      incomplete    reshard   $reshard; rm S/shard-000001.tar
incomplete-parts        incomplete    parts     $parts0; merge S; rm S/shard-000001.tar
incomplete-appending    incomplete    grown     $convert; kill appended=1 $append; rm S/shard-000001.tar
incomplete-1.0          incomplete    1.0       copy $f/set S; rm S/shard-000001.tar
gone                    gone          convert   $convert; rm S/*.tar
gone-no-plan            gone-bare     convert   $convert; rm S/*.tar S/.shardkit/plan
gone-staged             gone-staged   stage     stage $A S --lease 0; rm S/*.tar
incomplete-no-plan      incomplete-bare convert $convert; rm S/shard-000002.tar S/.shardkit/plan
incomplete-copy         incomplete-bare convert $convert; rm S/shard-000002.tar S/.shardkit
incomplete-indexed      incomplete-bare index   copy $I S; rm S/b.tar
incomplete-staged       incomplete-staged stage stage $A S --lease 0; rm S/shard-000002.tar
incomplete-staged-cut   incomplete-staged stage stage $A S --lease 0; cut S/shard-000002.tar
incomplete-partial      incomplete-partial include  $include; rm S/shard-000000.tar
partial-include         partial       include   $include
partial-rank            partial       rank      $rank
partial-two             partial       include   $include; $rank
appending-plan          appending     append    $convert; kill gplans=1,appended=0 $append
appending-one           appending     append    $convert; kill appended=1 $append
appending-part          appending     appendparts $convert; convert $p2 S --samples 10 --append --part 1/2
appending-second        appending     append    convert $p1 S --samples 10; convert $p S --samples 10 --append; kill appended=1 $append
appended                appended      append    $convert; kill gm=1,tars=4 $append
appended-half           appended      append    $convert; kill tars=5 $append
appended-all            appended      append    $convert; kill tars=6 $append
appended-second         appended      append    convert $p1 S --samples 10; convert $p S --samples 10 --append; kill gm=1 $append
appended-parts          appended      appendparts $convert; convert $p2 S --samples 10 --append --part 0/2; convert $p2 S --samples 10 --append --part 1/2
complete                complete      convert   $convert
complete-parts          complete      parts     $parts0; merge S
complete-reshard        complete      reshard   $reshard
complete-grown          complete      grown     $grown0
complete-left-out       complete      bad       $bad
complete-readers        complete      convert   convert $p S --samples 10 --index dali,wids,energon
complete-dead-run       complete      convert   $convert; deadrun
complete-empty-journal  complete      convert   $convert; journal
complete-no-tar-index   complete-noindex convert $convert; rm S/.shardkit/shard-000001.tar.index
complete-1.0            complete      1.0       copy $f/set S
complete-1.0-reshard    complete      1.0reshard  copy $f/resharded S
complete-1.0-listed     complete      1.0listed copy $f/listed S
complete-copy           complete-bare convert   $convert; rm S/.shardkit
complete-no-plan        complete-bare convert   $convert; rm S/.shardkit/plan
complete-indexed        indexed       index     copy $I S
complete-staged         staged        stage     stage $A S --lease 0
complete-staged-1.0     staged        1.0stage  copy $f/staged S
foreign                 foreign       convert   copy $T S
foreign-indexes         foreign       convert   copy $I S; rm S/manifest.json
foreign-wids            foreign       convert   copy $I S; index S --wids; rm S/manifest.json S/.shardkit
foreign-copy            foreign       convert   $convert; rm S/.shardkit S/manifest.json
foreign-other-manifest  foreign-other convert   copy $T S; write S/manifest.json {"name":"app","start_url":"/"}
foreign-staged          foreign-staged files    $files
extra                   extra         convert   $convert; tar S/zz.tar
extra-hollow            extra         convert   $convert; hollow S/zz.tar
extra-name              extra-taken   convert   $convert; tar S/shard-000004.tar
extra-indexed           extra-indexed index     copy $I S; tar S/zz.tar
extra-staged            extra-staged  stage     stage $A S --lease 0; tar S/zz.tar
extra-appending         extra-append  append    $convert; kill appended=1 $append; tar S/zz.tar
index-damaged           index         convert   $convert; garble S/.shardkit/shard-000001.tar.index
index-cut               index         convert   $convert; cut S/.shardkit/shard-000001.tar.index
index-hollow            index         convert   $convert; hollow S/.shardkit/shard-000001.tar.index
index-of-other          index         convert   $convert; copy S/.shardkit/shard-000002.tar.index S/.shardkit/shard-000001.tar.index
index-wids-damaged      readers       convert   convert $p S --samples 10 --index wids; garble S/shardindex.json
index-wids-lost         readers       convert   convert $p S --samples 10 --index wids; rm S/shardindex.json
plan-damaged            plan          convert   $convert; garble S/.shardkit/plan
plan-first-lost         plan          grown     $grown0; rm S/.shardkit/plan
live                    live          convert   $convert; deadrun; live
newer-manifest          newer         convert   $convert; newer S/manifest.json
newer-journal           newer-stage   stage     kill tars=2 stage $A S --lease 0 -j 1; newer S/.shardkit/stage.journal
newer-marker            newer-stage   stage     stage $A S --lease 0; newer S/.shardkit/staged.json
newer-plan              newer-plan    convert   kill tars=2 $convert; newer S/.shardkit/plan
"""

SHORT = {"grown0": "convert $p S --samples 10; convert $p2 S --samples 10 --append",
         "parts0": "; ".join(KINDS["parts"].split(" + ")[:3])}

COUNTS = {"tars": "**/*.tar", "m": "**/manifest.json", "marker": ".shardkit/staged.json", "indexes": ".shardkit/*.tar.index",
          "runs": ".shardkit/*.run", "plans": "**/.shardkit/plan", "gplans": ".shardkit/append-*/.shardkit/plan",
          "gm": ".shardkit/append-*/manifest.json", "appended": ".shardkit/append-*/*.tar", "record": ".shardkit/uploads/upload.json"}


def holds(folder, condition):
    """Whether a folder has these numbers of files: "tars=2,m<1"."""
    for name, sign, number in re.findall(r"(\w+)([=<>])(\d+)", condition):
        found = [path for path in folder.glob(COUNTS[name]) if path.is_file()]
        if name in ("tars", "m"):  # of an append, they are not the set's
            found = [path for path in found if ".shardkit" not in path.parts[len(folder.parts):]]
        if not {"=": len(found) == int(number), "<": len(found) < int(number), ">": len(found) > int(number)}[sign]:
            return False
    return True


@dataclasses.dataclass
class State:
    name: str
    row: str
    kind: str
    steps: list
    folder: pathlib.Path  # of which S is the set
    is_live: bool = False
    extra: tuple = ()  # tars that are no part of the set

    def commands(self, kind=None, target="S"):
        return [re.sub(r"\bS\b", target, command) for command in KINDS[kind or self.kind].split(" + ")]

    def shards(self):
        """Names of the tars of the set that are there, with their members; of a group, those of its sets."""
        found = {}
        for path in sorted((self.folder / "S").glob("**/*.tar")):
            name = str(path.relative_to(self.folder / "S"))
            if name not in self.extra and ".shardkit" not in name:
                found[name] = tar_members(path)
        return found

    def member(self):
        """An image of the set that can be read."""
        names = [name for members in self.shards().values() for name in members if not name.endswith((".cls", ".json", ".txt"))]
        return names[0] if names else "n0/n0_0.jpg"


def tar_members(path):
    try:
        with tarfile.open(path) as tar:
            return tar.getnames()
    except (tarfile.TarError, EOFError):
        return []


class Maker:
    """Makes states in `root`, each when it is first asked for."""

    def __init__(self, root, bucket=None):
        self.root = pathlib.Path(root)
        self.bucket = bucket
        self.lock = threading.Lock()
        self.locks = {}  # of states that are made
        self.states = {}
        for line in STATES.strip().splitlines():
            name, row, kind, steps = line.split(None, 3)
            self.states[name] = State(name, row, kind, steps.split("; "), self.root / "states" / name, "; live" in steps)
        (self.root / "f").mkdir(parents=True)
        copy_fixtures(self.root / "f")
        self.make_sources()

    def make_sources(self):
        """p1 in p in p2, q of other images, bad with a class that has none; sets A and B of p and q, D divided, G grown, T of others, I indexed."""
        images = sorted((FIXTURES / "src").glob("*/*.JPEG"))
        for name, per_class, mark in (("p2", 15, b"p"), ("q", 10, b"q"), ("bad", 10, b"b")):
            for number in range(4 * per_class):
                path = self.root / name / f"n{number // per_class}/n{number // per_class}_{number % per_class}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                image = images[number % len(images)].read_bytes()
                note = b"%s %05d" % (mark, number)
                path.write_bytes(image[:2] + b"\xff\xfe" + struct.pack(">H", len(note) + 2) + note + image[2:])
                if name == "bad" and number < per_class:
                    path.write_bytes(b"no image")
        for name, most in (("p", 10), ("p1", 5)):
            shutil.copytree(self.root / "p2", self.root / name)
            for path in (self.root / name).glob("*/*.jpg"):
                if int(path.stem.split("_")[1]) >= most:
                    path.unlink()
        for command in ("convert $p A --samples 10", "convert $q B --samples 10", "convert $p D --samples 10 --split train=0.7,val=0.3",
                        "convert $p G --samples 10", "convert $p2 G --samples 10 --append"):
            self.shardctl(command, self.root)
        (self.root / "T").mkdir()
        for number, name in enumerate("abcd"):
            shutil.copyfile(self.root / f"A/shard-00000{number}.tar", self.root / f"T/{name}.tar")
        shutil.copytree(self.root / "T", self.root / "I")
        self.shardctl("index I", self.root)

    def words(self, command):
        """The words of a command with the absolute paths of sources."""
        return [re.sub(r"^\$(\w+)", lambda m: str(self.root / m[1]), word) for word in shlex.split(command)]

    def shardctl(self, command, folder, before=()):
        program = [*before, str(PROGRAMS / "shardctl"), *self.words(command)]
        done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, -signal.SIGKILL, 128 + signal.SIGKILL):
            raise AssertionError(f"{command}: {done.stderr}")
        return done.returncode

    def state(self, name):
        state = self.states[name]
        with self.lock:
            making_it = self.locks.setdefault(name, threading.Lock())
        with making_it:
            if not state.folder.exists():
                making = self.root / "making" / name
                making.mkdir(parents=True)
                for step in state.steps:
                    self.step(state, making, step)
                state.folder.parent.mkdir(exist_ok=True, parents=True)
                making.rename(state.folder)
        return state

    def step(self, state, folder, step):
        step = re.sub(r"\$(\w+)(?=$| )", lambda m: SHORT.get(m[1]) or KINDS.get(m[1], m[0]), step)
        for part in step.split("; "):
            verb, *operands = part.split()
            if hasattr(Maker, f"do_{verb}"):
                getattr(self, f"do_{verb}")(state, folder, *operands)
            else:
                self.shardctl(part, folder)

    def paths(self, folder, *patterns):
        return [path for pattern in patterns for path in sorted(folder.glob(pattern))]

    def do_mkdir(self, state, folder, name):
        (folder / name).mkdir(parents=True)

    def do_write(self, state, folder, name, text):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def do_copy(self, state, folder, source, name):
        (source,) = self.words(source)
        source = folder / source  # absolute or not
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
            shutil.copy2(source, folder / name)

    def do_rm(self, state, folder, *patterns):
        paths = self.paths(folder, *patterns)
        assert paths, (state.name, patterns)
        for path in paths:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def change(self, folder, name, content):
        path = folder / name
        before = path.read_bytes() if path.exists() else b""
        path.unlink(missing_ok=True)
        path.write_bytes(content(before))
        assert before != path.read_bytes() or not before, name

    def do_cut(self, state, folder, name):
        self.change(folder, name, lambda content: content[:len(content) // 2])

    def do_hollow(self, state, folder, name):
        if not (folder / name).exists():
            state.extra += (name[2:],)
        self.change(folder, name, lambda content: b"")

    def do_lengthen(self, state, folder, name):
        self.change(folder, name, lambda content: content + bytes(10240))

    def do_garble(self, state, folder, name):
        self.change(folder, name, lambda content: content[:len(content) // 2] + b"?!" + content[len(content) // 2 + 2:])

    def do_newer(self, state, folder, name):
        """As a later version would write it."""
        def raised(content):
            return re.sub(rb'("version": ?|shardkit-(?:journal|plan)[\t ]+)\d+', rb"\g<1>99", content, count=1)
        self.change(folder, name, raised)

    def do_tar(self, state, folder, name):
        """Another program's."""
        write_tar(folder / name, [(f"zz{i}.{ext}", content) for i in range(3) for ext, content in (("cls", b"0"), ("jpg", b"\xff\xd8\xff%d\xff\xd9" % i))])
        state.extra += (name[2:],)

    def do_others(self, state, folder):
        """A tar of another program under a name that the plan has, and that is not there yet."""
        name = next(f"S/shard-00000{i}.tar" for i in range(4) if not (folder / f"S/shard-00000{i}.tar").exists())
        (folder / f"S/.shardkit/{name[2:]}.index").unlink(missing_ok=True)
        self.do_tar(state, folder, name)

    def do_journal(self, state, folder):
        """What a stage leaves that was refused or killed before its first file."""
        with_files = folder / "staged"
        self.shardctl("stage $A staged --lease 0", folder)
        lines = (with_files / ".shardkit/stage.journal").read_text().splitlines()
        (folder / "S/.shardkit").mkdir(exist_ok=True)
        (folder / "S/.shardkit/stage.journal").write_text("".join(line + "\n" for line in lines if not line.startswith("file\t")))
        (folder / "S/.shardkit/stage.lock").touch()
        shutil.rmtree(with_files)

    def do_deadrun(self, state, folder):
        """The record of a run that was killed."""
        self.kill(folder, "runs=1,plans=1,tars=0", "convert $p R --samples 10", "R")
        (record,) = (folder / "R/.shardkit").glob("*.run")
        record.rename(folder / "S/.shardkit" / record.name)
        shutil.rmtree(folder / "R")

    def do_live(self, state, folder):
        """Its record is locked where the state is used."""

    def do_kill(self, state, folder, condition, *command):
        self.kill(folder, condition, " ".join(command))

    def kill(self, folder, condition, command, target="S"):
        """Runs a command and kills it at its first rename after which the condition holds. Threads come in any order, so it may
        take more than one try."""
        calls = "rename,renameat,renameat2"
        trial = folder.with_name(f"{folder.name}.trial")
        number = tries = 0
        while tries < 3:
            number += 1
            shutil.rmtree(trial, ignore_errors=True)
            shutil.copytree(folder, trial)
            traced = strace("-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:signal=SIGKILL:when={number}")
            ended = self.shardctl(command, trial, before=traced) == 0
            if not ended and holds(trial / target, condition):
                shutil.rmtree(folder)
                trial.rename(folder)
                return
            if ended:
                number, tries = 0, tries + 1
        raise AssertionError(f"no rename of `{command}` leaves {condition}")

    def do_uploadkill(self, state, folder, condition, source):
        """What an upload leaves in a bucket that is killed after a write behind which the condition holds."""
        for number in range(1, 60):
            prefix = f"making-{state.name}-{number}"
            killed = self.bucket.killed([str(PROGRAMS / "shardctl"), "upload", *self.words(source), f"s3://bucket/{prefix}/S", "-j", "1"],
                                        number, "done", folder)
            shutil.rmtree(folder / "S", ignore_errors=True)
            self.bucket.get_tree(f"{prefix}/S/", folder / "S")
            self.bucket.remove(prefix)
            (folder / "S/.shardkit/uploads/writer.json").unlink(missing_ok=True)
            if killed and holds(folder / "S", condition):
                return
            assert killed, f"no write of an upload leaves {condition}"


def lock_runs(folder):
    """Holds the locks that a live process holds on its records in `folder`; returns the files, which are to be closed."""
    files = [open(path, "r+b") for path in pathlib.Path(folder).glob(".shardkit/*.run")]
    for file in files:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqhh", fcntl.F_WRLCK, 0, 0, 0, 0, 0))
    return files


def samples_in(folder):
    """Samples that the manifest in a folder lists; empty without one that can be read."""
    try:
        return sum(shard["samples"] for shard in json.loads((folder / "manifest.json").read_text())["shards"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
