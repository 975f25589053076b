"""scripts/install-deps and scripts/test where something is missing: no network, a full disk, no root, another distribution. The
first line of an error says what is missing and what still works, and the next run continues."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli/support"))
import needs  # noqa: E402

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
STILL = "scripts/test --no-install still work"


def can_mount():
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


class Install(unittest.TestCase):
    """A checkout of which only the scripts are real; commands that install and build are fakes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardkit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o777)
        self.checkout = self.folder / "checkout"
        for name in ("scripts/install-deps", "scripts/common.sh", "scripts/test", "scripts/test-requirements.txt",
                     "scripts/test-requirements-wids.txt", "scripts/test-requirements-dali.txt"):
            (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.checkout / name)
        self.executable(self.checkout / "scripts/check-tests", "exit 0\n")
        self.commands = self.folder / "commands"
        self.log = self.folder / "log"
        self.fake("dpkg-query", "exit 1\n")
        self.fake("apt-get", "exit 0\n")
        self.fake("cmake", "exit 0\n")
        self.fake("ctest", "exit 0\n")
        subprocess.run(["chmod", "-R", "a+rwX", str(self.folder)], check=True)

    def executable(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def fake(self, name, text):
        self.executable(self.commands / name, f'echo "{name} $*" >>"{self.log}"\n{text}')

    def called(self):
        return self.log.read_text() if self.log.exists() else ""

    def script(self, *command, path=None, before=()):
        """As root where this is a fake; `path` instead of PATH."""
        return subprocess.run([*before, needs.program("bash"), str(self.checkout / "scripts" / command[0]), *command[1:]],
                              capture_output=True, text=True, timeout=120, cwd=self.checkout,
                              env={"PATH": path or f"{self.commands}:{os.environ['PATH']}", "HOME": str(self.folder)})

    def assert_ends(self, done, code, *texts):
        """With this exit code, and all texts in the first line of its error."""
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        first = next(line for line in done.stderr.splitlines() if ": missing: " in line)
        for text in texts:
            self.assertIn(text, first)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, as which it would install")
    def test_without_a_network_it_says_so_and_the_next_run_continues(self):
        self.fake("apt-get", "echo \"E: Failed to fetch http://deb.debian.org/x  Temporary failure resolving 'deb.debian.org'\"\nexit 100\n")
        for script in (("install-deps", "--test"), ("test",)):
            self.assert_ends(self.script(*script), 1, "strace", "radosgw", "no network", STILL)
        self.assertNotIn("cmake --", self.called())
        self.fake("apt-get", "exit 0\n")
        self.assertEqual(self.script("install-deps", "--test").returncode, 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, as which it would install")
    def test_a_full_disk_is_exit_5(self):
        self.fake("apt-get", "echo \"E: You don't have enough free space in /var/cache/apt/archives/.\" >&2\n[ $1 != install ] || exit 100\n")
        self.assert_ends(self.script("test"), 5, "radosgw", "the disk is full", STILL)
        self.assertIn("apt-get install", self.called())

    def test_a_full_disk_of_a_build_is_exit_5(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root")
        self.fake("cmake", "[ $1 != --build ] || exec sh -c 'echo \"No space left on device\" >&2; exit 1'\n")
        full = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=1m none "{self.checkout}/scripts/../build" && exec "$@"', "sh"]
        (self.checkout / "build").mkdir()
        self.assert_ends(self.script("test", "--no-install", before=full), 5, "a complete build", "the disk is full", "What was built is kept")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_without_root_and_sudo_it_is_exit_4_and_no_install_works(self):
        path = self.tools("setpriv")
        self.assert_ends(self.script("test", before=NOBODY, path=f"{self.commands}:{path}"), 4, "radosgw", "neither root nor sudo", STILL)
        self.assertNotIn("apt-get", self.called())
        done = self.script("test", "--no-install", before=NOBODY, path=f"{self.commands}:{path}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("apt-get", self.called())
        self.assertIn("ctest --test-dir", self.called())

    def test_another_distribution_is_exit_4(self):
        for script in (("install-deps", "--test"), ("test",)):
            self.assert_ends(self.script(*script, path=self.tools()), 4, "radosgw", "not Debian", STILL)

    def tools(self, *more):
        """A folder with the few programs that these scripts start, for PATH."""
        folder = self.folder / "tools"
        folder.mkdir(exist_ok=True)
        for name in ("bash", "basename", "cat", "dirname", "df", "grep", "mktemp", "nproc", "paste", "readlink", "rm", "sed", "sh", "sort",
                     "tail", "tee", *more):
            if not (folder / name).exists():
                (folder / name).symlink_to(needs.program(name))
        folder.chmod(0o755)
        return str(folder)


if __name__ == "__main__":
    unittest.main()
