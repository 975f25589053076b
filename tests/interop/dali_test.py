"""Indexes between shardctl and the real webdataset reader of NVIDIA DALI, which needs no GPU for it."""

import unittest

from foreign_shards import FORMATS, IndexTest, write_shard
from program import need, run

need("nvidia", "dali")
import numpy  # noqa: E402
from nvidia.dali import fn, pipeline_def  # noqa: E402
from wds2idx import IndexCreator  # noqa: E402


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
                self.shardctl("index", shards, "--dali")
                self.assertEqual(read(shards), samples)

    def test_our_index_holds_the_very_words_of_its_own_tool_where_that_is_right(self):
        path = self.folder / "s.tar"
        members = [("a/x.v1.JPG", b"i" * 700), ("a/x.cls", b"1"), ("a/._x.jpg", b"?"), ("b/y.jpg", b""), ("b/y.cls", b"2")]
        for dialect in ("ustar", "gnu"):  # under PAX it computes wrong offsets
            with self.subTest(dialect):
                write_shard(path, members, dialect)
                self.shardctl("index", path, "--dali")
                self.assertEqual((self.folder / "s.idx").read_text(), theirs(path))

    def test_an_index_that_it_could_not_read_is_refused(self):
        write_shard(self.folder / "s.tar", [("a.jpg", b"i"), ("b c.jpg", b"i")], "ustar")
        self.assert_error(run("shardctl", "index", self.folder / "s.tar", "--dali"), 4, "s.tar", "'b c.jpg'")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
