"""The portable programs for aarch64, run by qemu: they work, and write the same shards as those of this host.

Only with SHARDKIT_SOAK.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
import needs  # noqa: E402
from installed import made_by  # noqa: E402
from program import CHECKOUT, SOAK, FolderTest, run  # noqa: E402

VERSION = run("shardctl", "--version").stdout.split()[1]

# Arguments, exit code, a part of what it prints. Each builds on those before it.
SAMPLE = (
    ("shardctl --version", 0, f"shardctl {VERSION}"),
    ("shardctl synth photos --classes 2 --per-class 10", 0, "20 images"),
    ("shardctl plan photos -o plan --samples 10", 0, ""),
    ("shardctl convert photos shards --plan plan", 0, "2 shards"),
    ("shardctl verify shards --depth decode", 0, "sound"),
    ("shardctl verify shards --depth checksum", 0, "sound"),
    ("shardctl stat shards", 0, "20"),
    ("shardctl ls shards", 0, ".jpg"),
    ("shardctl reshard shards mixed --shuffle 7", 0, "20 samples"),
    ("shardctl index shards --wids", 0, ""),
    ("shardctl extract shards extracted", 0, ""),
    ("shardctl stage shards staged", 0, ""),
    ("shardctl verify absent", 4, "absent"),
    ("shardctl verify --no-such-option", 2, "--no-such-option"),
    ("shardctl convert --help", 0, "More:"),
    ("iobench --version", 0, f"iobench {VERSION}"),
    ("iobench model --preset resnet50-h100", 0, ""),
    ("iobench env shards", 0, ""),
    ("iobench read shards --cache warm --engine pread --budget 1s", 0, ""),
    ("iobench decode shards --min-time 1s", 0, ""),
)


def hashes(folder):
    """{file: SHA-256} of the shards and indexes; a manifest also has the times of its commands."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in (".tar", ".idx", ".jpg")}


@unittest.skipUnless(SOAK, "SKIPPED: builds the programs for aarch64, which scripts/test --soak does")
class Aarch64(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made_by("release", "wheel", "--arch", "aarch64")
        needs.program("qemu-aarch64-static")

    def setUp(self):
        super().setUp()
        self.programs = self.folder / "programs"
        made_by("packaging/emulated", self.programs)

    def emulated(self, command, code=0):
        program, *arguments = command.split()
        done = subprocess.run([self.programs / program, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def here(self, command):
        program, *arguments = command.split()
        done = run(program, *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")

    def test_a_sample_of_verbs_works(self):
        for command, code, text in SAMPLE:
            with self.subTest(command):
                self.assertIn(text, self.emulated(command, code))

    def test_shards_are_the_same_byte_for_byte(self):
        self.here("shardctl synth photos --classes 3 --per-class 8")
        for name, command in (("shards", "convert photos {} --shuffle 5"), ("mixed", "reshard shards-x86 {} --shuffle 3"),
                              ("small", "convert photos {} --resize 64")):
            with self.subTest(name):
                self.here("shardctl " + command.format(name + "-x86"))
                self.emulated("shardctl " + command.format(name + "-arm"))
                self.assertEqual(hashes(self.folder / (name + "-arm")), hashes(self.folder / (name + "-x86")))
        self.emulated("shardctl verify shards-x86 --depth checksum")
        self.here("shardctl verify shards-arm --depth checksum")

    def test_the_debian_package_has_the_same_programs(self):
        made_by("packaging/deb", SHARDKIT_ARCH="aarch64")
        (package,) = (CHECKOUT / "dist").glob(f"shardkit_{VERSION.replace('-', '~')}-1_arm64.deb")
        subprocess.run(["dpkg-deb", "--extract", package, self.folder / "tree"], check=True)
        for name in ("shardctl", "iobench"):
            self.assertEqual((self.folder / "tree/usr/bin" / name).read_bytes(),
                             (CHECKOUT / "build/portable-aarch64/install/bin" / name).read_bytes())
        self.assertTrue(list((self.folder / "tree/usr/share/doc/shardkit/licenses").iterdir()))


if __name__ == "__main__":
    unittest.main()
