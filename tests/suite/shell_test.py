"""Every shell script of the repository is free of what shellcheck finds."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def shell_scripts():
    """Tracked and new files that start as a shell script."""
    names = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    for path in (ROOT / name for name in names):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                start = file.read(60)
            if path.suffix == ".sh" or re.match(rb"#!.*\b(ba)?sh\b", start):
                yield path


def for_the_shell(text):
    """The text; of a script that Python reads too, only what the shell reads before it starts Python."""
    return text.split("\n'''\n")[0].replace("''':'\n", "\n") if "\n''':'\n" in text else text


class Shell(unittest.TestCase):
    def findings(self, path, text):
        return subprocess.run(["shellcheck", "-"], input=text, capture_output=True, text=True, cwd=path.parent).stdout

    def test_scripts_are_free_of_what_shellcheck_finds(self):
        scripts = list(shell_scripts())
        self.assertLessEqual({".ci/run", "scripts/test", "scripts/common.sh", "scripts/check-gpu", "samples/slurm/stage.sbatch"},
                             {str(path.relative_to(ROOT)) for path in scripts})
        for path in scripts:
            with self.subTest(path.relative_to(ROOT)):
                self.assertEqual(self.findings(path, for_the_shell(path.read_text())), "")

    def test_a_fault_is_found(self):
        self.assertIn("SC2086", self.findings(ROOT / "scripts/x", "#!/bin/sh\nrm $1\n"))


if __name__ == "__main__":
    unittest.main()
