"""What programs ask of the kernel, so that a published file outlives a power cut. The tests in C++ replace the file system."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import PROGRAMS, FolderTest, strace  # noqa: E402

CALLS = "fdatasync,fsync,rename,renameat,renameat2,link,linkat"


def calls_in(log):
    """("sync", path) and ("name", from, to) for each call, in the order in which they ended."""
    begun = {}
    for line in log.splitlines():
        thread, call = line.split(None, 1)
        if call.endswith("<unfinished ...>"):
            begun[thread] = call
        elif "sync" in (call := begun.pop(thread, "") + call):
            yield "sync", re.search(r"\(\d+<(.*?)>", call)[1]
        else:
            yield "name", *re.findall(r'"(.*?)"', call)


class Published(FolderTest):
    def setUp(self):
        super().setUp()
        self.folder = self.folder.resolve()
        self.src = self.make_tree(classes=2, per_class=6)
        self.set = self.folder / "set"

    def traced(self, *args):
        """The calls of a command that has to succeed."""
        log = self.folder / "log"
        command = [*strace("-y", "-s", "4096", "-o", str(log), "-e", f"trace={CALLS}"), str(PROGRAMS / "shardctl"), *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(calls_in(log.read_text()))

    def assert_durable(self, calls, target, *names):
        """That each file's content was synced before it got its name, and its folder after; and that these names are among them."""
        published = set()
        for moment, call in enumerate(calls):
            if call[0] != "name" or call[2].endswith(".run"):  # says that a process lives, which a power cut ends
                continue
            source, name = call[1:]
            published.add(re.sub(r"[0-9a-f]{32}", "ID", str(pathlib.Path(name).relative_to(target))))
            with self.subTest(name):
                self.assertIn(("sync", source), calls[:moment])
                self.assertIn(("sync", str(pathlib.Path(name).parent)), calls[moment:])
        self.assertLessEqual(set(names), published)

    def convert(self, *args):
        return self.traced("convert", self.src, self.set, "--samples", 4, *args)

    def test_convert(self):
        self.assert_durable(self.convert("--index", "dali,wids,energon"), self.set, ".shardkit/plan", "shard-000002.tar",
                            ".shardkit/shard-000002.tar.index", "shard-000002.idx", "shard-000002.tar.idx", "shardindex.json",
                            "manifest.json")

    def test_parts_and_merge(self):
        for part in ("0/2", "1/2"):
            self.assert_durable(self.convert("--part", part), self.set,
                                f".shardkit/part-0000{part[0]}-of-00002.json")
        self.assert_durable(self.traced("merge", self.set), self.set, "manifest.json")

    def test_reshard_and_index(self):
        self.convert()
        out = self.folder / "out"
        self.assert_durable(self.traced("reshard", self.set, out, "--samples", 6), out, ".shardkit/plan", "shard-000001.tar",
                            ".shardkit/shard-000001.tar.index", "manifest.json")
        shutil.rmtree(out / ".shardkit")
        (out / "manifest.json").unlink()
        self.assert_durable(self.traced("index", out, "--wids", "--dali"), out, ".shardkit/shard-000001.tar.index",
                            "shardindex.json", "shard-000001.idx", "manifest.json")

    def test_stage_in_the_order_journal_names_marker(self):
        self.convert()
        copy = self.folder / "copy"
        calls = self.traced("stage", self.set, copy)
        self.assert_durable(calls, copy, "shard-000002.tar", ".shardkit/shard-000002.tar.index", "manifest.json",
                            ".shardkit/stage.journal", ".shardkit/staged.json", ".shardkit/leases/ID.json")
        named = [moment for moment, call in enumerate(calls) if call[0] == "name" and call[1].endswith(".partial")]
        marked = next(moment for moment, call in enumerate(calls) if call[-1].endswith("/staged.json"))
        journal = ("sync", str(copy / ".shardkit/stage.journal"))
        self.assertEqual(len(named), 6)
        self.assertIn(journal, calls[:named[0]])
        self.assertIn(journal, calls[named[-1]:marked])
        for folder in (copy, copy / ".shardkit"):
            self.assertIn(("sync", str(folder)), calls[named[-1]:marked])


if __name__ == "__main__":
    unittest.main()
