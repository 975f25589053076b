"""A source tree as shardctl and torchvision's ImageFolder see it: the same classes, labels and files, in the same order."""

import json
import os
import re
import unittest

from foreign_shards import IndexTest
from program import fake_jpeg, need, run

need("torchvision", "torch")
from torchvision.datasets import ImageFolder  # noqa: E402

NFC, NFD = "\u00e9", "e\u0301"
LATIN1 = os.fsdecode(b"\xe9t\xe9")  # not UTF-8
ESCAPED = {b"\\\\": b"\\", b"\\t": b"\t", b"\\n": b"\n", b"\\r": b"\r"}

CLASSES = ("10", "2", "Cat", "cat", "CAT", NFC, NFD, "a b", " a", "a ", "a.b", "-a", "+a", "~a", "__a__", "a\tb", "a\nb",
           "a\\b", "a'b", "\u65e5\u672c", "\U0001f600", "\uff21", LATIN1, "a.jpg", "a-b", "a0")

IMAGES = ("a.jpg", "A.JPG", "b.JpEg", "c.PNG", "d.ppm", "e.bmp", "f.pgm", "g.tif", "h.TIFF", "i.webp",  # every extension
          "j.jpg", "j.png", "k.txt.jpg", "l.v2.jpg", "m..jpg", "n n.jpg", " o.jpg", "-p.jpg", "__q__.jpg", "r\ts\nt\\u.jpg",
          ".hidden.jpg", "._a.jpg", ".jpg", "..jpg", "10.jpg", "2.jpg", "a_mask.png", f"{NFC}.jpg", f"{NFD}.jpg",
          f"{LATIN1}.jpg", "\u65e5.jpg", "x" * 200 + ".jpg",
          "sub/a.jpg", "sub/b.png", "sub-1/a.jpg", "sub/deeper/a.jpg", "sub.jpg/a.jpg", f"{NFD}/{NFC}.jpg", "sub 2/.jpg")

NO_IMAGES = ("a.json", "a.txt", "a.gif", "b.jp2", "c.svg", "d.jpg.txt", "e.jpg~", "f.jpg ", "jpg", "README", ".DS_Store",
             "Thumbs.db", "g.jpg.part", "sub/a.cls", "only-text/a.txt")


def unescaped(column):
    return os.fsdecode(re.sub(rb"\\.", lambda match: ESCAPED[match[0]], column))


def rows(path):
    return [line.split(b"\t") for line in path.read_bytes().split(b"\n")]


def of_plan(path):
    """({class: label}, [(file, label)]) of a plan (docs/explain/formats.md)."""
    names, labels, samples = [], [], []
    for kind, *columns in rows(path):
        if kind == b"class":
            labels.append(int(columns[0]))
            names.append(unescaped(columns[1]))
        elif kind == b"+":
            number, stem, extension = int(columns[0]), unescaped(columns[2]), unescaped(columns[3].split(b":")[0])
            separator = "" if extension[0] in "_-" else "."
            samples.append((f"{names[number]}/{stem}{separator}{extension}", labels[number]))
    return dict(zip(names, labels)), samples


def of_shards(folder):
    """The same of a manifest, whose class names are UTF-8 whatever the folders', and the indexes of the shards."""
    manifest = json.loads((folder / "manifest.json").read_text())
    indexes = (folder / ".shardkit" / f"{shard['name']}.index" for shard in manifest["shards"])
    samples = [(unescaped(row[3]), int(row[2])) for index in indexes for row in rows(index) if row[0] == b"+"]
    return {item["name"]: item["label"] for item in manifest["classes"]}, samples


def in_utf8(classes):
    return {"".join(f"~{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in name): label
            for name, label in classes.items()}


def theirs(source, **options):
    folder = ImageFolder(source, **options)
    return folder.class_to_idx, [(os.path.relpath(path, source), label) for path, label in folder.samples]


class Torchvision(IndexTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        self.source.mkdir()

    def write(self, *names):
        for name in names:
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(fake_jpeg(os.fsencode(name)))

    def ours(self, *options):
        """What plan and convert make of the source: they agree."""
        plan, shards = self.folder / "plan", self.folder / "shards"
        self.shardctl("plan", self.source, "-o", plan, "--no-shuffle", "--samples", 7, *options)
        self.shardctl("convert", self.source, shards, "--plan", plan)
        classes, samples = of_plan(plan)
        self.assertEqual(of_shards(shards), (in_utf8(classes), samples))
        return classes, samples

    def assert_same(self, *options, **theirs_options):
        found, expected = self.ours(*options), theirs(self.source, **theirs_options)
        self.assertEqual(list(found[0].items()), list(expected[0].items()))
        self.assertEqual(found[1], expected[1])

    def test_class_names_of_any_kind_get_the_same_labels(self):
        self.write(*(f"{name}/{number}.jpg" for name in CLASSES for number in range(2)), "stray.jpg", "classes.txt")
        self.assert_same()

    def test_file_names_of_any_kind_are_images_to_both_or_to_neither(self):
        self.write(*(f"{name}/{file}" for name in ("a", "b") for file in IMAGES + NO_IMAGES))
        self.assert_same()
        self.assertEqual(len(theirs(self.source)[1]), 2 * len(IMAGES))

    def test_links_to_folders_and_files_are_followed(self):
        outside = self.folder / "outside"
        (outside / "below").mkdir(parents=True)
        for name in ("x.jpg", "y.txt", "below/z.png"):
            (outside / name).write_bytes(fake_jpeg(b"there"))
        self.write("a/1.jpg", "b/1.jpg")
        for link, target in {"c": outside, "a/more": outside, "b/link.jpg": outside / "x.jpg", "b/2.jpg": "1.jpg", "d": "a",
                             "b/text.txt": outside / "y.txt", "stray": outside / "x.jpg", "gone": "nowhere"}.items():
            (self.source / link).symlink_to(target)
        self.assert_same()

    def test_a_shuffle_changes_the_order_alone(self):
        self.write(*(f"{name}/{number}.jpg" for name in CLASSES for number in range(9)))
        self.shardctl("convert", self.source, self.folder / "shuffled", "--shards", 5)
        classes, samples = of_shards(self.folder / "shuffled")
        expected = theirs(self.source)
        self.assertEqual(classes, in_utf8(expected[0]))
        self.assertNotEqual(samples, expected[1])
        self.assertEqual(sorted(samples), sorted(expected[1]))

    def test_a_class_without_images_is_refused_by_both(self):
        self.write("a/1.jpg", "b/no-image.txt", "c/1.jpg")
        (self.source / "d").mkdir()
        self.assert_error(run("shardctl", "plan", self.source, "-o", self.folder / "plan"), 4, "/b'", "move it away")
        with self.assertRaises(FileNotFoundError):
            theirs(self.source)

    def test_a_link_to_nowhere_stops_us_at_once_and_them_when_they_get_there(self):
        self.write("a/1.jpg")
        (self.source / "a/2.jpg").symlink_to("nowhere")
        self.assertEqual(theirs(self.source)[1], [("a/1.jpg", 0), ("a/2.jpg", 0)])
        self.assert_error(run("shardctl", "plan", self.source, "-o", self.folder / "plan"), 4, "a/2.jpg")
        shards = self.folder / "shards"
        self.shardctl("convert", self.source, shards, "--on-bad", "skip")
        self.assertEqual(of_shards(shards)[1], [("a/1.jpg", 0)])

    def test_hidden_folders_are_left_out_with_a_warning_where_they_shift_their_labels(self):
        self.write(".cache/1.jpg", "a/1.jpg", "b/.thumbs/1.jpg", "b/2.jpg")
        self.assertEqual(theirs(self.source)[0], {".cache": 0, "a": 1, "b": 2})
        finished = self.shardctl("plan", self.source, "-o", self.folder / "plan", "--no-shuffle")
        self.assertEqual(of_plan(self.folder / "plan"), ({"a": 0, "b": 1}, [("a/1.jpg", 0), ("b/2.jpg", 1)]))
        for hidden in (".cache", ".thumbs"):
            self.assertIn(hidden, finished.stderr)

    def test_names_that_are_not_utf8_go_by_their_bytes_where_python_puts_them_behind_most_others(self):
        names = ["a", os.fsdecode(b"\xe4"), "\u65e5"]  # the bytes of the last start with 0xe6
        self.write(*(f"{name}/1.jpg" for name in names))
        self.assertEqual(list(self.ours()[0]), names)
        self.assertEqual(list(theirs(self.source)[0]), ["a", names[2], names[1]])


if __name__ == "__main__":
    unittest.main()
