"""scripts/packaging/notes, and what scripts/release says before it does anything."""

import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from installed import packed  # noqa: E402
from program import CHECKOUT, run  # noqa: E402


class Notes(unittest.TestCase):
    def test_are_the_section_of_this_version_without_links_into_the_repository(self):
        notes = packed("notes")
        version = run("shardctl", "--version").stdout.split()[1]
        changes = (CHECKOUT / "CHANGELOG.md").read_text()
        first = re.search(rf"^## {re.escape(version)}.*\n\n(.*)", changes, re.MULTILINE)[1]
        self.assertTrue(notes.startswith(first), notes[:200])
        self.assertIn("SHA256SUMS", notes)
        self.assertEqual(re.findall(r"\]\((?!https?:)", notes), [])
        self.assertNotIn("\n## ", notes)


class Arguments(unittest.TestCase):
    def test_of_release_are_checked_before_anything_is_installed(self):
        for arguments, reason in (("--arch sparc", "'sparc' is not x86_64, aarch64 or all"), ("zip", "unknown argument 'zip'")):
            done = subprocess.run([CHECKOUT / "scripts/release", *arguments.split()], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    unittest.main()
