"""Indexes between shardctl and the real webdataset reader of NVIDIA DALI, which needs no GPU for it."""

import os
import unittest

from foreign_shards import FORMATS, IndexTest, write_shard
from program import need, run
from rank_shards import RanksTest, samples_per_shard, shards_for

need("nvidia", "dali")
import numpy  # noqa: E402
from nvidia.dali import fn, pipeline_def  # noqa: E402
from wds2idx import IndexCreator  # noqa: E402


BATCH = 4  # of the readers of ranks


@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def reader(shards, indexed, options):
    indexes = {"index_paths": [str(path.with_suffix(".idx")) for path in shards]} if indexed else {}
    image, label = fn.readers.webdataset(paths=[str(path) for path in shards], ext=["jpg", "cls"],
                                         missing_component_behavior="error", name="reader", **indexes, **options)
    return image, label


def epochs(folder, count=1, indexed=True, **options):
    """[(key, (image, label))] for each epoch. `options` are the reader's own; of num_shards, shard_id's samples alone."""
    pipeline = reader(sorted(folder.glob("*.tar")), indexed, options)
    pipeline.build()
    whole, parts, part = pipeline.epoch_size("reader"), options.get("num_shards", 1), options.get("shard_id", 0)
    samples = whole * (part + 1) // parts - whole * part // parts
    for _ in range(count):
        epoch = []
        for _ in range(samples):
            image, label = (output[0] for output in pipeline.run())
            name = image.source_info().rsplit(":", 1)[1]
            epoch.append((name.removesuffix(".jpg"), (numpy.asarray(image).tobytes(), numpy.asarray(label).tobytes())))
        yield epoch


def read(folder, **options):
    """Every sample by key: (image, label)."""
    (epoch,) = epochs(folder, **options)
    assert len(dict(epoch)) == len(epoch), "a key came twice"
    return dict(epoch)


def theirs(shard):
    """The index that DALI's own tool makes of a shard."""
    path = shard.with_suffix(".theirs")
    with IndexCreator(str(shard), str(path), verbose=False) as creator:
        creator.create_index()
    return path.read_text()


class Dali(IndexTest):
    def test_reads_every_sample_that_convert_wrote_by_an_index_that_is_that_of_its_own_tool(self):
        shards, samples = self.convert("--index", "dali")
        self.assertEqual(read(shards), samples)
        for shard in shards.glob("*.tar"):
            self.assertEqual(shard.with_suffix(".idx").read_text(), theirs(shard))

    def test_reads_our_shards_without_an_index_too(self):
        shards, samples = self.convert()
        self.assertEqual(read(shards, indexed=False), samples)

    def test_shuffles_every_sample_into_every_epoch(self):
        shards, samples = self.convert("--index", "dali")
        first, second = epochs(shards, 2, random_shuffle=True, initial_fill=30, seed=3)
        for epoch in (first, second):
            self.assertEqual(sorted(epoch), sorted(samples.items()))
        self.assertNotEqual(first, second)

    def test_parts_for_ranks_share_the_samples_without_overlap(self):
        shards, samples = self.convert("--index", "dali")
        for parts in (1, 2, 3, 4):
            for shuffle in ({}, {"random_shuffle": True, "initial_fill": 10, "seed": 3}):
                with self.subTest(parts=parts, shuffle=bool(shuffle)):
                    pieces = [next(epochs(shards, num_shards=parts, shard_id=part, **shuffle)) for part in range(parts)]
                    self.assertEqual(sorted(sum(pieces, [])), sorted(samples.items()))

    def test_reads_shards_of_any_dialect_by_our_index(self):
        for dialect in FORMATS:
            with self.subTest(dialect):
                shards, samples = self.write_theirs(dialect)
                self.shardctl("index", shards, "--index", "dali")
                self.assertEqual(read(shards), samples)

    def test_our_index_holds_the_very_words_of_its_own_tool_where_that_is_right(self):
        path = self.folder / "s.tar"
        members = [("a/x.v1.JPG", b"i" * 700), ("a/x.cls", b"1"), ("a/._x.jpg", b"?"), ("b/y.jpg", b""), ("b/y.cls", b"2")]
        for dialect in ("ustar", "gnu"):  # under PAX it computes wrong offsets
            with self.subTest(dialect):
                write_shard(path, members, dialect)
                self.shardctl("index", path, "--index", "dali")
                self.assertEqual((self.folder / "s.idx").read_text(), theirs(path))

    def test_an_index_that_it_could_not_read_is_refused(self):
        write_shard(self.folder / "s.tar", [("a.jpg", b"i"), ("b c.jpg", b"i")], "ustar")
        self.assert_error(run("shardctl", "index", self.folder / "s.tar", "--index", "dali"), 4, "s.tar", "'b c.jpg'")


@pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
def rank_reader(paths, indexes, options):
    return fn.readers.webdataset(paths=paths, ext=["jpg", "cls"], index_paths=indexes, missing_component_behavior="error",
                                 **options)[0]


class RanksOfANode(RanksTest):
    """Which shards DALI has the ranks of a node read."""

    def stage_among_hollow(self, node, name):
        """Paths of a copy of the set in which all shards but the staged ones are zeros of the same size."""
        paths = self.stage(node, name)
        for path, whole in zip(paths, node.shards):
            if not os.path.exists(path):
                with open(path, "wb") as file:
                    file.truncate(whole.stat().st_size)
        return paths

    def read_shards(self, node, paths, rank, **options):
        """Numbers of the shards that a rank reads in two epochs and more; every image has the bytes of the whole set."""
        indexes = [str(shard.with_suffix(".idx")) for shard in node.shards]
        pipeline = rank_reader(paths, indexes, {"num_shards": node.world, "shard_id": rank, **options})
        pipeline.build()
        found = set()
        for _ in range(2 * sum(samples_per_shard(node.shards[0].parent)) // BATCH):
            (batch,) = pipeline.run()
            for image in batch:
                path, offset, _ = image.source_info().rsplit(":", 2)
                number = paths.index(path)
                content = node.shards[number].read_bytes()[int(offset):]
                self.assertTrue(content.startswith(numpy.asarray(image).tobytes()), f"{path} has other bytes")
                found.add(number)
        return found

    def test_read_the_shards_of_our_rank_and_no_others_when_they_stick_to_them(self):
        orders = ({}, {"random_shuffle": True, "initial_fill": 1000, "seed": 3}, {"pad_last_batch": True})
        for number, node in enumerate(self.nodes("dali", "--index", "dali")):
            paths = self.stage_among_hollow(node, f"node-{number}")
            for options in orders:
                with self.subTest(str(node), **options):
                    read = [self.read_shards(node, paths, rank, stick_to_shard=True, **options) for rank in node.ranks]
                    self.assertEqual(set().union(*read), node.staged)

    def test_read_every_shard_when_they_do_not_which_we_warn_of(self):
        for node in self.nodes("dali", "--index", "dali", counts=[4]):
            if len(node.ranks) < node.world:
                with self.subTest(str(node)):
                    self.assertEqual(self.read_shards(node, node.paths, node.ranks[0]), set(range(4)))
                    self.assertEqual(node.warnings, ["loader_setting"])

    def test_need_a_path_for_every_shard_also_for_those_they_do_not_read(self):
        node = next(node for node in self.nodes("dali", "--index", "dali") if len(node.staged) < len(node.shards))
        with self.assertRaises(RuntimeError):
            self.read_shards(node, self.stage(node, "node"), node.ranks[0], stick_to_shard=True)

    def test_fewer_samples_than_ranks_are_refused_by_both(self):
        node = next(self.nodes("dali", "--index", "dali"))
        with self.assertRaisesRegex(RuntimeError, "needs to be at least equal"):
            self.read_shards(node._replace(world=91), node.paths, 0, stick_to_shard=True)
        self.assertIn("90 samples cannot be divided among 91", shards_for("dali", "0", 91, [45, 45]))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
