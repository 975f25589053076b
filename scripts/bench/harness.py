"""Data, tools and timing for bench-peers."""

import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
SMALL_PEERS = ["webdataset", "numpy", "pillow", "simplejpeg", "opencv-python-headless", "s5cmd"]
LARGE_PEERS = ["torchvision", "nvidia-dali-cuda120"]


@dataclass
class Contender:
    """One command of a row. `seconds` replaces wall time by what the command itself measured."""

    name: str
    command: list
    output: pathlib.Path | None = None  # removed before each run
    seconds: Callable[[str], float] | None = None


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = options.work.resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.programs = ROOT / "build" / "release" / "apps"
        if not (self.programs / "shardctl").exists():
            raise SystemExit("bench-peers: build the release preset first: cmake --preset release && "
                             "cmake --build build/release")

    def print_machine(self):
        model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        print(f"{model}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}, shardkit "
              f"{commit.stdout.strip() or '?'}, {time.strftime('%Y-%m-%d')}\n")

    def images(self, count):
        """An ImageFolder of `count` files in count/33 classes, made of --data's files under new names."""
        tree = self.work / f"images-{count}"
        if (tree / ".complete").exists():
            return tree
        shutil.rmtree(tree, ignore_errors=True)
        sources = sorted(path for path in self.options.data.rglob("*") if path.is_file())
        classes = max(count // 33, 1)
        for i in range(count):
            folder = tree / f"n{i % classes:08}"
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(sources[i * 7919 % len(sources)], folder / f"n{i % classes:08}_{i}.JPEG")
        (tree / ".complete").touch()
        os.sync()
        return tree

    def shards(self, count):
        target = self.work / f"shards-{count}"
        self.check(self.programs / "shardctl", "convert", self.images(count), target, "--quiet")
        return target

    def compiled(self, source, *flags):
        """A small C or C++ program, built once."""
        program = self.work / pathlib.Path(source).stem
        compiler = "g++" if str(source).endswith(".cpp") else "gcc"
        self.check(compiler, "-O2", source, "-o", program, *flags)
        return program

    def python(self):
        """The interpreter of the peers' environment, made when it is missing."""
        venv = ROOT / "build" / "bench-venv"
        wanted = SMALL_PEERS + (LARGE_PEERS if self.options.all_peers else [])
        stamp = venv / "installed"
        if not stamp.exists() or not set(wanted) <= set(stamp.read_text().split()):
            self.check("python3", "-m", "venv", venv)
            self.check(venv / "bin" / "pip", "install", "-q", "--disable-pip-version-check", *wanted)
            stamp.write_text("\n".join(wanted))
        return venv / "bin" / "python"

    @staticmethod
    def check(*command):
        finished = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if finished.returncode != 0:
            raise SystemExit(f"bench-peers: {' '.join(map(str, command))} failed:\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    def time_once(self, contender, before):
        """Seconds, CPU seconds, and the peak memory in bytes of the largest process."""
        if contender.output:
            shutil.rmtree(contender.output, ignore_errors=True)
            contender.output.mkdir(parents=True)
        os.sync()
        before()
        start = time.monotonic()
        with tempfile.TemporaryFile("w+") as complaints:
            process = subprocess.Popen([str(part) for part in contender.command], stdout=subprocess.PIPE,
                                       stderr=complaints, text=True)
            printed = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            elapsed = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                complaints.seek(0)
                raise SystemExit(f"bench-peers: {contender.name} failed:\n{printed}{complaints.read()}")
        seconds = contender.seconds(printed) if contender.seconds else elapsed
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024

    def compare(self, title, contenders, before=lambda: None, note=""):
        """Runs all contenders in turn, --runs times after one warm-up, and prints the table. The first is ours."""
        times = {contender.name: [] for contender in contenders}
        cpu = {contender.name: [] for contender in contenders}
        memory = dict.fromkeys(times, 0)
        for turn in range(self.options.runs + 1):
            for contender in contenders:
                seconds, busy, peak = self.time_once(contender, before)
                memory[contender.name] = max(memory[contender.name], peak)
                if turn > 0:
                    times[contender.name].append(seconds)
                    cpu[contender.name].append(busy)
        for contender in contenders:
            if contender.output:
                shutil.rmtree(contender.output, ignore_errors=True)
        ours = statistics.median(times[contenders[0].name])
        print(f"### {title}\n\n{note}\n" if note else f"### {title}\n")
        print("| | median s | range s | CPU s | peak MB | ours is |\n|---|---|---|---|---|---|")
        for name, values in times.items():
            median = statistics.median(values)
            ratio = "" if name == contenders[0].name else f"{median / ours:.2f} x as fast"
            # A child starts as a copy of this interpreter, whose size the kernel counts as its own.
            peak = f"{memory[name] / 1e6:.0f}" if memory[name] > 25e6 else "< 25"
            print(f"| {name} | {median:.3f} | {min(values):.3f} - {max(values):.3f} | {statistics.median(cpu[name]):.2f} | "
                  f"{peak} | {ratio} |")
        print(flush=True)


def shell(text):
    return ["sh", "-c", text]


def drop_caches():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def warm(tree):
    """Reads every file of a tree into the page cache."""
    subprocess.run(["sh", "-c", f"find '{tree}' -type f -print0 | xargs -0 cat > /dev/null"], check=True)
