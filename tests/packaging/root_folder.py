"""A copy of a root folder of Debian, in which commands run as in a container."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
import needs  # noqa: E402
from program import CHECKOUT  # noqa: E402


def need_debootstrap():
    needs.program("debootstrap")
    if os.geteuid() != 0:
        raise unittest.SkipTest("SKIPPED: needs root")


class Root:
    def __init__(self, test, suite=None):
        """Without a suite it is empty. It goes with the test."""
        folder = CHECKOUT / "build/roots"
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-test-", dir=folder))
        test.addCleanup(shutil.rmtree, self.folder)
        if suite:
            clean = subprocess.run([CHECKOUT / "scripts/packaging/debian-root", suite], capture_output=True, text=True, check=True)
            subprocess.run(["cp", "-a", f"{clean.stdout.strip()}/.", self.folder], check=True)
        self.folder.chmod(0o755)

    def run(self, *command, user=0):
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", f"--root={self.folder}", "--mount-proc=/proc",
                               f"--setuid={user}", f"--setgid={user}", *command],
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/tmp"},
                              capture_output=True, text=True, timeout=900)
