"""Indexes between shardctl and the real webdataset reader of NVIDIA DALI, which needs no GPU for it."""

import unittest

from foreign_shards import FORMATS, IndexTest, write_shard
from program import need, run

need("nvidia", "dali")
import numpy  # noqa: E402
from nvidia.dali import fn, pipeline_def  # noqa: E402
from wds2idx import IndexCreator  # noqa: E402


@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def reader(shards):
    image, label = fn.readers.webdataset(paths=[str(path) for path in shards],
                                         index_paths=[str(path.with_suffix(".idx")) for path in shards],
                                         ext=["jpg", "cls"], missing_component_behavior="error", name="reader")
    return image, label


def read(folder):
    """Every sample by key: (image, label)."""
    pipeline = reader(sorted(folder.glob("*.tar")))
    pipeline.build()
    found = {}
    for _ in range(pipeline.epoch_size("reader")):
        image, label = (output[0] for output in pipeline.run())
        name = image.source_info().rsplit(":", 1)[1]
        found[name.removesuffix(".jpg")] = (numpy.asarray(image).tobytes(), numpy.asarray(label).tobytes())
    return found


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
