"""Tars that lie, on every verb that reads shards: a clear end with the place, no half output, memory that stays small."""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import PROGRAMS, FolderTest, memory_limit  # noqa: E402

GIB = 1 << 30
MIB = 1 << 20


def header(name, size=0, kind=tarfile.REGTYPE, link="", size_field=None):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size_field or b"%011o\0" % size if size < 8 * GIB else b"\x80" + size.to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def member(name, content):
    return header(name, len(content)) + content + bytes(-len(content) % 512)


GOOD = member("good.jpg", b"image") + member("good.cls", b"1")
END = bytes(1024)


class BadInput(FolderTest):
    def commands(self, shard):
        """The arguments of every verb that reads `shard`, and where it writes to."""
        out = self.folder / "out"
        return [
            (["verify", shard], None), (["verify", shard, "--depth", "decode"], None), (["stat", shard], None),
            (["ls", shard], None), (["cat", shard, "other.jpg"], None), (["index", shard], None),
            (["extract", shard, out / "tree"], out / "tree"), (["reshard", shard, out / "shards"], out / "shards"),
            (["reshard", shard, out / "good", "--drop-bad"], out / "good"),
        ]

    def run_lean(self, arguments, most=256 * MIB):
        """Runs shardctl to its end; fails when it took more memory than `most` at any time."""
        # AddressSanitizer would keep what was freed.
        environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"}
        report = self.folder / "stderr"
        with open(report, "w") as stderr:
            process = subprocess.Popen([PROGRAMS / "shardctl", *map(str, arguments)], stdout=subprocess.DEVNULL,
                                       stderr=stderr, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertLess(usage.ru_maxrss * 1024, memory_limit(PROGRAMS / "shardctl", most))
        return subprocess.CompletedProcess(process.args, process.returncode, "", report.read_text())

    def each_refuses(self, content, *texts, findings=3, tolerant=()):
        """Every verb ends with 4, or `findings`, or, those in `tolerant`, with 0 and a warning."""
        shard = self.folder / "bad.tar"
        shard.write_bytes(content)
        for arguments, output in self.commands(shard):
            with self.subTest(" ".join(map(str, arguments[:1] + arguments[2:]))):
                done = self.run_lean(arguments)
                if arguments[0] == "verify":
                    self.assertEqual(done.returncode, findings, done.stderr)
                elif arguments[0] in tolerant:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("warning", done.stderr)
                else:
                    self.assert_error(done, 4, "bad.tar", *texts)
                if output and done.returncode:
                    left = [path for path in output.rglob("*") if path.is_file() and path.name != "plan"]
                    self.assertEqual(left, [])
        self.assertEqual([path for path in (self.folder / ".shardkit").rglob("*")], [])

    # What can be listed up to the damage is listed, with a warning. cat finds nothing there and says what it saw.
    LISTING = ("ls", "stat")

    def test_a_header_that_claims_8_eib(self):
        self.each_refuses(GOOD + header("big.jpg", size_field=b"\x80\0\0\0\x7f" + b"\xff" * 7) + b"x" * 512 + END,
                          tolerant=self.LISTING)

    def test_a_negative_size_in_base_256(self):
        self.each_refuses(GOOD + header("minus.jpg", size_field=b"\xff" * 12) + b"x" * 512 + END, tolerant=self.LISTING)

    def test_an_extended_header_that_claims_4_gib(self):
        self.each_refuses(GOOD + header("pax", 4 * GIB, tarfile.XHDTYPE) + b"x" * 512, tolerant=self.LISTING)

    def test_hard_links_in_a_circle(self):
        shard = self.folder / "bad.tar"
        shard.write_bytes(GOOD + header("a.jpg", kind=tarfile.LNKTYPE, link="b.jpg") +
                          header("b.jpg", kind=tarfile.LNKTYPE, link="a.jpg") + END)
        self.assert_error(self.run_lean(["extract", shard, self.folder / "out"]), 4, "bad.tar", "'a.jpg'", "it is a link")
        done = self.run_lean(["reshard", shard, self.folder / "plain"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 links to no file in the tar, such as 'a.jpg' -> 'b.jpg'", done.stderr)
        self.assertEqual(self.run_lean(["verify", shard]).returncode, 3)
        for verb in ("ls", "stat"):
            self.assertEqual(self.run_lean([verb, shard]).returncode, 0)

    def test_a_compressed_bomb_under_a_tars_name(self):
        shard = self.folder / "bad.tar"
        self.each_refuses(gzip.compress(bytes(64 * MIB)))
        for verb in ("ls", "stat", "cat"):
            done = self.run_lean([verb, shard] + ["a.jpg"] * (verb == "cat"))
            self.assert_error(done, 4, "gzip data", f"`shardctl reshard {shard} OUT --salvage --mark-duplicates`")
        self.assert_error(self.run_lean(["reshard", shard, self.folder / "plain"]), 4, "unpacks to zeros")

    def test_a_json_member_of_1_gib_is_never_held_whole_but_by_reshard(self):
        shard = self.folder / "bad.tar"
        with open(shard, "wb") as tar:  # a sparse file: a hole is the member
            tar.write(GOOD + header("huge.json", GIB))
            tar.seek(GIB, os.SEEK_CUR)
            tar.write(member("huge.jpg", b"image") + member("huge.cls", b"2") + END)
        for arguments, _ in self.commands(shard):
            if arguments[0] in ("reshard", "extract"):
                continue
            if arguments[0] == "cat":
                arguments = ["cat", shard, "huge.json"]
            with self.subTest(" ".join(map(str, arguments[:1] + arguments[2:]))):
                done = self.run_lean(arguments)
                self.assertIn(done.returncode, (0, 3) if arguments[0] == "verify" else (0,), done.stderr)
        done = self.run_lean(["reshard", shard, self.folder / "small", "--key", "good"])
        self.assertEqual(done.returncode, 0, done.stderr)
        # A sample that is wanted is held whole, and no more than that.
        done = self.run_lean(["reshard", shard, self.folder / "all"], GIB + 256 * MIB)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_lean(["extract", shard, self.folder / "tree"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "tree/2/huge.json").stat().st_size, GIB)

    def test_a_sample_larger_than_memory_is_refused_by_reshard_before_it_is_read(self):
        shard = self.folder / "bad.tar"
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        with open(shard, "wb") as tar:
            tar.write(member("good.bin", b"content"))
            for i in range(memory // (7 * GIB) + 1):
                tar.write(header(f"huge.{i}", 7 * GIB))
                tar.seek(7 * GIB, os.SEEK_CUR)
            tar.write(END)
        done = self.run_lean(["reshard", shard, self.folder / "out"])
        self.assert_error(done, 4, "sample 'huge'", "kept in memory", "--drop-bad` leaves such samples out")
        done = self.run_lean(["reshard", shard, self.folder / "out", "--drop-bad", "--json", self.folder / "result.json"])
        self.assertIn(done.returncode, (0, 5), done.stderr)  # 5: a disk without that space
        if done.returncode == 0:
            result = json.loads((self.folder / "result.json").read_text())["result"]
            self.assertEqual((result["samples"], result["dropped"]), (1, 1))
            self.assertIn("memory", result["dropped_samples"][0]["reason"])

    def test_a_label_or_key_of_any_length_costs_no_memory(self):
        shard = self.folder / "bad.tar"
        with open(shard, "wb") as tar:
            tar.write(header("huge.cls", GIB))
            tar.seek(GIB, os.SEEK_CUR)
            tar.write(member("huge.jpg", b"image") + END)
        for arguments in (["verify", shard], ["stat", shard], ["ls", shard, "--long"], ["index", shard]):
            with self.subTest(arguments[0]):
                done = self.run_lean(arguments)
                self.assertIn(done.returncode, (0, 3), done.stderr)


if __name__ == "__main__":
    unittest.main()
