"""shardctl ls: lines, rows, closed pipes and names that mean harm to a terminal."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, result_of, run  # noqa: E402
from tars import write_tar  # noqa: E402


class Ls(FolderTest):
    def test_long_lines_say_where_the_content_is(self):
        shard = self.folder / "s.tar"
        write_tar(shard, [("d/a.JPG", b"image"), ("d/a.cls", b"7"), ("README", b"r")])
        finished = run("shardctl", "ls", shard, "--long")
        rows = [line.split("\t") for line in finished.stdout.splitlines()]
        self.assertEqual([(row[0], row[2], row[3], row[4]) for row in rows],
                         [("s.tar", "5", "7", "d/a.JPG"), ("s.tar", "1", "7", "d/a.cls"), ("s.tar", "1", "-", "README")])
        data = shard.read_bytes()
        self.assertEqual(data[int(rows[0][1]):][:5], b"image")

    def test_json_has_rows_and_nothing_else_goes_to_standard_output(self):
        shard = self.folder / "s.tar"
        write_tar(shard, [("d/a.jpg", b"image"), ("d/a.cls", b"7")])
        result = result_of(run("shardctl", "ls", shard, "--json", "-"))["result"]
        self.assertEqual(result["members"], 2)
        self.assertEqual(result["rows"][0],
                         {"shard": "s.tar", "key": "d/a", "name": "d/a.jpg", "offset": 1536, "size": 5, "label": 7})

    def test_json_to_a_file_leaves_the_lines_on_standard_output(self):
        shard = self.folder / "s.tar"
        write_tar(shard, [("a.jpg", b"image")])
        finished = run("shardctl", "ls", shard, "--json", self.folder / "r.json")
        self.assertEqual(finished.stdout, "s.tar\ta.jpg\n")
        self.assertIn('"a.jpg"', (self.folder / "r.json").read_text())

    def test_names_cannot_steer_a_terminal_or_fake_a_line(self):
        shard = self.folder / "s.tar"
        write_tar(shard, [("a\n\x1b[2J\t\u009b31m.jpg", b"i")])
        finished = run("shardctl", "ls", shard)
        self.assertEqual(finished.stdout, "s.tar\ta\\x0a\\x1b[2J\\x09\\xc2\\x9b31m.jpg\n")

    def test_a_reader_that_has_enough_ends_it_quietly(self):
        shard = self.folder / "s.tar"
        write_tar(shard, [(f"{'long' * 20}/{i:06}.jpg", b"") for i in range(5_000)])
        process = subprocess.Popen([PROGRAMS / "shardctl", "ls", shard], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(process.stdout.readline().startswith(b"s.tar\t"))
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 0)

    def test_a_full_disk_is_reported(self):
        shard = self.folder / "s.tar"
        write_tar(shard, [("a.jpg", b"i")])
        with open("/dev/full", "w") as full:
            finished = subprocess.run([PROGRAMS / "shardctl", "ls", shard], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60)
        self.assert_error(finished, 5, "standard output")

    def test_memory_does_not_grow_with_the_number_of_members(self):
        def peak(members):
            """Of the process after all but the last of its lines, which then wait in the pipe."""
            shard = self.folder / f"{members}.tar"
            write_tar(shard, [(f"{i:07}.jpg", b"") for i in range(members)])
            # AddressSanitizer would keep what was freed.
            environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"}
            with subprocess.Popen([PROGRAMS / "shardctl", "ls", shard, "--quiet"], stdout=subprocess.PIPE,
                                  env=environment) as process:
                for _ in range(members - 8000):
                    process.stdout.readline()
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                process.stdout.read()
            self.assertEqual(process.returncode, 0)
            return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1))

        few, many = peak(10_000), peak(50_000)  # as rows these would take some 8 MB
        self.assertLess(many - few, 4096)

    def test_a_damaged_shard_is_listed_as_far_as_it_goes_with_a_warning(self):
        shard = self.folder / "s.tar"
        write_tar(shard, [("a.jpg", bytes(2000)), ("b.jpg", bytes(2000))])
        os.truncate(shard, 3100)
        finished = run("shardctl", "ls", shard)
        self.assertEqual(finished.returncode, 0)
        self.assertIn("a.jpg", finished.stdout)
        self.assertIn("warning", finished.stderr)


if __name__ == "__main__":
    unittest.main()
