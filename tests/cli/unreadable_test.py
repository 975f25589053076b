"""Files and folders that the user may not read: every verb says so in words of its own, and none fails in another way.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/unreadable_test.py
"""

import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FolderTest, run  # noqa: E402

OTHER = 65534  # a user who is not root
PREFIX = "s3://bucket/prefix"
COMMANDS = {
    "shardctl": (
        "synth photos", "plan photos -o file.plan", "convert photos out", "convert photos shards", "parts shards", "merge shards",
        "verify shards", "verify photos", "verify shards --against photos", "reshard shards out", "index shards", "stat shards",
        "ls shards", "cat shards key", "extract shards out", "stage shards out", "stage shards cache/new --cache cache",
        "stage shards cache/set", f"upload shards {PREFIX} --endpoint-url http://127.0.0.1:1 --retries 0",
        "cache ls cache", "cache warm cache", "cache gc cache --limit 0", "cache check cache", "cache hold cache/set",
        "cache release cache/set --all", "cache rm cache/set"),
    "iobench": (
        "run shards --budget 1s", "env shards", "read shards --budget 1s", "decode photos --min-time 0.1s", "transfer",
        "pipeline photos --budget 1s", "checkpoint cache --bytes 1MiB --repeat 1", "sweep photos --budget 10s",
        "model --from result.json", "watch shards --count 1 --interval 100ms", "compare result.json result.json",
        "compare result.json --gate result.json", "aggregate result.json", "report result.json -o page.html"),
}
# What is closed, below the folder in which the commands run. In `linked`, the same files are links into a closed folder.
CLOSED = {
    "top": ("photos", "shards", "cache", "result.json"),
    "inner": ("photos/*", "shards/*", "cache/set"),
    "innermost": ("photos/*/*", "shards/.shardkit", "cache/set/*", "cache/set/.shardkit"),
    "itself": (".",),
    "linked": ("photos/..",),
}
NEVER = ("filesystem error", "internal error", "std::", "terminate", "what()", "is empty", "does not exist", "overwrite the other")


class Unreadable(FolderTest):
    def make(self, name):
        """The folder of a row, which belongs to the other user, before anything in it is closed."""
        root = self.folder / name
        shutil.copytree(self.folder / "open", root / "data" if name == "linked" else root)
        for path in (root, *root.rglob("*")):
            if os.getuid() == 0:
                os.chown(path, OTHER, OTHER)
        if name == "linked":
            for path in (root / "data").iterdir():
                (root / path.name).symlink_to(path.relative_to(root))
        return root

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        source = self.make_tree("open/photos", classes=2, per_class=4)
        run("shardctl", "convert", source, self.folder / "open/shards", "--samples", 4, check=True)
        run("shardctl", "stage", self.folder / "open/shards", self.folder / "open/cache/set", "--lease", 0, check=True)
        run("iobench", "model", "--preset", "resnet50-h100", "--json", self.folder / "open/result.json", check=True)
        self.other = {"user": OTHER, "group": OTHER, "extra_groups": []} if os.getuid() == 0 else {}

    def test_every_verb_ends_with_an_error_in_words(self):
        for name, patterns in CLOSED.items():
            if name == "itself" and not self.other:
                continue  # a closed folder is entered only by root
            root = self.make(name)
            closed = [path for pattern in patterns for path in ([root] if pattern == "." else root.glob(pattern))]
            self.assertTrue(closed)
            for path in closed:
                path.chmod(0)
            for program, commands in COMMANDS.items():
                for command in commands:
                    with self.subTest(f"{name}: {program} {command}"):
                        done = run(program, *command.split(), cwd=root, **self.other)
                        self.assertIn(done.returncode, (0, 2, 3, 4), done.stderr)
                        for words in NEVER:
                            self.assertNotIn(words, done.stdout + done.stderr)
                        self.assertLessEqual(done.stderr.count("error: "), 1, done.stderr)
            for path in closed:
                path.chmod(0o755)

    def test_the_commands_are_those_of_every_verb(self):
        for program, commands in COMMANDS.items():
            with self.subTest(program):
                verbs = re.findall(r"^  ((?:cache )?[a-z]+) {2,}\S", run(program, "--help").stdout.split("\nOptions:")[0], re.M)
                self.assertGreater(len(verbs), 10)
                missing = [verb for verb in verbs if not any(f"{command} ".startswith(verb + " ") for command in commands)]
                self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
