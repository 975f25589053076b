"""`iobench checkpoint` as a program: a full disk, a stop, and what it leaves behind."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, result_of, run, strace, wait_until  # noqa: E402


class Checkpoint(FolderTest):
    def checkpoint(self, *args):
        return run("iobench", "checkpoint", self.folder, *args)

    def leftovers(self):
        return list(self.folder.iterdir())

    def test_the_envelope_holds_both_modes_and_the_folder_is_empty_again(self):
        done = self.checkpoint("--bytes", "2MiB", "--threads", 2, "--recheck", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = result_of(done)["result"]
        self.assertEqual([row["mode"] for row in result["rows"]], ["sync", "background"])
        self.assertEqual(result["read_back"][0]["bytes"], 2 << 20)
        self.assertEqual(self.leftovers(), [])

    def test_checkpoints_that_pile_up_are_a_finding(self):
        done = self.checkpoint("--bytes", "2MiB", "--step-time", "0.000001", "--checkpoint-every", 1)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("checkpoints cannot keep up", done.stdout)

    def test_a_signal_ends_it_and_leaves_nothing(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(code=code):
                self.stop_by(number, code)

    def stop_by(self, number, code):
        running = subprocess.Popen([str(PROGRAMS / "iobench"), "checkpoint", str(self.folder), "--bytes", "64MiB",
                                    "--repeat", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: list(self.folder.glob(".shardkit-checkpoint-*/*")), running)
        running.send_signal(number)
        self.assertEqual(running.wait(timeout=60), code)
        self.assertEqual(self.leftovers(), [])

    def on_small_disk(self, size, *args):
        """Runs with a file system of that size at self.folder / "small"; standard output is what is left there."""
        small = self.folder / "small"
        small.mkdir(exist_ok=True)
        script = f'mount -t tmpfs -o size={size} none "{small}" || exit 99; "$@" >&2; code=$?; ls -A "{small}"; exit $code'
        command = ["unshare", "-m", "sh", "-c", script, "sh", PROGRAMS / "iobench", "checkpoint", *args]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 99:
            self.skipTest("SKIPPED: no file system can be mounted here")
        self.assertEqual(done.stdout, "")
        return done

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_disk_that_fills_is_exit_5_and_leaves_nothing(self):
        small = self.folder / "small"
        done = self.on_small_disk("8m", small, "--bytes", "64MiB", "--budget", "60s", "--mode", "sync")
        self.assert_error(done, 5, f"no space left in '{small}'", "use --bytes to make it smaller")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_full_drain_target_is_named_as_the_user_named_it(self):
        small = self.folder / "small"
        done = self.on_small_disk("1m", self.folder, "--bytes", "2MiB", "--drain-to", small)
        self.assert_error(done, 5, f"'{small}' has", "use --bytes to make it smaller")
        self.assertNotIn(".shardkit-checkpoint", done.stderr)

    def test_a_disk_that_fails_at_fsync_is_reported_with_its_path(self):
        failing = strace("-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1")
        command = [*failing, PROGRAMS / "iobench", "checkpoint", self.folder, "--bytes", "1MiB", "--mode", "sync"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot sync", done.stderr)
        self.assertEqual(self.leftovers(), [])


if __name__ == "__main__":
    unittest.main()
