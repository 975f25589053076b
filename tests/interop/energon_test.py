"""Indexes between shardctl and the real Megatron-Energon, which needs torch."""

import pathlib
import shutil
import subprocess
import sys
import unittest

from foreign_shards import FORMATS, IndexTest, write_shard
from program import need

need("megatron", "energon")
import numpy  # noqa: E402
from megatron.energon import WorkerConfig, get_loader, get_train_dataset, get_val_dataset  # noqa: E402
from PIL import Image  # noqa: E402

PREPARE = [str(pathlib.Path(sys.prefix) / "bin/energon"), "prepare", "--non-interactive", "--split-ratio", "1,0,0",
           "--sample-type", "ImageClassificationSample", "--field-map", '{"image": "jpg", "label": "cls"}']
UNUSED = {"index.sqlite", "index.uuid"}  # for random access by key, and to recognize a set again


def read(shards, rank=0, world=1, workers=0):
    """[(key, label, image)] of one rank's epoch, in order. A validation set, unlike a training set, ends."""
    config = WorkerConfig(rank=rank, world_size=world, num_workers=workers)
    dataset = get_val_dataset(str(shards), split_part="train", worker_config=config, batch_size=1)
    return [(sample.__key__[0], int(sample.label[0]), sample.image[0]) for sample in get_loader(dataset)]


def training_keys(shards, samples):
    """Keys of the first epoch of a training set, which never ends; a shuffle buffer would mix it with the next."""
    dataset = get_train_dataset(str(shards), worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0), batch_size=1,
                                shuffle_buffer_size=None, max_samples_per_sequence=4)
    loader = iter(get_loader(dataset))
    return [next(loader).__key__[0] for _ in range(samples)]


def files(folder):
    kept = (path for path in folder.rglob("*") if path.is_file() and path.name not in UNUSED)
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept if ".shardkit" not in path.parts}


class Energon(IndexTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "photos"
        self.shardctl("synth", self.source, "--classes", 3, "--per-class", 12)
        self.images = {f"{path.parent.name}/{path.stem}": path for path in sorted(self.source.glob("*/*"))}
        self.shards = self.folder / "shards"
        self.shardctl("convert", self.source, self.shards, "--samples", 10, "--index", "energon")

    def prepared(self, shards):
        """A copy of the tars with what its own command writes."""
        theirs = self.folder / "theirs"
        shutil.rmtree(theirs, ignore_errors=True)
        theirs.mkdir()
        for tar in shards.glob("*.tar"):
            shutil.copy(tar, theirs)
        subprocess.run([*PREPARE, str(theirs)], check=True, capture_output=True)
        return theirs

    def assert_all_read(self, pieces):
        """The pieces together are each sample of the source once: key, label, and the pixels of its image."""
        found = [sample for piece in pieces for sample in piece]
        self.assertEqual(sorted(key for key, _, _ in found), sorted(self.images))
        for key, label, pixels in found:
            self.assertEqual(label, int(key.split("/")[0][1:]))
            expected = numpy.asarray(Image.open(self.images[key]).convert("RGB"))
            self.assertTrue(numpy.array_equal((pixels * 255).round().numpy().transpose(1, 2, 0), expected), key)

    def test_reads_what_convert_wrote_without_a_prepare(self):
        for workers in (0, 2):
            self.assert_all_read([read(self.shards, workers=workers)])
        self.assertEqual(UNUSED & {path.name for path in self.shards.rglob("*")}, set())  # it did not make up for them

    def test_reads_what_index_wrote_without_a_prepare(self):
        bare = self.folder / "bare"
        bare.mkdir()
        for tar in self.shards.glob("*.tar"):
            shutil.copy(tar, bare)
        self.shardctl("index", bare, "--index", "energon")
        self.assert_all_read([read(bare)])

    def test_ranks_share_the_samples_without_overlap(self):
        for world in (2, 3):
            with self.subTest(world=world):
                self.assert_all_read([read(self.shards, rank, world) for rank in range(world)])

    def test_trains_on_every_sample(self):
        self.assertEqual(sorted(training_keys(self.shards, len(self.images))), sorted(self.images))

    def test_what_convert_wrote_is_what_its_own_command_writes(self):
        ours = files(self.shards)
        del ours["manifest.json"]
        self.assertEqual(ours, files(self.prepared(self.shards)))

    def test_reads_shards_of_any_dialect_by_our_indexes_which_are_those_of_its_own_command(self):
        images = list(self.images.items())
        for dialect in FORMATS:
            with self.subTest(dialect):
                shards = self.folder / dialect
                shards.mkdir()
                for part in range(3):
                    members = [("__meta__/info.json", b"{}")]
                    for key, path in images[part::3]:
                        members += [(key + ".cls", b"%d" % part), (key + ".jpg", path.read_bytes()), ("LICENSE", b"as is")]
                    write_shard(shards / f"{part:02}.tar", members, dialect)
                self.shardctl("index", shards, "--index", "energon")
                ours = files(shards)
                del ours["manifest.json"]
                self.assertEqual(ours, files(self.prepared(shards)))
                self.assertEqual(sorted(key for key, _, _ in read(shards)), sorted(self.images))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
