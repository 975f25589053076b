"""What the tests of states share: the media, places to work in, and commands there."""

import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from media import Bucket, Disk, Web  # noqa: E402
from program import PROGRAMS, strace  # noqa: E402
from states import Maker  # noqa: E402


def first_line(done):
    lines = [line for line in (done.stderr or done.stdout).splitlines() if not line.startswith(("[", "shardctl: warning: the"))]
    errors = [line for line in lines if "error:" in line]
    return re.sub(r"[^ -~]", "?", (errors or lines or [""])[0][:300])


class StatesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        strace()  # skips where there is none
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-test-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.bucket, maker_bucket, web = Bucket(), Bucket(), Web(cls.root)
        for server in (cls.bucket, maker_bucket, web):
            cls.addClassCleanup(server.close)
        cls.maker = Maker(cls.root, maker_bucket)
        cls.media = [Disk(), cls.bucket, web]
        cls.lock = threading.Lock()
        cls.cells_made = 0

    def new_cell(self):
        with self.lock:
            type(self).cells_made += 1
            if self.cells_made % 200 == 0:
                self.bucket.command("forget")
            return self.root / f"c{self.cells_made}"

    def run_command(self, command, folder, operand, state):
        """A command of a cell in its folder. In it, S is the set."""
        program, *rest = [word for part in shlex.split(command) for word in self.maker.words(shlex.quote(part))]
        replaced = {"S": operand, "MEMBER": state.member()}
        rest = [replaced.get(word, word).replace("CELL", folder.name) for word in rest]
        return subprocess.run([str(PROGRAMS / program), *rest], cwd=folder, env={**self.bucket.environment, "HOME": str(folder)},
                              capture_output=True, text=True, errors="replace", timeout=120, stdin=subprocess.DEVNULL)

    def in_parallel(self, work, items):
        """What `work` gives for each item, in order. Exceptions are results too."""
        def guarded(item):
            try:
                return work(item)
            except Exception as error:  # noqa: BLE001 a cell that cannot be made is wrong, the others count
                return [("not made", f"{type(error).__name__}: {error}"[:400])]
        with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            return list(pool.map(guarded, items))

    def report(self, lines, counts, of):
        for line in lines:
            print(line)
        print(f"{len(lines)} wrong of {of}:", dict(counts), flush=True)
        self.assertEqual(len(lines), 0, f"{len(lines)} are wrong, see the lines above")
