"""shardctl cat: the bytes on standard output, and nothing but them."""

import json
import pathlib
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, run, strace  # noqa: E402


def cat(*args):
    """As run(), with bytes."""
    return subprocess.run([PROGRAMS / "shardctl", "cat", *args], capture_output=True, timeout=60)


class Cat(FolderTest):
    def setUp(self):
        super().setUp()
        self.source = self.make_tree(classes=2, per_class=10)
        self.shards = self.folder / "shards"
        self.assertEqual(run("shardctl", "convert", self.source, self.shards, "--samples", 5).returncode, 0)

    def test_every_image_comes_out_as_it_went_in(self):
        for image in sorted(self.source.rglob("*.jpg"))[::5]:
            key = image.relative_to(self.source).with_suffix("")
            finished = cat(self.shards, key)
            self.assertEqual((finished.returncode, finished.stdout), (0, image.read_bytes()), finished.stderr)
            self.assertEqual(finished.stderr, b"")

    def test_with_an_index_no_shard_is_read_but_the_one_that_holds_it(self):
        log = self.folder / "log"
        command = [*strace("-o", log, "-e", "trace=openat"), PROGRAMS / "shardctl", "cat", self.shards,
                   "class_1/img_003"]
        finished = subprocess.run([str(part) for part in command], capture_output=True, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        opened = [line for line in log.read_text().splitlines() if '.tar"' in line]
        self.assertEqual(len(opened), 1, opened)

    def test_json_on_standard_output_is_refused_and_in_a_file_says_where_the_bytes_came_from(self):
        finished = run("shardctl", "cat", self.shards, "class_1/img_003", "--json", "-")
        envelope = json.loads(finished.stdout)
        self.assertEqual((finished.returncode, envelope["error"]["code"], envelope["result"]), (2, "usage", None))
        report = self.folder / "r.json"
        finished = cat(self.shards, "class_1/img_003", "--json", report)
        result = json.loads(report.read_text())["result"]
        with open(self.shards / result["shard"], "rb") as shard:
            shard.seek(result["offset"])
            self.assertEqual(shard.read(result["bytes"]), finished.stdout)
        self.assertEqual(result["name"], "class_1/img_003.jpg")

    def test_a_reader_that_has_enough_ends_it_quietly(self):
        large = self.folder / "large.bin"
        large.write_bytes(bytes(4_000_000))
        with tarfile.open(self.folder / "l.tar", "w") as tar:
            tar.add(large, "large.bin")
        process = subprocess.Popen([PROGRAMS / "shardctl", "cat", self.folder / "l.tar", "large"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main()
