"""Tables as their owners read them: the same generated files go to Python's csv and to ours, COCO's to pycocotools."""

import contextlib
import csv
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli/support"))
import needs  # noqa: E402

needs.need("pycocotools")
from pycocotools.coco import COCO  # noqa: E402

SEEDS = int(os.environ.get("TABLE_SEEDS", "500"))


class Owners(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardkit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ours(self, texts, ending):
        paths = []
        for number, text in enumerate(texts):
            paths.append(self.folder / f"{number}{ending}")
            paths[-1].write_text(text, newline="", encoding="utf-8")
        finished = subprocess.run([os.environ["TABLE_PROBE"], *paths], capture_output=True, text=True, check=True, timeout=120)
        return [json.loads(line) for line in finished.stdout.splitlines()]


def written(chance):
    """By Python's writer, in one of its ways."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
                        lineterminator=chance.choice(["\n", "\r\n"]))
    columns = chance.randint(2, 4)
    writer.writerow([f"c{i}" for i in range(columns)])
    for _ in range(chance.randint(0, 6)):
        writer.writerow(["".join(chance.choices(["a", "é", ",", '"', "\n", "\r\n", " ", ";", "\t", "'", "\\"], k=chance.randint(0, 5)))
                         for _ in range(columns)])
    return out.getvalue()


def typed(chance):
    """By hand, right or wrong."""
    lines = ["a,b"] + ["".join(chance.choices(["x", "é", ",", ",", '"', '""', " ", "\n", "\r\n"], k=chance.randint(1, 8)))
                       for _ in range(chance.randint(0, 4))]
    return chance.choice(["\n", "\r\n"]).join(lines) + chance.choice(["", "\n"])


class Csv(Owners):
    def owners(self, text):
        """Rows; None for what our reader refuses too: unequal rows, and what csv calls wrong if it is strict."""
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        except csv.Error:
            return None
        if any(len(row) != len(rows[0]) for row in rows):
            return None
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def test_generated_tables(self):
        chances = [random.Random(seed) for seed in range(SEEDS)]
        texts = [chance.choice([written, typed])(chance) for chance in chances]
        read = 0
        for seed, (text, ours) in enumerate(zip(texts, self.ours(texts, ".csv"))):
            with self.subTest(seed=seed, text=text):
                owners = self.owners(text)
                self.assertEqual(ours.get("rows"), owners, ours.get("error"))
                read += owners is not None
        self.assertGreater(read, SEEDS // 3)


def annotations(chance):
    ids = chance.sample(range(1, 10**9), 12)
    images = [{"id": id, "file_name": f"{chance.choice(['', 'train/', 'ü '])}{number}.jpg", "width": 640, "height": 480}
              for number, id in enumerate(ids[:chance.randint(1, 6)])]
    categories = [{"id": id, "name": f"class {id}", "supercategory": "x"} for id in chance.sample(range(1, 100), chance.randint(1, 4))]
    found = [{"id": number + 1, "image_id": chance.choice(images)["id"], "category_id": chance.choice(categories)["id"],
              "bbox": [round(chance.uniform(0, 600), 2) for _ in range(4)], "area": chance.uniform(1, 1e5), "iscrowd": chance.choice([0, 1]),
              "segmentation": chance.choice([[[1.5, 2, 3]], {"counts": [3, 4], "size": [2, 2]}, []])}
             for number in range(chance.randint(0, 10))]
    members = [("info", {"year": 2017}), ("licenses", []), ("images", images), ("annotations", found), ("categories", categories)]
    chance.shuffle(members)
    return json.dumps(dict(members), indent=chance.choice([None, 1]), ensure_ascii=chance.choice([True, False]))


class Coco(Owners):
    def owners(self, path):
        with contextlib.redirect_stdout(io.StringIO()):
            coco = COCO(path)
        names = {id: category["name"] for id, category in coco.cats.items()}
        rows = []
        for image in coco.dataset["images"]:
            rows.append({**image, "annotations": [
                {**{name: value for name, value in one.items() if name != "image_id"}, "category": names[one["category_id"]]}
                for one in coco.imgToAnns[image["id"]]]})
        return rows

    def test_generated_annotations(self):
        texts = [annotations(random.Random(seed)) for seed in range(SEEDS // 5)]
        for seed, ours in enumerate(self.ours(texts, ".json")):
            with self.subTest(seed=seed):
                self.assertEqual(ours.get("rows"), self.owners(self.folder / f"{seed}.json"), ours.get("error"))


if __name__ == "__main__":
    unittest.main()
