"""shardctl convert keeps apart what differs, and keeps the same what a later file, a link or a table must not change.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/convert/kept_apart_test.py
"""

import collections
import json
import os
import pathlib
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import FolderTest, fake_jpeg, fake_png, result_of, run, tree  # noqa: E402
from tars import write_tar  # noqa: E402


class Kept(FolderTest):
    def write(self, **files):
        for name, content in files.items():
            self.write_file(name, content)

    def write_file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def image(self, *names):
        for name in names:
            self.write_file(name, (fake_png if str(name).endswith("png") else fake_jpeg)(os.fsencode(name)))

    def call(self, *args):
        return run("shardctl", *args, cwd=self.folder)

    def shardctl(self, *args):
        finished = self.call(*args, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)

    def codes(self, *args):
        return [warning["code"] for warning in self.shardctl(*args)["warnings"]]

    def refused(self, exit_code, *args, texts=()):
        """Nothing is written."""
        before = tree(self.folder)
        self.assert_error(self.call(*args), exit_code, *texts)
        self.assertEqual(tree(self.folder), before)

    def members(self, target):
        """All members of the shards, as often as they are there."""
        found = collections.Counter()
        for shard in (self.folder / target).rglob("*.tar"):
            with tarfile.open(shard) as tar:
                found.update(tar.getnames())
        return found

    def content(self, target, name):
        for shard in (self.folder / target).rglob("*.tar"):
            with tarfile.open(shard) as tar:
                if name in tar.getnames():
                    return tar.extractfile(name).read()
        self.fail(f"no {name}")

    # Keys

    def test_keys_differ_over_all_that_is_written_whatever_made_them(self):
        self.image("src/1.jpg", "src/cat/1.jpg", "src/cat/1.png")
        rows = {"two rows that disagree": "1.jpg,cat\ncat/1.jpg,cat\ncat/1.jpg,dog\n",
                "two classes": "1.jpg,cat\ncat/1.jpg,dog\n",
                "all of one stem": "1.jpg,cat\ncat/1.jpg,cat\ncat/1.png,cat\n"}
        for number, (name, text) in enumerate(rows.items()):
            with self.subTest(name):
                self.write_file("list.csv", "path,label\n" + text)
                self.shardctl("convert", "src", f"out{number}", "--list", "list.csv", "--label-column", "label")
                members = self.members(f"out{number}")
                self.assertEqual([member for member, count in members.items() if count > 1], [])
                images = [member for member in members if member.endswith(("jpg", "png"))]
                self.assertEqual(len(images), len({line.split(",")[0] for line in text.split()}))

    def test_the_set_of_an_image_does_not_depend_on_files_beside_it(self):
        self.image(*(f"src/c/{n}.jpg" for n in range(60)))
        split = ("--split", "train=0.7,val=0.3")
        for grouped in ((), ("--group-by", "key:c/(.*)")):
            with self.subTest(grouped):
                for path in (self.folder / "src/c").glob("*.png"):
                    path.unlink()
                first, second = (f"{name}{len(grouped)}" for name in ("first", "second"))
                self.shardctl("convert", "src", first, *split, *grouped)
                self.image(*(f"src/c/{n}.png" for n in range(0, 60, 2)))
                self.shardctl("convert", "src", second, *split, *grouped)
                for part in ("train", "val"):
                    stems = [{name.split(".")[0].split("~2E")[0] for name in self.members(f"{one}/{part}") if name.endswith("jpg")}
                             for one in (first, second)]
                    self.assertEqual(*stems)

    # Paths

    def test_templates_and_paths_start_from_the_source_as_it_was_written(self):
        self.image("ds/images/x.jpg", "ds/images/y.jpg")
        for folder in ("ds", "ds/poly"):
            for stem in "xy":
                self.write_file(f"{folder}/labels/{stem}.txt", f"{folder} {stem}")
        (self.folder / "ds/poly/images").symlink_to("../images")
        field = ("--unlabeled", "--field", "txt=../labels/{stem}.txt")
        absolute = self.folder / "ds/poly/images"
        for number, source in enumerate(("ds/poly/images", "ds/poly/images/", "./ds/poly/images", absolute)):
            with self.subTest(source=source):
                self.shardctl("convert", source, f"poly{number}", *field)
                self.assertEqual(self.content(f"poly{number}", "x.txt"), b"ds/poly x")
                self.assertEqual(tree(self.folder / f"poly{number}"), tree(self.folder / "poly0"))
        self.assertEqual(self.shardctl("verify", "poly0", "--against", "ds/poly/images")["result"]["errors"], 0)
        self.shardctl("convert", "ds/images", "outer", *field)
        self.assertEqual(self.content("outer", "x.txt"), b"ds x")

    def test_absolute_paths_of_a_list_and_a_source_behind_a_link_are_one_folder(self):
        self.image("ds/images/x.jpg", "ds/images/y.jpg", "other/z.jpg")
        (self.folder / "link").symlink_to("ds")
        for number, (source, start) in enumerate((("link/images", "ds"), ("ds/images", "link"), ("ds/images", "ds"))):
            with self.subTest(source=source, start=start):
                self.write_file("list.csv", "path,label\n" + "".join(
                    f"{self.folder}/{start}/images/{name}.jpg,{name}\n" for name in "xy"))
                self.shardctl("convert", source, f"out{number}", "--list", "list.csv", "--label-column", "label",
                              "--metadata", "list.csv")
                self.assertEqual(len([one for one in self.members(f"out{number}") if one.endswith("jpg")]), 2)
        self.write_file("list.csv", f"path,label\n{self.folder}/other/z.jpg,z\n")
        self.refused(4, "convert", "link/images", "out", "--list", "list.csv", "--label-column", "label",
                     texts=["is not inside the source"])

    # Names

    def test_class_names_that_are_not_utf8_stay_different_everywhere(self):
        names = [b"\xb9\xb7", b"\xc3\xa8\xe8", "\u00e8".encode()]
        self.image(*(f"src/{os.fsdecode(name)}/1.jpg" for name in names))
        self.shardctl("convert", "src", "out")
        text = (self.folder / "out/manifest.json").read_text()
        self.assertNotIn("\ufffd", text)
        classes = {one["name"]: one["label"] for one in json.loads(text)["classes"]}
        self.assertEqual(classes, {"~B9~B7": 0, "\u00e8": 1, "\u00e8~E8": 2})
        self.assertEqual(self.shardctl("verify", "out", "--against", "src")["result"]["errors"], 0)
        self.shardctl("extract", "out", "back")
        self.assertEqual(tree(self.folder / "back"), tree(self.folder / "src"))
        self.assertEqual(self.shardctl("reshard", "out", "one", "--class", "~B9~B7")["result"]["samples"], 1)
        for name in names[:2]:
            (self.folder / "src" / os.fsdecode(name)).rename(self.folder / "moved")
            self.shardctl("convert", "src", f"less{len(name)}")
            (self.folder / "moved").rename(self.folder / "src" / os.fsdecode(name))
        merged = self.shardctl("reshard", "less2", "less3", "merged", "--merge-classes", "--mark-duplicates")
        self.assertEqual(merged["exit_code"], 0)
        self.assertEqual(len(json.loads((self.folder / "merged/manifest.json").read_text())["classes"]), 3)

    def test_a_class_that_is_named_like_the_label_of_another_is_told_apart(self):
        self.image(*(f"src/{name}/{name}.jpg" for name in "123"))
        self.shardctl("convert", "src", "out")
        self.refused(2, "reshard", "out", "new", "--class", "2", texts=["name:2", "label:2"])
        for given, image in (("name:2", "2/2.jpg"), ("label:2", "3/3.jpg"), ("0", "1/1.jpg"), ("3", "3/3.jpg")):
            with self.subTest(given):
                self.shardctl("reshard", "out", f"of {given}", "--class", given)
                self.assertIn(image, self.members(f"of {given}"))
                self.assertEqual(len(self.members(f"of {given}")), 2)

    # Fields

    def test_a_file_beside_two_images_is_named(self):
        self.image("src/c/1.jpg", "src/c/1.png", "src/c/2.jpg")
        self.write_file("src/c/2.txt", "two")
        self.assertNotIn("field_shared", self.codes("convert", "src", "out"))
        self.write_file("src/c/1.txt", "one")
        self.assertIn("field_shared", self.codes("convert", "src", "again"))

    def test_the_json_of_a_set_keeps_its_shape_when_a_table_gets_more_rows(self):
        def table(*rows):
            self.write_file("t.csv", "path,v\n" + "".join(f"{row}\n" for row in rows))

        convert = ("convert", "src", "out", "--unlabeled", "--metadata", "t.csv")
        self.image("src/a.jpg")
        table("a.jpg,1")
        self.shardctl(*convert)
        self.image("src/b.jpg")
        table("a.jpg,1", "b.jpg,2", "b.jpg,3")
        self.refused(4, *convert, "--append", texts=["have one row as .json", "b.jpg"])
        table("a.jpg,1", "b.jpg,2")
        self.shardctl(*convert, "--append")
        self.assertEqual(json.loads(self.content("out", "b.json")), {"v": "2"})

        convert = ("convert", "lists", "of lists", "--unlabeled", "--metadata", "t.csv")
        self.image("lists/a.jpg")
        table("a.jpg,1", "a.jpg,2")
        self.shardctl(*convert)
        (self.folder / "lists/a.jpg").unlink()
        self.image("lists/b.jpg")
        table("b.jpg,3")
        self.shardctl(*convert, "--append")
        self.assertEqual(json.loads(self.content("of lists", "b.json")), [{"v": "3"}])

    def test_an_empty_file_starts_no_sample_whatever_its_kind(self):
        for kind, content in (("mp3", b"sound"), ("npy", b"array"), ("jpg", fake_jpeg())):
            with self.subTest(kind):
                self.write_file(f"{kind}/c/1.{kind}", b"")
                self.write_file(f"{kind}/c/2.{kind}", content)
                convert = ("convert", kind, f"{kind}-out", "--primary", kind)
                self.assert_error(self.call(*convert), 4, f"1.{kind}", "empty")
                self.assertEqual(self.shardctl(*convert, "--on-bad", "skip")["result"]["samples"], 1)
        files = [(name, b"" if name == "1.npy" else b"0") for name in ("1.cls", "1.npy", "2.cls", "2.npy")]
        write_tar(self.folder / "x.tar", files, form=tarfile.USTAR_FORMAT)
        found = result_of(run("shardctl", "verify", "x.tar", "--json", "-", cwd=self.folder))
        self.assertEqual(found["exit_code"], 3)
        self.assertIn("orphan_member", [problem["code"] for problem in found["result"]["problems"]])
        self.assertEqual(self.shardctl("reshard", "x.tar", "kept", "--drop-bad")["result"]["dropped"], 1)
        self.assertEqual(self.shardctl("verify", "kept")["result"]["samples"], 1)

    def test_fields_of_coco_that_are_there_already_are_not_replaced(self):
        self.image("src/a.jpg")
        for keys in (("category", "category_id"), ("category_id", "category")):
            values = {"category": "mine", "category_id": 1}
            annotation = {"id": 1, "image_id": 1, **{key: values[key] for key in keys}}
            self.write_file("c.json", json.dumps({"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [annotation],
                                                  "categories": [{"id": 1, "name": "cat"}]}))
            target = f"out {keys[0]}"
            self.shardctl("convert", "src", target, "--unlabeled", "--metadata", "c.json")
            self.assertEqual(json.loads(self.content(target, "a.json"))["annotations"][0]["category"], "mine")
        self.write_file("c.json", json.dumps({"images": [{"id": 1, "file_name": "a.jpg", "annotations": ["own"]}],
                                              "annotations": [], "categories": []}))
        self.refused(4, "convert", "src", "out", "--unlabeled", "--metadata", "c.json", texts=["'annotations' of its own"])

    def test_resize_is_refused_beside_what_describes_pixels(self):
        self.image("src/c/a.jpg", "src/c/a_mask.png")
        self.refused(2, "convert", "src", "out", "--sidecar", "_mask.png", "--resize", "32", texts=["a_mask.png"])
        self.image("plain/a.jpg")
        self.shardctl("synth", "real", "--classes", "1", "--per-class", "1")
        for path in (self.folder / "real").glob("*/*"):
            path.with_suffix(".json").write_text('{"box": [1, 2, 3, 4]}')
        self.assertIn("resize_beside_text", self.codes("convert", "real", "resized", "--resize", "32"))
        self.write_file("c.json", json.dumps({"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [], "categories": []}))
        self.refused(2, "convert", "plain", "out", "--unlabeled", "--metadata", "c.json", "--resize", "32",
                     texts=["boxes and masks of 'c.json'"])


if __name__ == "__main__":
    unittest.main()
