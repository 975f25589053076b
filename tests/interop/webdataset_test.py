"""Shards between shardctl and the real webdataset, both ways."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from program import FolderTest, need, result_of, run  # noqa: E402

need("webdataset")
import webdataset  # noqa: E402


def verify(*args):
    return run("shardctl", "verify", *args, "--json", "-")


def read_samples(folder):
    urls = sorted(str(path) for path in pathlib.Path(folder).glob("*.tar"))
    return list(webdataset.WebDataset(urls, shardshuffle=False, empty_check=False))


class OurShards(FolderTest):
    def test_webdataset_reads_every_sample_label_and_byte(self):
        source = self.make_tree(classes=5, per_class=40)
        odd = source / "class_1" / "Gr\u00fc\u00dfe an B.v2.JPEG"
        odd.write_bytes(os.urandom(3000))
        out = self.folder / "out"
        self.assertEqual(run("shardctl", "convert", source, out, "--samples", "30").returncode, 0)
        samples = read_samples(out)
        classes = sorted(path.name for path in source.iterdir())
        expected = sorted(
            (classes.index(path.parent.name), path.read_bytes()) for path in source.rglob("*") if path.is_file()
        )
        self.assertEqual(sorted((int(sample["cls"]), sample["jpg"]) for sample in samples), expected)
        self.assertEqual(len({sample["__key__"] for sample in samples}), 201)
        report = result_of(verify(out))["result"]
        self.assertEqual(report["samples"], len(samples))


class TheirShards(FolderTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "theirs"
        self.out.mkdir()
        self.written = {}
        with webdataset.ShardWriter(str(self.out / "s-%06d.tar"), maxcount=30, verbose=0) as writer:
            for number in range(100):
                key = f"n{number % 7}/img-{number}"
                self.written[key] = os.urandom(1 + number * 50)
                writer.write({"__key__": key, "jpg": self.written[key], "cls": number % 7, "json": {"n": number}})

    def test_verify_reads_them_whole_and_names_only_their_pax_headers(self):
        finished = verify(self.out)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = result_of(finished)["result"]
        self.assertEqual((result["depth"], result["shards"], result["samples"]), ("structure", 4, 100))
        self.assertEqual([problem["code"] for problem in result["problems"]], ["pax_header"] * 4)
        self.assertEqual(result["problems_total"], 300)
        self.assertEqual(verify(self.out, "--strict").returncode, 3)

    def test_reshard_repairs_them_and_keeps_every_sample(self):
        for indexed in (False, True):
            with self.subTest(indexed=indexed):
                out = self.folder / f"ours-{indexed}"
                if indexed:
                    self.assertEqual(run("shardctl", "index", self.out).returncode, 0)
                self.assertEqual(run("shardctl", "reshard", self.out, out, "--shuffle", "3", "--shards", "3").returncode, 0)
                self.assertEqual(verify(out, "--strict").returncode, 0)
                before = {sample["__key__"]: sample for sample in read_samples(self.out)}
                after = {sample["__key__"]: sample for sample in read_samples(out)}
                self.assertEqual(set(after), set(before))
                for key, sample in after.items():
                    for extension in ("jpg", "cls", "json"):
                        self.assertEqual(sample[extension], before[key][extension])

    def test_index_gives_real_offsets_and_labels(self):
        self.assertEqual(run("shardctl", "index", self.out).returncode, 0)
        found = {}
        for index in sorted((self.out / ".shardkit").glob("*.index")):
            shard = (self.out / index.name.removesuffix(".index")).read_bytes()
            for line in index.read_text().splitlines():
                if not line.startswith("+\t"):
                    continue
                _, key, label, _, *members = line.split("\t")
                self.assertEqual(int(label), int(key.split("-")[1]) % 7)
                for member in members:
                    extension, offset, size, _ = member.split(":")
                    if extension == "jpg":
                        found[key] = shard[int(offset) : int(offset) + int(size)]
        self.assertEqual(found, self.written)
        self.assertEqual(result_of(verify(self.out))["result"]["depth"], "checksum")


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # webdataset leaves files open
