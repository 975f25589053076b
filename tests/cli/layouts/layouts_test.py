"""The table of layouts.py: what convert says to each tree, and what it writes; of a refusal, what its first command writes.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/layouts/layouts_test.py
    ... --print    prints the table as it is now
"""

import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from program import PROGRAMS, FolderTest, fake_jpeg, fake_png, run  # noqa: E402
from layouts import LAYOUTS  # noqa: E402


def content(path, size):
    text = path.encode() * (size // len(path) + 1)
    maker = {".jpg": fake_jpeg, ".jpeg": fake_jpeg, ".png": fake_png}.get(pathlib.PurePath(path).suffix.lower())
    return maker(text[:size]) if maker else text[:size]


def write(root, files):
    for path, size in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if size is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(size.encode() if isinstance(size, str) else content(path, size))


def written(target):
    """'SET: CLASS N, ... (FIELDS)' for each set: the fields of all its samples, '?' behind those that some lack."""
    texts = []
    for manifest in sorted(target.rglob("manifest.json")):
        listed = json.loads(manifest.read_text())
        fields = collections.defaultdict(set)
        for shard in manifest.parent.glob("*.tar"):
            with tarfile.open(shard) as tar:
                for name in tar.getnames():
                    folder, _, file = name.rpartition("/")
                    key, _, field = file.partition(".")
                    fields[folder, key].add(field)
        kinds = sorted(set().union(*fields.values()))
        shown = " ".join(kind + ("" if all(kind in sample for sample in fields.values()) else "?") for kind in kinds)
        names = ", ".join(f"{one['name']} {one['samples']}" for one in listed.get("classes", ()))
        start = manifest.parent.relative_to(target).as_posix()
        texts.append(f"{'' if start == '.' else start + ': '}{names or listed['samples']} ({shown})")
    return "; ".join(texts)


def structural(stderr):
    """The warnings about the structure of a tree, one line each."""
    lines = re.findall(r"warning: (.*)", stderr)
    words = ("They are converted as", "left out", "lacks", "all samples get one label", "go into one set", "ignored")
    return [line for line in lines if any(word in line for word in words)]


class Layouts(FolderTest):
    def converted(self, layout, folder):
        source = folder / "src"
        write(source, layout.files)
        finished = subprocess.run([PROGRAMS.resolve() / "shardctl", "convert", "src", "DST", *layout.options], cwd=folder,
                                  capture_output=True, text=True, timeout=120)
        stderr = " ".join(finished.stderr.split("\n"))
        if finished.returncode == 0:
            return finished, "; ".join(structural(finished.stderr)), written(folder / "DST")
        self.assertEqual(finished.returncode, 2, f"{layout.name}: {finished.stderr}")
        self.assertFalse((folder / "DST").exists(), layout.name)
        said = stderr.split("error: ")[1].split("run 'shardctl")[0].strip()
        command = next((one for one in re.findall(r"`([^`]+)`", said) if one.startswith("shardctl convert")), None)
        if command is None or "FILE" in command or "classes.txt" in command:
            return finished, said, ""
        path = f"{PROGRAMS.resolve()}:{os.environ['PATH']}"
        followed = subprocess.run(["sh", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True,
                                  text=True, timeout=120)
        self.assertEqual(followed.returncode, 0, f"{layout.name}: {command}\n{followed.stderr}")
        return finished, said, written(folder / "DST")

    def test_each_layout_is_understood_or_refused_with_what_was_seen(self):
        for layout in LAYOUTS:
            with self.subTest(layout.name), tempfile.TemporaryDirectory(dir=self.folder) as folder:
                finished, said, result = self.converted(layout, pathlib.Path(folder))
                refused = layout.says and not layout.says.startswith("warns:")
                self.assertEqual(finished.returncode, 2 if refused else 0, said)
                self.assertEqual(result, layout.written)
                self.assertIn(layout.says.removeprefix("warns: "), said)
                if not layout.says:
                    self.assertEqual(said, "")

    def test_the_table_is_long_enough(self):
        self.assertGreater(len(LAYOUTS), 60)
        self.assertEqual(len({layout.name for layout in LAYOUTS}), len(LAYOUTS))


def plain_tree(chance):
    """An ImageFolder of 2 to 1,000 classes: numbered, named or random files, of one or several types and of any sizes."""
    count = chance.choice((2, 2, 2, 3, 5, 10, 30, 100, 300, 1000))
    kind = chance.choice(("numbers", "wide", "camera", "class", "hash", "words", "views"))
    types = chance.choice((["jpg"], ["png"], ["JPEG"], ["jpg", "png"], ["jpg", "jpeg", "JPG"]))
    equal = chance.random() < 0.5
    most = max(2, min(60, 3000 // count))
    below = chance.choice(("", "", "", "images/", "part/"))
    files = {}
    for number in range(count):
        name = chance.choice((f"class_{number}", f"{number}", f"n{number * 7919 + 10000:08}", f"{'abcdefgh'[number % 8]}x{number}"))
        size = chance.randrange(2_000, 120_000)
        for file in range(1, (most if equal else chance.randrange(2, most + 1)) + 1):
            stem = {"numbers": f"{file}", "wide": f"img_{file:05}", "camera": f"IMG_{file * 3 + 2000}", "class": f"{name}_{file}",
                    "hash": f"{chance.getrandbits(64):016x}", "words": f"{chance.choice('abcdefgh')}{file} {chance.choice('xyz')}",
                    "views": f"view_{file}"}[kind]
            files[f"{name}/{below}{stem}.{chance.choice(types)}"] = int(size * chance.uniform(0.5, 1.5))
    return files


class PlainTrees(FolderTest):
    def test_no_plain_image_folder_is_refused(self):
        chance = random.Random(62)
        refused = []
        count = 400 if os.environ.get("SHARDKIT_SOAK") else 25
        for number in range(count):
            source = self.folder / f"src{number}"
            for path, size in plain_tree(chance).items():
                (source / path).parent.mkdir(parents=True, exist_ok=True)
                with open(source / path, "wb") as file:
                    file.truncate(size)  # sparse: plan does not read it
            finished = run("shardctl", "plan", source, "-o", self.folder / f"plan{number}")
            if finished.returncode != 0:
                refused.append((number, finished.stderr))
        self.assertEqual(refused, [])


if __name__ == "__main__":
    if "--print" in sys.argv:
        test = Layouts()
        for row in LAYOUTS:
            with tempfile.TemporaryDirectory() as place:
                try:
                    done, said, result = test.converted(row, pathlib.Path(place))
                    print(f"{row.name}\n  {done.returncode} {said}\n  -> {result}\n")
                except AssertionError as error:
                    print(f"{row.name}\n  FAILED {error}\n")
    else:
        unittest.main()
