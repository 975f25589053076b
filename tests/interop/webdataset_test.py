"""Shards between shardctl and the real webdataset, both ways."""

import os
import shutil
import pathlib
import unittest
import unittest.mock

from foreign_shards import IndexTest
from program import FolderTest, fake_jpeg, need, result_of, run
from rank_shards import RanksTest, samples_per_shard, shards_for

need("webdataset")
import webdataset  # noqa: E402

EVERYTHING = 10_000  # more shards or samples than any test has


def verify(*args):
    return run("shardctl", "verify", *args, "--json", "-")


def read_samples(folder):
    urls = sorted(str(path) for path in pathlib.Path(folder).glob("*.tar"))
    return list(webdataset.WebDataset(urls, shardshuffle=False, empty_check=False))


class OurShards(FolderTest):
    def test_webdataset_reads_every_sample_label_and_byte(self):
        source = self.make_tree(classes=5, per_class=40)
        odd = source / "class_1" / "Gr\u00fc\u00dfe an B.v2.JPEG"
        odd.write_bytes(fake_jpeg(os.urandom(3000)))
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


class Training(IndexTest):
    """What a training job reads: shards dealt out to ranks and their workers, then shuffled."""

    def read(self, shards, rank=0, world=1, worker=0, workers=1, shuffle=None):
        """[(key, (image, label))] that one worker gets; webdataset finds its place in the environment when torch is absent."""
        place = {"RANK": rank, "WORLD_SIZE": world, "WORKER": worker, "NUM_WORKERS": workers}
        with unittest.mock.patch.dict(os.environ, {name: str(number) for name, number in place.items()}):
            dataset = webdataset.WebDataset(sorted(str(path) for path in shards.glob("*.tar")),
                                            shardshuffle=EVERYTHING if shuffle is not None else False, seed=shuffle,
                                            nodesplitter=webdataset.split_by_node, workersplitter=webdataset.split_by_worker)
            if shuffle is not None:
                dataset = dataset.shuffle(25, initial=10, seed=shuffle)
            return [(sample["__key__"], (sample["jpg"], sample["cls"])) for sample in dataset]

    def assert_each_once(self, pieces, samples):
        """The pieces have no sample in common, and together they are `samples`, to the byte."""
        self.assertEqual(sorted(item for piece in pieces for item in piece), sorted(samples.items()))

    def test_shuffled_shards_and_samples_are_every_sample_once_in_another_order(self):
        shards, samples = self.convert(limit=("--shards", 9))
        orders = [self.read(shards), self.read(shards, shuffle=1), self.read(shards, shuffle=2)]
        for order in orders:
            self.assert_each_once([order], samples)
        self.assertEqual(len({tuple(key for key, _ in order) for order in orders}), 3)

    def test_ranks_and_workers_share_the_samples_without_overlap(self):
        shards, samples = self.convert(limit=("--shards", 13))  # not a multiple of anything
        for world in (1, 2, 3, 4):
            for workers in (1, 2, 3):
                with self.subTest(world=world, workers=workers):
                    pieces = [self.read(shards, rank, world, worker, workers, shuffle=rank)
                              for rank in range(world) for worker in range(workers)]
                    self.assert_each_once(pieces, samples)

    def test_multiple_of_gives_each_rank_and_worker_as_many_shards(self):
        source, samples = self.small_tree()
        for world, workers in ((2, 1), (3, 1), (4, 1), (2, 3)):
            with self.subTest(world=world, workers=workers):
                shards = self.folder / f"even-{world}-{workers}"
                limits = ("--samples", 13, "--multiple-of", world * workers)  # 90 samples: 7 shards without it
                planned = result_of(self.shardctl("plan", source, "-o", self.folder / "plan", *limits, "--json", "-"))
                self.shardctl("convert", source, shards, *limits)
                urls = sorted(shards.glob("*.tar"))
                self.assertEqual(len(urls), planned["result"]["shards"])
                self.assertEqual(len(urls) % (world * workers), 0)
                pieces = [self.read(shards, rank, world, worker, workers)
                          for rank in range(world) for worker in range(workers)]
                self.assert_each_once(pieces, samples)
                sizes = [len(piece) for piece in pieces]
                self.assertLessEqual(max(sizes) - min(sizes), len(urls) // (world * workers))  # shards differ by one at most

    def test_a_reshuffled_set_is_every_sample_once(self):
        shards, samples = self.convert()
        out = self.folder / "mixed"
        self.shardctl("reshard", shards, out, "--shuffle", 5, "--shards", 8)
        before, after = self.read(shards), self.read(out)
        self.assertNotEqual([key for key, _ in before], [key for key, _ in after])
        self.assert_each_once([after], samples)
        self.assert_each_once([self.read(out, rank, 4, shuffle=3) for rank in range(4)], samples)

    def test_the_sets_of_a_split_have_no_sample_in_common_and_none_is_lost(self):
        shards, samples = self.convert()
        out = self.folder / "sets"
        self.shardctl("reshard", shards, out, "--split", "train=0.8,val=0.2", "--shards", 4)
        train, val = self.read(out / "train"), self.read(out / "val")
        self.assertEqual(len(train) + len(val), 90)
        self.assertGreater(len(train), len(val))
        self.assert_each_once([train, val], samples)


class RanksOfANode(RanksTest):
    """Which shards split_by_node has the ranks of a node open."""

    def open_shards(self, urls, rank, world, shuffle=False):
        """Numbers of the shards that a rank reads."""
        place = {"RANK": str(rank), "WORLD_SIZE": str(world), "WORKER": "0", "NUM_WORKERS": "1"}
        with unittest.mock.patch.dict(os.environ, place):
            dataset = webdataset.WebDataset(urls, shardshuffle=EVERYTHING if shuffle else False, seed=shuffle or None,
                                            nodesplitter=webdataset.split_by_node)
            return {urls.index(sample["__url__"]) for sample in dataset}

    def test_open_the_shards_of_our_rank_and_no_others_shuffled_or_not(self):
        for number, node in enumerate(self.nodes("webdataset")):
            with self.subTest(str(node)):
                urls = self.stage(node, f"node-{number}")
                for shuffle in (False, 1, 2):
                    read = [self.open_shards(urls, rank, node.world, shuffle) for rank in node.ranks]
                    self.assertEqual(set().union(*read), node.staged)
                self.assertEqual(node.warnings, ["loader_setting"] if len(node.staged) < len(node.shards) else [])

    def test_the_order_is_that_of_the_pattern_or_list_that_the_loader_gets(self):
        """Names without leading zeros, lists in another order than that of names, two patterns."""
        source, _ = self.small_tree()
        whole = self.folder / "whole"
        self.shardctl("convert", source, whole, "--shards", 12)
        data = self.folder / "data"
        data.mkdir()
        for number, shard in enumerate(sorted(whole.glob("*.tar"))):
            shutil.copy(shard, data / f"x-{number}.tar")
        unsorted = self.folder / "unsorted.txt"
        order = [7, 0, 11, 3, 10, 2, 9, 4, 1, 8, 5, 6]
        unsorted.write_text("".join(f"data/x-{number}.tar\n" for number in order))
        named = lambda numbers: [f"x-{number}.tar" for number in numbers]
        for case, (operands, names) in enumerate((
                ([f"{data}/x-{{0..11}}.tar"], named(range(12))), ([unsorted], named(order)),
                ([f"{data}/x-{{8..11}}.tar", f"{data}/x-{{0..7}}.tar"], named([*range(8, 12), *range(8)])),
                ([data], sorted(named(range(12)))))):
            for indexed in (False, True):
                if indexed:
                    self.shardctl("index", data)
                for rank in range(4):
                    with self.subTest(case=case, indexed=indexed, rank=rank):
                        node = self.folder / f"node-{case}-{indexed}-{rank}"
                        self.shardctl("stage", *operands, node, "--rank", rank, "--world", 4)
                        urls = [str(node / name) for name in names]
                        read = self.open_shards(urls, rank, 4)
                        self.assertEqual({names[number] for number in read}, {path.name for path in node.glob("*.tar")})
            (data / "manifest.json").unlink()
            shutil.rmtree(data / ".shardkit")

    def test_a_rank_without_a_shard_is_refused_where_webdataset_would_stop(self):
        whole, _ = self.convert(limit=("--shards", 2))
        with self.assertRaisesRegex(ValueError, "No samples found"):
            self.open_shards(sorted(map(str, whole.glob("*.tar"))), 2, 3)
        self.assertIn("rank 2 of 3 gets no shard", shards_for("webdataset", "2", 3, samples_per_shard(whole)))


class TheirShards(FolderTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "theirs"
        self.out.mkdir()
        self.written = {}
        with webdataset.ShardWriter(str(self.out / "s-%06d.tar"), maxcount=30, verbose=0) as writer:
            for number in range(100):
                key = f"n{number % 7}/img-{number}"
                self.written[key] = fake_jpeg(os.urandom(1 + number * 50))
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
