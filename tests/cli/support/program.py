"""What the tests of whole programs share: running one, and looking at trees of files."""

import atexit
import ctypes
import errno
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import needs
from needs import CHECKOUT, need  # noqa: F401  # for those who import them from here

# scripts/test --soak tests the portable programs too; ctest sets the other variable itself.
PROGRAMS = pathlib.Path(os.environ.get("SHARDKIT_TESTED_PROGRAMS") or os.environ["SHARDKIT_PROGRAMS"])

SOAK = bool(os.environ.get("SHARDKIT_SOAK"))  # scripts/test --soak: all random cases


def fake_jpeg(content=b""):
    """What looks like a JPEG at both ends, for where nothing decodes it: `convert --validate magic` and `verify` accept it."""
    return b"\xff\xd8\xff" + content + b"\xff\xd9"


def fake_png(content=b""):
    """A PNG in the same sense."""
    return b"\x89PNG\r\n\x1a\n" + content + b"\0\0\0\0IEND\xae\x42\x60\x82"


@functools.cache
def programs_of_all():
    """A copy of the programs that each user can run: the checkout may lie in a home which others cannot enter."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    for program in ("shardctl", "iobench"):
        shutil.copy(PROGRAMS / program, folder)
    return folder


def run(program, *args, **options):
    """Runs shardctl or iobench to its end, perhaps as another user, and returns the finished process, outputs as text."""
    command = [str((programs_of_all() if "user" in options else PROGRAMS) / program), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def start(program, *args):
    command = [str(PROGRAMS / program), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until(condition, process=None, seconds=120):
    """What `condition()` gives once that is true. Fails if the process ends before, or after so many seconds, of which a test on an
    idle machine needs none."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if process is not None and process.poll() is not None:
            raise AssertionError(f"it ended with {process.returncode} before what the test waits for")
        if time.monotonic() > deadline:
            raise AssertionError("what the test waits for did not come")
        time.sleep(0.01)
    return found


def awaits_signal(process, number):
    """Whether our program has come so far that the signal does not simply end it: it blocks it for the thread that waits for it."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"SigBlk:\s+(\w+)", status)[1], 16) >> (number - 1) & 1


def had_time_to_stop(messages):
    """Whether a program ended its work after a signal. On a busy machine it may not within its 2 s; then it says less."""
    return "stopping before the work is complete" not in messages


def warning_codes(envelope):
    """Of all warnings but that other processes were busy, which is chance in a test."""
    return [warning["code"] for warning in envelope["warnings"] if warning["code"] != "disturbed"]


def result_of(finished):
    """The envelope that --json - printed."""
    return json.loads(finished.stdout)


def tree(root):
    """Content hash of every file below root, by relative path."""
    root = pathlib.Path(root)
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def memory_limit(program, most):
    """`most` bytes of resident memory, or what ThreadSanitizer makes of it, which keeps notes on each byte."""
    return most * 5 if b"__tsan_init" in pathlib.Path(program).read_bytes() else most


def strace(*options):
    """The start of a command that runs under strace with these options."""
    # LeakSanitizer refuses to run under ptrace.
    return ["env", "ASAN_OPTIONS=detect_leaks=0", needs.program("strace"), "-f", "-qq", *options]


def is_killed_at(calls, number, *command):
    """Whether a command of shardctl makes so many of these system calls in one thread; it is killed at that one."""
    traced = strace("-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:signal=SIGKILL:when={number}")
    done = subprocess.run([*traced, PROGRAMS / "shardctl", *map(str, command)], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 128 + signal.SIGKILL, -signal.SIGKILL):
        raise AssertionError(done.stderr)
    return done.returncode != 0


def killed_runs(count, seed, restart, *command):
    """Runs a command of shardctl so many times, which is killed where it reads, writes, syncs or gives names, and yields after
    each kill. A run that ended before that is followed by `restart()`. Fails unless most runs were killed."""
    moments = random.Random(seed)
    killed = 0
    for _ in range(count):
        calls, most = moments.choice((("pread64", 40), ("pwrite64", 8), ("fdatasync", 8), ("fsync", 8), ("rename", 8)))
        if is_killed_at(calls, moments.randrange(1, most + 1), *command):
            killed += 1
            yield
        else:
            restart()
    if killed * 3 < count * 2:
        raise AssertionError(f"only {killed} of {count} runs were killed before they ended")


def has_uring():
    """Whether the kernel offers io_uring to this process; asked without our programs, whose fault would be a skip."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(425, 0, None)  # io_uring_setup without entries, which is invalid where it exists
    return ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM)


def can_mount():
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


class FolderTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def make_tree(self, name="src", classes=3, per_class=30, size=4000):
        """An ImageFolder of files that only look like images: <name>/class_<c>/img_<i>.jpg."""
        root = self.folder / name
        for c in range(classes):
            (root / f"class_{c}").mkdir(parents=True)
            for i in range(per_class):
                length = max((c * 7919 + i * 104729) % size + 1, 16)
                (root / f"class_{c}" / f"img_{i:03}.jpg").write_bytes(fake_jpeg(os.urandom(length - 5)))
        return root

    def assert_error(self, finished, exit_code, *texts):
        self.assertEqual(finished.returncode, exit_code, finished.stderr)
        for text in texts:
            self.assertIn(str(text), finished.stderr)
