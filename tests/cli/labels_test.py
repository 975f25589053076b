"""Labels up to 2^63-1 through every verb, byte for byte; larger and negative ones are refused, saying where.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/labels_test.py
"""

import json
import pathlib
import shutil
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FolderTest, result_of, run, tree  # noqa: E402

LABELS = [0, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1]
TOO_LARGE = [2**63, 2**64 - 1, 2**64, 10**30]


class LabelTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.source = self.make_tree("pool", classes=1, per_class=4 * len(LABELS))
        self.images = sorted(path.name for path in (self.source / "class_0").iterdir())
        self.expected = {image: LABELS[number % len(LABELS)] for number, image in enumerate(self.images)}

    def shardctl(self, *args):
        finished = run("shardctl", *args, "--json", "-", cwd=self.folder)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]

    def refused(self, *args):
        finished = run("shardctl", *args, cwd=self.folder)
        self.assertEqual(finished.returncode, 4, finished.stderr)
        return finished.stderr

    def write_list(self, labels, name="list.csv"):
        rows = "".join(f"class_0/{image},{label}\n" for image, label in labels.items())
        (self.folder / name).write_text("path,label\n" + rows)
        return ("--list", name, "--label-column", "label")

    def labels_in(self, folder):
        """By image, from the bytes of the .cls members."""
        found = {}
        for shard in (self.folder / folder).glob("*.tar"):
            with tarfile.open(shard) as tar:
                for member in tar.getmembers():
                    if member.name.endswith(".cls"):
                        name = pathlib.PurePath(member.name).name.replace(".cls", ".jpg")
                        found[name] = int(tar.extractfile(member).read())
        return found

    def assert_labels(self, folder, expected):
        self.assertEqual(self.labels_in(folder), expected)
        samples = {label: list(expected.values()).count(label) for label in set(expected.values())}
        classes = self.shardctl("stat", folder)["classes"]
        self.assertEqual({one["label"]: one["samples"] for one in classes}, samples)
        rows = self.shardctl("ls", folder)["rows"]
        listed = {pathlib.PurePath(row["key"]).name + ".jpg": row["label"] for row in rows}
        self.assertEqual(listed, expected)
        verified = self.shardctl("verify", folder)
        self.assertEqual((verified["errors"], verified["classes"]["largest_label"]), (0, max(expected.values())))


class Verbs(LabelTest):
    def setUp(self):
        super().setUp()
        self.shardctl("convert", self.source, "set", *self.write_list(self.expected), "--samples", "10")

    def test_convert_from_a_list(self):
        self.assert_labels("set", self.expected)
        manifest = json.loads((self.folder / "set/manifest.json").read_text())
        self.assertEqual([one["label"] for one in manifest["classes"]], LABELS)
        self.assertEqual(self.shardctl("verify", "set", "--against", self.source, "--list", "list.csv",
                                       "--label-column", "label")["errors"], 0)

    def test_convert_with_a_class_map(self):
        names = {label: f"class {label}" for label in LABELS}
        (self.folder / "map.json").write_text(json.dumps({name: label for label, name in names.items()}))
        options = self.write_list({image: names[label] for image, label in self.expected.items()}, "names.csv")
        self.shardctl("convert", self.source, "mapped", *options, "--class-map", "map.json", "--samples", "7")
        self.assert_labels("mapped", self.expected)

    def test_convert_from_json_lines(self):
        rows = [json.dumps({"path": f"class_0/{image}", "label": label}) for image, label in self.expected.items()]
        (self.folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
        self.shardctl("convert", self.source, "lines", "--list", "rows.jsonl", "--label-column", "label")
        self.assert_labels("lines", self.expected)

    def test_plan_and_parts(self):
        self.shardctl("plan", self.source, "-o", "plan", *self.write_list(self.expected), "--samples", "5")
        for part in ("0/2", "1/2"):
            self.shardctl("convert", self.source, "parts", "--plan", "plan", "--part", part)
        self.shardctl("merge", "parts")
        self.assert_labels("parts", self.expected)

    def test_index_of_shards_without_one(self):
        shutil.rmtree(self.folder / "set/.shardkit")
        (self.folder / "set/manifest.json").unlink()
        self.assert_labels("set", self.expected)
        self.shardctl("index", "set")
        self.assert_labels("set", self.expected)

    def test_reshard_keeps_chooses_and_divides_them(self):
        self.shardctl("reshard", "set", "mixed", "--shuffle", "3", "--samples", "9")
        self.assert_labels("mixed", self.expected)
        manifest = json.loads((self.folder / "mixed/manifest.json").read_text())
        self.assertEqual([one["label"] for one in manifest["classes"]], LABELS)
        for label in LABELS:
            self.shardctl("reshard", "set", f"only-{label}", "--class", label)
            chosen = {image: one for image, one in self.expected.items() if one == label}
            self.assertEqual(self.labels_in(f"only-{label}"), chosen)
        self.shardctl("reshard", "set", "sets", "--split", "train=0.5,val=0.5")
        train, val = self.labels_in("sets/train"), self.labels_in("sets/val")
        self.assertEqual({**train, **val}, self.expected)
        self.assertEqual(set(train.values()), set(LABELS), "each class has a sample in the first set")

    def test_cat_stage_and_extract(self):
        row = next(row for row in self.shardctl("ls", "set")["rows"]
                   if row["label"] == 2**63 - 1 and row["name"].endswith(".cls"))
        content = run("shardctl", "cat", "set", row["name"], cwd=self.folder)
        self.assertEqual((content.returncode, content.stdout), (0, str(2**63 - 1)), content.stderr)
        self.shardctl("stage", "set", "copy")
        self.assert_labels("copy", self.expected)
        self.shardctl("extract", "set", "tree")
        extracted = {name: content for name, content in tree(self.folder / "tree").items() if not name.startswith(".")}
        self.assertEqual(extracted, tree(self.source))

    def test_extract_names_folders_by_label_where_nothing_else_is_known(self):
        shutil.rmtree(self.folder / "set/.shardkit")
        (self.folder / "set/manifest.json").unlink()
        self.shardctl("extract", "set", "tree")
        folders = {path.relative_to(self.folder / "tree").parts[0] for path in (self.folder / "tree").rglob("*.jpg")}
        self.assertEqual(folders, {str(label) for label in LABELS})


class Refused(LabelTest):
    def test_in_json_lines(self):
        for label in [*TOO_LARGE, -1, 1.5]:
            with self.subTest(label):
                (self.folder / "rows.jsonl").write_text(json.dumps({"path": "class_0/img_000.jpg", "label": label}))
                text = self.refused("convert", self.source, "out", "--list", "rows.jsonl", "--label-column", "label")
                self.assertRegex(text, "a whole number from 0 to 9223372036854775807|too large for 64 bits")

    def test_in_class_maps(self):
        for label in [*TOO_LARGE, -1, 1.5, "1"]:
            with self.subTest(label):
                (self.folder / "map.json").write_text(json.dumps({"class_0": label}))
                text = self.refused("convert", self.source, "out", "--class-map", "map.json")
                self.assertIn("a whole number from 0 to 9223372036854775807", text)


if __name__ == "__main__":
    unittest.main()
