"""What Kubernetes sees of a command that fails: its termination message."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import PROGRAMS, FolderTest, can_mount  # noqa: E402


class TerminationMessage(FolderTest):
    def reason_after(self, *command):
        """What stands in /dev/termination-log after the command, in a mount namespace where there is such a file."""
        script = f"""set -e
            mount -t tmpfs none /dev
            : > /dev/termination-log
            {' '.join(map(str, command))} > /dev/output 2>&1 || true
            cat /dev/termination-log"""
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout

    def test_an_error_is_left_where_kubernetes_reads_it(self):
        if not can_mount():
            self.skipTest("needs the right to mount")
        absent = self.folder / "absent"
        reason = self.reason_after(PROGRAMS / "shardctl", "stage", absent, self.folder / "out")
        self.assertTrue(reason.startswith("shardctl: error: "), reason)
        self.assertIn(str(absent), reason)
        self.assertTrue(reason.endswith("\nshardctl: run the same command again to continue\n"), reason)
        self.assertEqual(self.reason_after(PROGRAMS / "iobench", "model", "--list-presets"), "")


if __name__ == "__main__":
    unittest.main()
