"""Verbs that fail: one error on standard error, and one envelope that holds it, in a file or on standard output.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/failures_test.py
"""

import json
import pathlib
import resource
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import PROGRAMS, FolderTest, run  # noqa: E402


class Failures(FolderTest):
    def commands(self):
        absent = self.folder / "absent"
        raw = self.folder / "raw.bin"
        raw.write_bytes(b"x" * 100)
        return [
            (4, "run", absent), (2, "run", raw, "--gpus", 8), (2, "run", raw, "--no-such-option"),
            (4, "env", absent), (2, "env", "--batch", 8),
            (4, "watch", absent), (2, "watch", "--interval", "1ms"),
            (4, "read", absent), (2, "read", raw, "--threads", 0), (2, "read", raw, "--engine", "posixaio"),
            (2, "read", absent, "--engine", "posixaio"), (4, "read", raw, "--engine", "mmap", "--direct"),
            (4, "decode", absent), (2, "decode", raw, "--crop", 0),
            (4, "pipeline", absent), (2, "pipeline", raw, "--batch", 0),
            (4, "checkpoint", absent), (2, "checkpoint", self.folder, "--bytes", 1000),
            (4, "sweep", absent),
            (2, "model"), (4, "model", "--from", absent),
            (4, "compare", absent, absent), (2, "compare", raw),
            (2, "transfer", "--bytes", "many"),
        ]

    def check(self, finished, exit_code, envelope):
        self.assertEqual(finished.returncode, exit_code, finished.stderr)
        errors = [line for line in finished.stderr.splitlines() if "error: " in line]
        self.assertEqual(len(errors), 1, finished.stderr)
        envelope = json.loads(envelope)
        self.assertEqual((envelope["status"], envelope["exit_code"]), ("failed", exit_code))
        self.assertIn(envelope["error"]["text"], errors[0])
        self.assertIsNone(envelope["result"])

    def test_each_is_reported_once_and_its_envelope_is_written_once(self):
        for exit_code, *command in self.commands():
            with self.subTest(" ".join(map(str, command))):
                file = self.folder / "out.json"
                finished = run("iobench", *command, "--json", file)
                self.assertEqual(finished.stdout, "")
                self.check(finished, exit_code, file.read_text())
                file.unlink()
                finished = run("iobench", *command, "--json", "-")
                self.check(finished, exit_code, finished.stdout)

    def test_a_file_that_cannot_be_written_is_reported_once_too(self):
        for file, exit_code in ((self.folder / "none/out.json", 4), (self.folder, 2)):
            with self.subTest(file):
                finished = run("iobench", "model", "--preset", "resnet50-h100", "--json", file)
                self.assert_error(finished, exit_code, "--json", file)
                self.assertEqual(finished.stderr.count("error: "), 1, finished.stderr)

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "SKIPPED: needs /dev/full")
    def test_a_device_that_takes_nothing_is_named(self):
        finished = run("iobench", "model", "--preset", "resnet50-h100", "--json", "/dev/full")
        self.assert_error(finished, 5, "/dev/full")


class LittleMemory(FolderTest):
    """Whatever allocation fails, in whichever thread: the exit code is 5, and one line says why."""

    LIMITS = (90 << 20, 140 << 20, 220 << 20, 450 << 20)

    def commands(self):
        run("shardctl", "synth", self.folder / "photos", "--classes", 2, "--per-class", 20, check=True)
        run("shardctl", "convert", self.folder / "photos", self.folder / "set", "--samples", 10, check=True)
        photos, shards = self.folder / "photos", self.folder / "set"
        for verb in ("ls", "stat", "verify", "parts"):
            yield "shardctl", verb, shards
        for verb, source in (("stage", shards), ("convert", photos), ("reshard", shards), ("extract", shards)):
            yield "shardctl", verb, source, self.folder / "out"
        yield "shardctl", "plan", photos, "-o", self.folder / "out"
        yield "shardctl", "cache", "check", self.folder
        yield "iobench", "read", shards
        yield "iobench", "decode", shards, "--min-time", "10ms"
        yield "iobench", "pipeline", shards, "--batch", 4

    def test_each_verb_ends_with_5_if_it_does_not_fit(self):
        if b"__asan_init" in (PROGRAMS / "shardctl").read_bytes() or b"__tsan_init" in (PROGRAMS / "shardctl").read_bytes():
            self.skipTest("SKIPPED: a sanitizer reserves more memory than these limits")
        codes = set()
        for command in self.commands():
            for limit in self.LIMITS:
                with self.subTest(command=" ".join(map(str, command)), limit=limit):
                    shutil.rmtree(self.folder / "out", ignore_errors=True)
                    (self.folder / "out").unlink(missing_ok=True)
                    finished = run(*command, preexec_fn=lambda most=limit: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
                    codes.add(finished.returncode)
                    if finished.returncode == 127:  # it could not even be loaded
                        continue
                    self.assertIn(finished.returncode, (0, 5), finished.stderr)
                    errors = finished.stderr.count("error: ")
                    self.assertEqual(errors, 1 if finished.returncode else 0, finished.stderr)
        self.assertIn(5, codes)


if __name__ == "__main__":
    unittest.main()
