"""scripts/packaging/tarball: what it packs runs where it is unpacked. Of the developer's build."""

import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from installed import class_folder, install_tree, packed  # noqa: E402
from program import FolderTest, run  # noqa: E402


class Tarball(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.install = install_tree(cls)
        work = class_folder(cls)
        cls.static = work / "static"
        (cls.static / "bin").mkdir(parents=True)
        (cls.static / "licenses").mkdir()
        (cls.static / "licenses/libc6").write_text("a license")
        shutil.copy(cls.install / "bin/shardctl", cls.static / "bin")
        cls.archive = cls.make(work / "dist")
        with tarfile.open(cls.archive) as tar:
            cls.names = tar.getnames()
            tar.extractall(work)
        cls.root = work / "some where else"
        shutil.move(work / cls.names[0], cls.root)

    @classmethod
    def make(cls, dist):
        packed("tarball", "--fast", "--install", cls.install, "--static", cls.static, "--dist", dist)
        (archive,) = dist.iterdir()
        return archive

    def run_here(self, program, *arguments):
        return subprocess.run([self.root / program, *map(str, arguments)], env={"PATH": "/nonexistent"}, cwd=self.folder,
                              capture_output=True, text=True, timeout=120)

    def test_its_programs_run_without_settings_of_the_host(self):
        version = run("shardctl", "--version").stdout
        self.assertEqual(self.archive.name, f"shardkit-{version.split()[1]}-x86_64.tar.gz")
        self.assertEqual(self.run_here("bin/shardctl", "--version").stdout, version)
        self.assertEqual(self.run_here("static/shardctl", "--version").stdout, version)
        self.assertEqual(self.run_here("bin/iobench", "--version").stdout, run("iobench", "--version").stdout)

    def test_it_has_manuals_completion_documents_and_licenses(self):
        names = {name.partition("/")[2] for name in self.names}
        for wanted in ("share/man/man1/shardctl-convert.1", "share/bash-completion/completions/iobench",
                       "share/doc/shardkit/LICENSE", "share/doc/shardkit/licenses/libc6",
                       "share/doc/shardkit/docs/schema/gate.json", "share/doc/shardkit/samples/slurm/prolog.sh"):
            self.assertIn(wanted, names)

    def test_help_names_the_page_in_it(self):
        for program, *verb in (("bin/iobench", "run"), ("static/shardctl", "convert")):
            (page,) = re.findall(r"^More: (.+)$", self.run_here(program, *verb, "--help").stdout, re.M)
            self.assertTrue(pathlib.Path(page).is_relative_to(self.root), page)
            self.assertTrue(pathlib.Path(page).exists(), page)

    def test_check_gpu_finds_the_programs_beside_itself(self):
        done = subprocess.run([sys.executable, self.root / "bin/check-gpu"], env={}, cwd=self.folder, capture_output=True,
                              text=True, timeout=120)
        if done.returncode != 4:
            self.skipTest("SKIPPED: a GPU is here")
        self.assertIn("no GPU is available", done.stderr)

    def test_the_same_programs_give_the_same_bytes(self):
        self.assertTrue(self.make(self.folder / "again").read_bytes() == self.archive.read_bytes())


if __name__ == "__main__":
    unittest.main()
