"""What the tests of files that version 0.1.0 wrote share."""

import json
import os
import pathlib
import shutil
import time

from program import CHECKOUT, FolderTest, result_of, run, tree

FIXTURES = CHECKOUT / "tests/fixtures/0.1.0"
TWO_DAYS = 2 * 24 * 3600 * 10**9


def tree_without_listed_indexes(root):
    """The tree without records of shardkit, which have newer formats, and of manifests what version 0.1.0 wrote: it did not
    list the indexes for other readers, and plans had other hashes."""
    files = {name: content for name, content in tree(root).items() if ".shardkit/" not in name}
    for path in pathlib.Path(root).rglob("manifest.json"):
        manifest = json.loads(path.read_text())
        for newer in ("files", "checksum", "plan_hash"):
            manifest.pop(newer, None)
        files[str(path.relative_to(root))] = manifest
    return files


class CompatibilityTest(FolderTest):
    """A test with a copy of the fixtures. Operands are relative to it, as they were when the fixtures were made."""

    def setUp(self):
        super().setUp()
        shutil.copytree(FIXTURES, self.folder, dirs_exist_ok=True)
        for name, facts in json.loads((FIXTURES / "files.json").read_text()).items():
            path = self.folder / name
            if "zeros" in facts:  # a large file that holds nothing else, which git need not keep
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
                os.truncate(path, facts["zeros"])
            # A program takes a temporary of another host for abandoned after a day.
            then = time.time_ns() - TWO_DAYS if path.suffix == ".tmp" else facts["mtime_ns"]
            os.utime(path, ns=(then, then))

    def program(self, name, *args):
        return run(name, *args, cwd=self.folder)

    def shardctl(self, *args, exit_code=0):
        """The result of a command that ends with this exit code."""
        finished = self.program("shardctl", *args, "--json", "-")
        self.assertEqual(finished.returncode, exit_code, finished.stdout + finished.stderr)
        return result_of(finished)["result"]

    def assert_refused(self, *args, texts=("choose an empty folder",)):
        """That a command ends with exit code 4 and says these texts, and changes no file of its target."""

        def files():  # temporaries of the dead may go
            return {name: content for name, content in tree(self.folder / args[2]).items() if not name.endswith(".tmp")}

        before = files()
        self.assert_error(self.program("shardctl", *args), 4, f"'{args[2]}'", *texts)
        self.assertEqual(files(), before)

    def assert_same(self, name, expected):
        self.assert_same_tree(name, tree_without_listed_indexes(self.folder / expected))

    def assert_same_tree(self, name, expected):
        self.assertEqual(tree_without_listed_indexes(self.folder / name), expected)
