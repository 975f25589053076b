"""shardctl extract as a process: round trips, kills, full disks, hostile archives, order of making durable."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, can_mount, is_killed_at, result_of, run, strace, tree  # noqa: E402


class ExtractTest(FolderTest):
    def make_shards(self, **shape):
        source = self.make_tree(**shape)
        shards = self.folder / "shards"
        self.assertEqual(run("shardctl", "convert", source, shards, "--samples", 50).returncode, 0)
        return source, shards


class RoundTrip(ExtractTest):
    def test_odd_names_and_side_cars_come_back_byte_for_byte(self):
        source = self.make_tree(per_class=5)
        for name in (b"class_0/a b.jpg", b"class_0/img.v2.JPEG", b"class_0/sub/x.png", b"class_0/\xff\n.jpg",
                     b"class_0/a b.json", b"class_0/a b.txt", "class_1/\u00e9\u4e2d.jpg".encode()):
            path = os.fsencode(source) + b"/" + name
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(os.urandom(700))
        shards, out = self.folder / "shards", self.folder / "out"
        self.assertEqual(run("shardctl", "convert", source, shards, "--validate", "none").returncode, 0)
        finished = run("shardctl", "extract", shards, out, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(tree(out), tree(source))
        result = result_of(finished)["result"]
        self.assertEqual((result["samples"], result["files"], result["files_written"]), (20, 22, 22))
        again = result_of(run("shardctl", "extract", shards, out, "--json", "-"))["result"]
        self.assertEqual((again["files_written"], again["files_kept"]), (0, 22))


class Kills(ExtractTest):
    def test_killed_at_any_step_the_same_command_goes_on(self):
        source, shards = self.make_shards(classes=4, per_class=50, size=8_000)
        expected = tree(source)
        out = self.folder / "out"
        for calls, number in (("pread64", 20), ("write", 30), ("renameat2", 1), ("renameat2", 150), ("syncfs", 1), ("syncfs", 2)):
            self.assertTrue(is_killed_at(calls, number, "extract", shards, out, "--threads", 1, "--quiet"))
            found = {name: content for name, content in tree(out).items() if not name.startswith(".shardkit/")}
            self.assertEqual(found, {name: expected[name] for name in found})  # whole or absent
            finished = run("shardctl", "extract", shards, out)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertEqual(tree(out), expected)
            self.assertFalse((out / ".shardkit").exists())
            shutil.rmtree(out)

    def test_content_is_durable_before_it_is_named_and_names_are_at_the_end(self):
        _, shards = self.make_shards(classes=2, per_class=10)
        log = self.folder / "log"
        command = [*strace("-o", str(log), "-e", "trace=syncfs,renameat2,linkat"), str(PROGRAMS / "shardctl"),
                   "extract", str(shards), str(self.folder / "out"), "--threads", "1"]
        self.assertEqual(subprocess.run(command, capture_output=True, timeout=60).returncode, 0)
        calls = re.findall(r"(syncfs|renameat2|linkat)\(", log.read_text())
        self.assertEqual((calls[0], calls[-1]), ("syncfs", "syncfs"))
        self.assertEqual(calls.count("renameat2"), 20)


class Room(ExtractTest):
    def extract_into_tmpfs(self, size, options, shards):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        target = self.folder / "small"
        target.mkdir()
        script = (f"mount -t tmpfs -o size={size}{options} none {target} && {PROGRAMS}/shardctl extract {shards} "
                  f"{target}/out; code=$?; find {target} -type f | grep . && code=99; exit $code")
        return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)

    def test_too_few_bytes_are_exit_5_before_anything_is_written(self):
        _, shards = self.make_shards(classes=3, per_class=60, size=60_000)
        finished = self.extract_into_tmpfs("1m", "", shards)
        self.assertEqual(finished.returncode, 5, finished.stdout + finished.stderr)
        self.assertIn("MiB are still to be written", finished.stderr)

    def test_too_few_inodes_are_exit_5_as_well(self):
        _, shards = self.make_shards(classes=3, per_class=60, size=100)
        finished = self.extract_into_tmpfs("64m", ",nr_inodes=50", shards)
        self.assertEqual(finished.returncode, 5, finished.stdout + finished.stderr)
        self.assertIn("180 files are still to be written", finished.stderr)

    def test_a_disk_that_has_just_room_for_the_rest_is_enough(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        _, shards = self.make_shards(classes=3, per_class=60, size=30_000)
        target = self.folder / "disk"
        target.mkdir()
        script = f"""
            mount -t tmpfs -o size=6m none {target}
            {PROGRAMS}/shardctl extract {shards} {target}/out || exit 98
            head -c 6m /dev/zero > {target}/full
            {PROGRAMS}/shardctl extract {shards} {target}/out"""
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)


if __name__ == "__main__":
    unittest.main()
