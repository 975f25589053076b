"""Shards as Hugging Face datasets reads them with its "webdataset" builder, streaming and not."""

import collections
import io
import json
import os
import tempfile
import unittest

from foreign_shards import IndexTest
from program import need, result_of
from rank_shards import RanksTest

need("datasets", "hf")
CACHE = tempfile.TemporaryDirectory(prefix="shardkit-test-hf-")
os.environ.update(HF_HOME=CACHE.name, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
import datasets  # noqa: E402
from datasets.distributed import split_dataset_by_node  # noqa: E402
from PIL import Image, ImageChops  # noqa: E402

datasets.disable_progress_bars()
FIRST = 5  # it makes up its mind about a set's columns by that many samples


def load(shards, streaming=True, **options):
    files = sorted(str(path) for path in shards.glob("*.tar"))
    return datasets.load_dataset("webdataset", data_files=files, split="train", streaming=streaming, **options)


def in_bytes(dataset):
    """[(key, label, image file)]"""
    undecoded = dataset.cast_column("jpg", datasets.Image(decode=False))
    return [(sample["__key__"], sample["cls"], sample["jpg"]["bytes"]) for sample in undecoded]


def columns(**members):
    return datasets.Features({**members, "cls": datasets.Value("int64"), "__key__": datasets.Value("string"),
                              "__url__": datasets.Value("string")})


class HuggingFace(IndexTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "photos"
        self.shardctl("synth", self.source, "--classes", 3, "--per-class", 12)
        images = sorted(self.source.glob("*/*"))
        self.samples = [(f"{path.parent.name}/{path.stem}", int(path.parent.name[1:]), path.read_bytes()) for path in images]

    def convert(self, *options):
        shards = self.folder / "shards"
        self.shardctl("convert", self.source, shards, *options)
        return shards

    def add_sidecars(self, chosen):
        for number, path in enumerate(sorted(self.source.glob("*/*"))):
            if chosen(number):
                path.with_suffix(".json").write_text(json.dumps({"n": number}))

    def sidecars(self, dataset):
        """How many samples have their side-car, have None in its place, and have no column for it."""
        found = collections.Counter()
        for sample in dataset:
            found["no column" if "json" not in sample else "none" if sample["json"] is None else "there"] += 1
        return dict(found)

    def test_gives_the_key_label_and_bytes_of_every_sample(self):
        shards = self.convert("--shards", 4)
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                self.assertEqual(sorted(in_bytes(load(shards, streaming))), self.samples)

    def test_decodes_every_image_to_the_pixels_of_the_source(self):
        images = {key: image for key, _, image in self.samples}
        for sample in load(self.convert("--shards", 4)):
            original = Image.open(io.BytesIO(images.pop(sample["__key__"]))).convert("RGB")
            self.assertIsNone(ImageChops.difference(sample["jpg"].convert("RGB"), original).getbbox(), sample["__key__"])
        self.assertEqual(images, {})

    def test_ranks_share_the_samples_without_overlap_shuffled_or_not(self):
        streamed = load(self.convert("--shards", 4))
        self.assertEqual(streamed.num_shards, 4)
        for world in (1, 2, 3, 4):  # it deals out shards where they divide evenly, samples where not
            for dataset in (streamed, streamed.shuffle(seed=3, buffer_size=10)):
                with self.subTest(world=world, shuffled=dataset is not streamed):
                    pieces = [in_bytes(split_dataset_by_node(dataset, rank, world)) for rank in range(world)]
                    self.assertEqual(sorted(sum(pieces, [])), self.samples)

    def test_a_sidecar_that_the_first_samples_have_is_none_where_it_is_missing(self):
        self.add_sidecars(lambda number: number < 2 * FIRST)
        shards = self.convert("--shards", 4, "--no-shuffle")
        self.assertEqual(self.sidecars(load(shards)), {"there": 10, "none": 26})
        self.assert_verify_warns(shards, 10)  # of the samples that are not like most

    def test_a_sidecar_that_the_first_samples_lack_is_lost_without_a_word(self):
        self.add_sidecars(lambda number: number >= FIRST)
        shards = self.convert("--shards", 4, "--no-shuffle")
        self.assertEqual(self.sidecars(load(shards)), {"no column": 36})
        self.assert_verify_warns(shards, FIRST)

    def test_a_set_whose_first_samples_differ_is_refused_unless_the_columns_are_named(self):
        self.add_sidecars(lambda number: number != 1)
        shards = self.convert("--shards", 4, "--no-shuffle")
        with self.assertRaisesRegex(ValueError, "the same types"):
            load(shards)
        named = columns(jpg=datasets.Image(), json={"n": datasets.Value("int64")})
        self.assertEqual(self.sidecars(load(shards, features=named)), {"there": 35, "none": 1})
        self.assert_verify_warns(shards, 1)

    def test_images_of_two_kinds_are_two_columns_that_have_to_be_named(self):
        for path in sorted(self.source.glob("*/*"))[1::3]:
            Image.open(path).save(path.with_suffix(".png"))
            path.unlink()
        shards = self.convert("--shards", 4, "--no-shuffle")
        with self.assertRaisesRegex(ValueError, "the same types"):
            load(shards)
        kinds = collections.Counter((sample["jpg"] is not None, sample["png"] is not None)
                                    for sample in load(shards, features=columns(jpg=datasets.Image(), png=datasets.Image())))
        self.assertEqual(kinds, {(True, False): 24, (False, True): 12})
        self.assert_verify_warns(shards, 12)

    def assert_verify_warns(self, shards, samples):
        """Each of these is the same finding to verify: a warning about samples with other members than most."""
        result = result_of(self.shardctl("verify", shards, "--json", "-"))["result"]
        self.assertEqual({problem["code"] for problem in result["problems"]}, {"differing_members"})
        self.assertEqual((result["problems_total"], result["errors"]), (samples, 0))


class RanksOfANode(RanksTest):
    """Which shards split_dataset_by_node has the ranks of a node read."""

    def read_shards(self, node, paths, rank, epoch=0, shuffle=False):
        """Numbers of the shards that a rank reads, unless shard 0 has the columns found out."""
        named = columns(jpg=datasets.Image(decode=False))
        dataset = datasets.load_dataset("webdataset", data_files=paths, split="train", streaming=True, features=named)
        part = split_dataset_by_node(dataset.shuffle(seed=1, buffer_size=10) if shuffle else dataset, rank, node.world)
        part.set_epoch(epoch)
        return {paths.index(sample["__url__"]) for sample in part}

    def test_read_the_shards_of_our_rank_and_no_others_or_all_where_they_do_not_divide_evenly(self):
        for node in self.nodes("hf", counts=(3, 4, 12)):
            with self.subTest(str(node)):
                read = [self.read_shards(node, node.paths, rank) for rank in node.ranks]
                self.assertEqual(set().union(*read), node.staged)
                uneven = len(node.shards) % node.world != 0
                if len(node.ranks) == node.world:
                    self.assertEqual(node.warnings, [])
                else:
                    self.assertEqual(node.warnings, ["all_shards_needed"] if uneven else ["loader_setting"])

    def test_read_other_shards_when_shuffled_or_in_another_epoch_which_we_warn_of(self):
        node = next(self.nodes("hf", counts=[12]))
        self.assertEqual(self.read_shards(node, node.paths, 0), node.staged)
        self.assertNotEqual(self.read_shards(node, node.paths, 0, shuffle=True), node.staged)
        self.assertNotEqual(self.read_shards(node, node.paths, 0, epoch=1), node.staged)
        self.assertEqual(node.warnings, ["loader_setting"])

    def test_need_a_path_for_every_shard_also_for_those_they_do_not_read(self):
        node = next(self.nodes("hf"))
        with self.assertRaises(FileNotFoundError):
            self.read_shards(node, self.stage(node, "node"), 0)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # it leaves files open
