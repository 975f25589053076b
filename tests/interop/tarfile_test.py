"""Tars as Python's tarfile reads them, and so webdataset: every field of a header, and the test corpora of Debian's packages."""

import io
import os
import pathlib
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
import needs  # noqa: E402
from program import FolderTest, result_of, run  # noqa: E402

ROOT = pathlib.Path(os.environ.get("SHARDKIT_CORPORA", "/usr"))
CORPORA = {"the test suite of Debian's python3": "lib/python3*/test/**/*.tar", "golang-src": "share/go-*/src/archive/tar/testdata/*.tar"}
NUMBERS = {"mode": (100, 8), "uid": (108, 8), "gid": (116, 8), "size": (124, 12), "mtime": (136, 12),
           "checksum": (148, 8), "devmajor": (329, 8), "devminor": (337, 8)}
TEXTS = (b"root", b"8", b"0x1", b"7 7", b"7\n7", b"\xc3\xa9", b"1__0", b"_1", b"1_", b"- 1", b"0o", b"+", b"7\x85",
         b"0o17", b"0O1_7", b"0o_7", b"-1", b"+7", b"1_0", b" 7 ", b"\t7\n", b"\x1f7", b"", b"  ", b"7\0junk",
         b"\x80", b"\xff", b"\x81", b"\xc0")
LOSSES = {"header_number", "bad_header_checksum", "bad_size_field", "truncated"}
# Where our listing differs on purpose.
ODDITIES = {
    "gnu-incremental.tar": "tarfile takes the times of `tar -g` for a folder: verify reports header_times",
    "invalid-go17.tar": "a prefix behind GNU's magic, which only tarfile reads: verify reports header_times",
    "gnu-multi-hdrs.tar": "of two long names for one member tarfile takes the first, tar and we take the last",
    "pax-multi-hdrs.tar": "the same with two PAX headers",
    "pax-bad-hdr-file.tar": "tarfile takes a damaged PAX record: verify reports bad_pax_header",
}


def member(name, content=b"x"):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info.tobuf(tarfile.GNU_FORMAT) + content.ljust(512, b"\0")


def with_checksum(header):
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return header


def listed(path):
    """(name, offset and size if it is a plain file) of what tarfile lists, up to its first error."""
    found = []
    try:
        with tarfile.open(path, "r:") as tar:
            for info in tar:
                name = info.name.encode(errors="surrogateescape").decode(errors="replace")  # as JSON has it
                found.append((name, (info.offset_data, info.size) if info.isreg() and not info.issparse() else None))
    except (tarfile.TarError, EOFError, ValueError):
        pass
    return found


class Fields(FolderTest):
    def result(self, verb, *args):
        return result_of(run("shardctl", verb, *args, "--json", "-"))["result"]

    def test_verify_knows_every_field_that_tarfile_cannot_read(self):
        """Each text in each number of the second header: what tarfile loses is an error, and nothing else is."""
        shards = self.folder / "shards"
        shards.mkdir()
        expected = {}
        for field, (offset, length) in NUMBERS.items():
            for number, text in enumerate(TEXTS):
                header = bytearray(member("b.jpg")[:512])
                header[offset:offset + length] = text.ljust(length, b"\0")
                if field != "checksum":
                    with_checksum(header)
                path = shards / f"{field}-{number:02}.tar"
                path.write_bytes(member("a.jpg") + bytes(header) + b"x".ljust(512, b"\0") + member("c.jpg") + bytes(1024))
                expected[path.name] = [name for name, _ in listed(path)] != ["a.jpg", "b.jpg", "c.jpg"]
        problems = self.result("verify", shards, "--depth", "structure")["problems"]
        found = {problem["shard"] for problem in problems if problem["code"] in LOSSES}
        lost = {name for name, is_lost in expected.items() if is_lost}
        self.assertEqual(lost - found, set())
        # Sizes with a sign, "0o" or an underscore are numbers to Python alone: tar refuses them, and so do we.
        self.assertEqual({name for name in found - lost if not name.startswith("size")}, set())
        self.assertGreater(sum(expected.values()), 80)

    def test_verify_knows_what_changes_a_name(self):
        for magic, prefix, changes in ((b"ustar  \0", b"15023456701", True), (b"ustar\00000", b"folder", False),
                                       (bytes(8), b"v7", True), (b"ustar  \0", b"", False)):
            with self.subTest(magic=magic, prefix=prefix):
                header = bytearray(member("b.jpg")[:512])
                header[257:265] = magic
                header[345:345 + len(prefix)] = prefix
                path = self.folder / "s.tar"
                path.write_bytes(bytes(with_checksum(header)) + b"x".ljust(512, b"\0") + bytes(1024))
                problems = self.result("verify", path, "--depth", "structure")["problems"]
                self.assertEqual("header_times" in {problem["code"] for problem in problems}, changes)
                rows = self.result("ls", path)["rows"]
                self.assertEqual([row["name"] for row in rows] != [name for name, _ in listed(path)], changes)


class Corpora(FolderTest):
    def test_listings_are_those_of_tarfile(self):
        differing = {}
        for path in (path for package, pattern in CORPORA.items() for path in needs.files(package, pattern, ROOT)):
            finished = run("shardctl", "ls", path, "--json", "-")
            self.assertIn(finished.returncode, (0, 4), path)
            rows = result_of(finished)["result"]["rows"] if finished.returncode == 0 else []
            theirs = listed(path)
            same = len(rows) == len(theirs) and all(
                row["name"].rstrip("/") == name.rstrip("/") and place in (None, (row["offset"], row["size"]))
                for row, (name, place) in zip(rows, theirs))
            if not same:
                differing[path.name] = (theirs, [(row["name"], row["offset"], row["size"]) for row in rows])
        self.assertEqual(set(differing), set(ODDITIES), differing)


if __name__ == "__main__":
    unittest.main()
