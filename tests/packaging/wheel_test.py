"""scripts/packaging/wheel: what pip installs from it, runs and removes. Of the developer's build."""

import pathlib
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from installed import class_folder, install_tree, packed  # noqa: E402
from program import CHECKOUT, FolderTest, run  # noqa: E402

VERSION = run("shardctl", "--version").stdout.split()[1].replace("-", "")  # as Python spells it


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


class Wheel(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.install = install_tree(cls)
        cls.wheel = cls.make(class_folder(cls))

    @classmethod
    def make(cls, dist):
        packed("wheel", "--install", cls.install, "--dist", dist)
        (wheel,) = dist.glob("*.whl")
        return wheel

    def pip(self, venv, *arguments):
        done = subprocess.run([venv / "bin/python", "-m", "pip", "--disable-pip-version-check", *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pip_installs_runs_and_removes_it(self):
        venv = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        before = files_of(venv)
        self.pip(venv, "install", "--no-index", self.wheel)
        for program in ("shardctl", "iobench"):
            done = subprocess.run([venv / "bin" / program, "--version"], env={}, capture_output=True, text=True)
            self.assertEqual(done.stdout, run(program, "--version").stdout)
        probe = subprocess.run([venv / "bin/python", "-m", "shardkit.loader_probe", "--help"], capture_output=True, text=True, cwd=self.folder)
        self.assertIn("--num-workers", probe.stdout, probe.stderr)
        for path in ("man/man1/shardctl-convert.1", "bash-completion/completions/shardctl", "zsh/site-functions/_iobench",
                     "fish/vendor_completions.d/shardctl.fish", "doc/shardkit/docs/tutorial.md"):
            self.assertTrue((venv / "share" / path).is_file(), path)
        page = subprocess.run([venv / "bin/iobench", "run", "--help"], capture_output=True, text=True).stdout
        self.assertIn(str(venv / "share/doc/shardkit/docs"), page)
        self.pip(venv, "uninstall", "--yes", "shardkit")
        left = {path for path in files_of(venv) - before if (venv / path).is_file()}
        self.assertEqual(left, set())

    def test_its_name_and_metadata_agree(self):
        self.assertEqual(self.wheel.name, f"shardkit-{VERSION}-py3-none-manylinux_2_28_x86_64.whl")
        with zipfile.ZipFile(self.wheel) as archive:
            metadata = archive.read(f"shardkit-{VERSION}.dist-info/METADATA").decode()
            probe = archive.read("shardkit/loader_probe.py")
        self.assertIn(f"\nVersion: {VERSION}\n", metadata)
        self.assertTrue(metadata.endswith("\n\n" + (CHECKOUT / "README.md").read_text()))
        self.assertEqual(probe, (CHECKOUT / "samples/pytorch/loader_probe.py").read_bytes())

    def test_the_same_programs_give_the_same_bytes(self):
        self.assertTrue(self.make(self.folder).read_bytes() == self.wheel.read_bytes())


if __name__ == "__main__":
    unittest.main()
