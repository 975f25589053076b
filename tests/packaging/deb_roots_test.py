"""scripts/packaging/deb: each package installed, run and purged in a clean root of its release. Only with SHARDKIT_SOAK."""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from installed import packed  # noqa: E402
from program import CHECKOUT  # noqa: E402
from root_folder import Root, need_debootstrap  # noqa: E402

# What apt and dpkg keep for themselves, and what exists only while a command runs.
NOT_OF_PACKAGES = ("proc/", "tmp/", "var/log/", "var/cache/", "var/lib/apt/", "var/lib/dpkg/", "etc/ld.so.cache")
COMMANDS = ("shardctl synth /tmp/photos --classes 2 --per-class 5", "shardctl convert /tmp/photos /tmp/shards",
            "shardctl verify /tmp/shards --depth decode", "iobench env /tmp/shards",
            "iobench run /tmp/shards --cache warm --budget 2s")


def files_of(root):
    found = {str(path.relative_to(root.folder)) for path in root.folder.rglob("*") if not path.is_dir() or path.is_symlink()}
    return {path for path in found if not path.startswith(NOT_OF_PACKAGES)}


@unittest.skipUnless(os.environ.get("SHARDKIT_SOAK"), "SKIPPED: builds in roots of Debian, which scripts/test --soak does")
class Roots(unittest.TestCase):
    def setUp(self):
        need_debootstrap()

    def run_in(self, root, *command):
        done = root.run(*command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def check(self, suite):
        package = CHECKOUT / packed("deb", suite).splitlines()[-1].partition(":")[0]
        root = Root(self, suite)
        shutil.copy(package, root.folder / "tmp")
        before = files_of(root)

        self.run_in(root, "apt-get", "update", "-q")
        self.run_in(root, "apt-get", "install", "-q", "-y", "--no-install-recommends", f"/tmp/{package.name}")
        self.assertIn("usr/bin/shardctl", files_of(root))
        for command in COMMANDS:
            self.run_in(root, *command.split())
        self.assertEqual(self.run_in(root, "dpkg", "--verify", "shardkit"), "")

        # Else a library that another package recommends or suggests stays, as libidn2 does on Debian 13.
        self.run_in(root, "apt-get", "purge", "-q", "-y", "--autoremove", "-o", "APT::AutoRemove::RecommendsImportant=false",
                    "-o", "APT::AutoRemove::SuggestsImportant=false", "shardkit")
        self.assertEqual(files_of(root) ^ before, set())

    def test_debian_12(self):
        self.check("bookworm")

    def test_debian_13(self):
        self.check("trixie")


if __name__ == "__main__":
    unittest.main()
