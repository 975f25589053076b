"""What the tests of files that version 1.0 wrote share."""

import json
import os
import pathlib
import shutil
import time

from program import CHECKOUT, FolderTest, result_of, run, tree

FIXTURES = CHECKOUT / "tests/fixtures/1.0"
TWO_DAYS = 2 * 24 * 3600 * 10**9


def copy_fixtures(folder):
    """Copies the fixtures as they were when they were made, with the times of all files."""
    shutil.copytree(FIXTURES, folder, dirs_exist_ok=True)
    for name, facts in json.loads((FIXTURES / "files.json").read_text()).items():
        path = folder / name
        if "zeros" in facts:  # a large file that holds nothing else, which git need not keep
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            os.truncate(path, facts["zeros"])
        # A program takes a temporary of another host for abandoned after a day.
        then = time.time_ns() - TWO_DAYS if path.suffix == ".tmp" else facts["mtime_ns"]
        os.utime(path, ns=(then, then))


class CompatibilityTest(FolderTest):
    """A test with a copy of the fixtures. Operands are relative to it, as they were when the fixtures were made."""

    def setUp(self):
        super().setUp()
        copy_fixtures(self.folder)

    def program(self, name, *args):
        return run(name, *args, cwd=self.folder)

    def shardctl(self, *args, exit_code=0):
        """The result of a command that ends with this exit code."""
        finished = self.program("shardctl", *args, "--json", "-")
        self.assertEqual(finished.returncode, exit_code, finished.stdout + finished.stderr)
        return result_of(finished)["result"]

    def assert_refused(self, *args, texts=("choose an empty folder",)):
        """That a command ends with exit code 4 and says these texts, and changes no file of its target."""

        def files():  # what the dead were writing may go
            return {name: content for name, content in tree(self.folder / args[2]).items() if not name.endswith((".tmp", ".run"))}

        before = files()
        self.assert_error(self.program("shardctl", *args), 4, f"'{args[2]}'", *texts)
        self.assertEqual(files(), before)

    def assert_recognized(self, staged):
        """That a stage took the files that are there: in this copy they have other inodes, so it reads them. It may write
        the manifest again."""
        self.assertLess(staged["bytes_fetched"], 2000)
        self.assertGreater(staged["bytes_reused"], 2000)

    def assert_same(self, name, expected):
        self.assertEqual(tree(self.folder / name), tree(self.folder / expected))
