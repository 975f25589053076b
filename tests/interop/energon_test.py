"""Indexes between shardctl and the real Megatron-Energon, which needs torch."""

import pathlib
import shutil
import subprocess
import sys
import unittest

from foreign_shards import FORMATS, IndexTest, write_shard
from program import need

need("megatron", "energon")
from megatron.energon import WorkerConfig, get_loader, get_train_dataset  # noqa: E402

PREPARE = [str(pathlib.Path(sys.prefix) / "bin/energon"), "prepare", "--non-interactive", "--split-ratio", "1,0,0",
           "--sample-type", "ImageClassificationSample", "--field-map", '{"image": "jpg", "label": "cls"}']
UNUSED = {"index.sqlite", "index.uuid"}  # for random access by key, and to recognise a set again


def read(shards, samples):
    """(key, label, pixels) of as many samples as an epoch has."""
    dataset = get_train_dataset(str(shards), worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0), batch_size=1,
                                shuffle_buffer_size=None, max_samples_per_sequence=None)
    loader = iter(get_loader(dataset))
    for _ in range(samples):
        sample = next(loader)
        yield sample.__key__[0], int(sample.label[0]), sample.image.numel()


def files(folder):
    kept = (path for path in folder.rglob("*") if path.is_file() and path.name not in UNUSED)
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept if ".shardkit" not in path.parts}


class Energon(IndexTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "photos"
        self.shardctl("synth", self.source, "--classes", 3, "--per-class", 12)
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

    def test_reads_every_sample_that_convert_wrote(self):
        found = {key: (label, pixels) for key, label, pixels in read(self.shards, 36)}
        self.assertEqual(sorted(found), sorted(f"{path.parent.name}/{path.stem}" for path in self.source.glob("*/*")))
        for key, (label, pixels) in found.items():
            self.assertEqual(label, int(key.split("/")[0][1:]))
            self.assertGreater(pixels, 0)

    def test_what_convert_wrote_is_what_its_own_command_writes(self):
        ours = files(self.shards)
        del ours["manifest.json"]
        self.assertEqual(ours, files(self.prepared(self.shards)))

    def test_reads_shards_of_any_dialect_by_our_indexes_which_are_those_of_its_own_command(self):
        images = sorted(self.source.glob("*/*"))
        for dialect in FORMATS:
            with self.subTest(dialect):
                shards = self.folder / dialect
                shards.mkdir()
                for part in range(3):
                    members = [("__meta__/info.json", b"{}")]
                    for path in images[part::3]:
                        key = f"{path.parent.name}/{path.stem}"
                        members += [(key + ".cls", b"%d" % part), (key + ".jpg", path.read_bytes()), ("LICENSE", b"as is")]
                    write_shard(shards / f"{part:02}.tar", members, dialect)
                self.shardctl("index", shards, "--energon")
                ours = files(shards)
                del ours["manifest.json"]
                self.assertEqual(ours, files(self.prepared(shards)))
                self.assertEqual(len({key for key, _, _ in read(shards, 36)}), 36)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
