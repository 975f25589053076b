"""shardindex.json between shardctl and the real wids, WebDataset's indexed reader (webdataset 0.2.111)."""

import argparse
import contextlib
import os
import sys
import types
import typing
import unittest
import unittest.mock

from foreign_shards import FORMATS, IndexTest, write_shard
from program import need

need("wids", "wids")


def stand_in_for_torch():
    """wids asks of torch for two base classes, and for torch.distributed, which reading does not use; torch is gigabytes."""
    for name in ("torch", "torch.distributed", "torch.utils", "torch.utils.data"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torch"].distributed = sys.modules["torch.distributed"]
    sys.modules["torch.utils.data"].Dataset = types.new_class("Dataset", (typing.Generic[typing.TypeVar("T")],))
    sys.modules["torch.utils.data"].Sampler = type("Sampler", (), {})


stand_in_for_torch()
import wids  # noqa: E402
from wids import wids_dl, wids_index  # noqa: E402


def theirs(shards):
    """The index that wids' own command makes of these shards."""
    names = sorted(path.name for path in shards.glob("*.tar"))
    in_place = unittest.mock.patch.object(wids_dl, "download_file", lambda remote, local: remote)  # not /tmp/shard.tar
    with contextlib.chdir(shards), contextlib.redirect_stdout(None), in_place:
        wids_index.main_create(argparse.Namespace(files=names, output="theirs.json", name=None, base=None, info=None))
    return (shards / "theirs.json").read_text()


class Wids(IndexTest):
    def read(self, shards):
        os.environ["WIDS_CACHE"] = str(self.folder / "cache")
        dataset = wids.ShardListDataset(str(shards / "shardindex.json"), transformations=[])
        self.addCleanup(dataset.close)
        samples = (dataset[number] for number in range(len(dataset)))
        return {sample["__key__"]: (sample[".jpg"].read(), sample[".cls"].read()) for sample in samples}

    def test_reads_every_sample_that_convert_wrote_by_number(self):
        shards, samples = self.convert("--index", "wids")
        self.assertEqual(self.read(shards), samples)
        self.assertEqual((shards / "shardindex.json").read_text(), theirs(shards))

    def test_reads_shards_of_any_dialect_by_our_index_which_is_that_of_its_own_command(self):
        for dialect in FORMATS:
            with self.subTest(dialect):
                shards, samples = self.write_theirs(dialect)
                self.shardctl("index", shards, "--index", "wids")
                self.assertEqual((shards / "shardindex.json").read_text(), theirs(shards))
                self.assertEqual(self.read(shards), samples)

    def test_members_that_are_samples_to_it_alone_do_not_shift_the_numbers_of_those_after_them(self):
        shards = self.folder / "meta"
        shards.mkdir()
        for part in range(2):
            write_shard(shards / f"{part:03}.tar",
                        [("__meta__/info.json", b"{}"), (f"{part}.jpg", b"i"), (f"{part}.cls", b"1")], "ustar")
        self.shardctl("index", shards, "--index", "wids")
        self.assertEqual((shards / "shardindex.json").read_text(), theirs(shards))
        os.environ["WIDS_CACHE"] = str(self.folder / "cache")
        dataset = wids.ShardListDataset(str(shards / "shardindex.json"), transformations=[])
        self.addCleanup(dataset.close)
        self.assertEqual([dataset[number]["__key__"] for number in range(len(dataset))],
                         ["__meta__/info", "0", "__meta__/info", "1"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # wids leaves files open
