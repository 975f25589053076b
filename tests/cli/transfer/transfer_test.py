"""`iobench transfer` as a program: what it says where there is no GPU, and bad input."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import FolderTest, result_of, run  # noqa: E402


def has_gpu():
    return run("iobench", "transfer", "--kinds", "pinned", "--bytes", "4KiB").returncode == 0


class WithoutGpu(FolderTest):
    def setUp(self):
        super().setUp()
        if has_gpu():
            self.skipTest("SKIPPED: a GPU is here")

    def test_one_line_says_what_is_missing(self):
        done = run("iobench", "transfer")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aiobench: error: no GPU is available: [^\n]+\n\Z")

    def test_the_envelope_says_it_too(self):
        (self.folder / "any").write_bytes(bytes(4096))
        done = run("iobench", "transfer", "--gds", self.folder / "any", "--json", "-")
        self.assertEqual(done.returncode, 4)
        envelope = result_of(done)
        self.assertEqual(envelope["error"]["code"], "unsupported")
        self.assertIn("no GPU is available", envelope["error"]["text"])
        self.assertIsNone(envelope["result"])

    def test_nothing_is_left_in_the_working_folder(self):
        (self.folder / "any").write_bytes(bytes(4096))
        run("iobench", "transfer", "--gds", self.folder / "any", cwd=self.folder)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["any"])

    def test_every_other_verb_does_not_ask_for_one(self):
        for verb in ("run", "read", "decode", "model"):
            self.assertEqual(run("iobench", verb, "--help").returncode, 0)


class WithGpu(FolderTest):
    def setUp(self):
        super().setUp()
        if not has_gpu():
            self.skipTest("SKIPPED: no GPU here")

    def test_copies_are_measured_and_checked(self):
        done = run("iobench", "transfer", "--bytes", "4KiB,16MiB", "--depth", "1,2", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = result_of(done)["result"]["rows"]
        self.assertEqual(len(rows), 4 * 2 * 2 * 3)
        self.assertTrue(all(row["bytes_per_second"] > 0 for row in rows))

    def test_a_file_comes_to_the_gpu(self):
        file = self.folder / "data"
        file.write_bytes(os.urandom(20 << 20))
        done = run("iobench", "transfer", "--gds", file, "--json", "-", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        transferred = result_of(done)["result"]["file"]
        self.assertEqual(transferred["rows"][0]["way"], "pread")
        self.assertTrue(transferred["missing"] or transferred["rows"][1]["way"] == "cufile")
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["data"])

    def test_a_gpu_that_is_not_there_is_exit_4(self):
        self.assert_error(run("iobench", "transfer", "--device", "4000"), 4, "there is no such GPU")


class BadInput(FolderTest):
    def test_a_slip_is_reported_before_what_the_machine_lacks(self):
        for arguments, text in (
            (("--kinds", "paged"), "--kinds: 'paged' is not one of pageable, pinned, write-combined, registered"),
            (("--bytes", "4K,x"), "--bytes: 'x' is not a size"),
            (("--depth", "9"), "--depth: '9' is not a number from 1 to 8"),
            (("--numa", "near"), "--numa"),
            (("--device", "x"), "--device: 'x' is not the number of a GPU, or all"),
            (("--bytes", "1KiB,,2"), "--bytes: '1KiB,,2' is not a list of sizes"),
            (("--kinds", "pinned,pinned"), "--kinds: 'pinned,pinned' is not a list without repetitions"),
            (("--gds", os.devnull), "--gds"),
        ):
            with self.subTest(arguments):
                self.assert_error(run("iobench", "transfer", *arguments), 2, text)

    def test_a_file_that_is_not_there_is_reported_before_what_the_machine_lacks(self):
        done = run("iobench", "transfer", "--gds", self.folder / "absent", "--json", "-")
        self.assertEqual(result_of(done)["error"]["code"], "not_found")


if __name__ == "__main__":
    unittest.main()
