"""Shards of photographs as other programs read them: webdataset, GNU tar, libarchive, Python's tarfile.

The photographs are those of the folder that SHARDKIT_IMAGENET_SAMPLE names (or ../shared/data/imagenet-sample beside the
checkout); where there is none, synth makes some.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from program import FolderTest, need, run  # noqa: E402

need("webdataset")
import webdataset  # noqa: E402
from libarchive_reader import members as libarchive_members  # noqa: E402

HEADER = 512
CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


def photographs(folder):
    sample = pathlib.Path(os.environ.get("SHARDKIT_IMAGENET_SAMPLE", CHECKOUT.parent / "shared/data/imagenet-sample"))
    if sample.is_dir():
        return sample
    print("no real photographs here (SHARDKIT_IMAGENET_SAMPLE): reading made-up ones")
    made = folder / "synth"
    finished = run("shardctl", "synth", made, "--classes", 4, "--per-class", 15)
    assert finished.returncode == 0, finished.stderr
    return made


def index_lines(shards):
    """Per shard name: (key, label, original path, {extension: (content offset, size)}) as our index says."""
    found = {}
    for index in sorted((shards / ".shardkit").glob("*.index")):
        samples = found.setdefault(index.name.removesuffix(".index"), [])
        for line in index.read_text().splitlines():
            if line.startswith("+\t"):
                _, key, label, path, *members = line.split("\t")
                parts = (member.split(":") for member in members)
                samples.append((key, int(label), path, {part[0]: (int(part[1]), int(part[2])) for part in parts}))
    return found


def expected_members(samples):
    """(name, header offset, size), in the order of the shard."""
    return sorted(
        ((f"{key}.{extension}", offset - HEADER, size)
         for key, _, _, parts in samples for extension, (offset, size) in parts.items()),
        key=lambda member: member[1])


def gnu_tar_members(path):
    listing = subprocess.run(["tar", "--list", "--verbose", "--block-number", "--file", path], capture_output=True, text=True,
                             check=True)
    assert listing.stderr == "", listing.stderr
    lines = (re.match(r"block (\d+): \S+ \S+ +(\d+) \S+ \S+ (.*)", line) for line in listing.stdout.splitlines())
    return [(match[3], int(match[1]) * HEADER, int(match[2])) for match in lines if match]


class Readers(FolderTest):
    def setUp(self):
        super().setUp()
        self.source = photographs(self.folder)
        self.shards = self.folder / "shards"
        finished = run("shardctl", "convert", self.source, self.shards, "--size", "8MiB")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.index = index_lines(self.shards)
        self.images = [path for path in self.source.glob("*/*") if path.is_file()]

    def test_webdataset_reads_every_sample_and_label_and_the_very_bytes_of_the_source(self):
        urls = [str(self.shards / shard["name"]) for shard in json.loads((self.shards / "manifest.json").read_text())["shards"]]
        self.assertGreater(len(urls), 0)
        by_key = {key: (label, path) for samples in self.index.values() for key, label, path, _ in samples}
        labels = {name: label for label, name in enumerate(sorted(path.name for path in self.source.iterdir() if path.is_dir()))}
        read = set()
        for sample in webdataset.WebDataset(urls, shardshuffle=False):
            label, path = by_key[sample["__key__"]]
            self.assertEqual(sample["jpg"], (self.source / path).read_bytes(), path)
            self.assertEqual(int(sample["cls"]), label)
            self.assertEqual(label, labels[pathlib.PurePath(path).parts[0]])
            read.add(path)
        self.assertEqual(read, {str(path.relative_to(self.source)) for path in self.images})

    def test_gnu_tar_libarchive_and_tarfile_list_the_names_sizes_and_offsets_of_our_index(self):
        for name, samples in self.index.items():
            path = self.shards / name
            expected = expected_members(samples)
            self.assertEqual(gnu_tar_members(path), expected, name)
            self.assertEqual(libarchive_members(path), expected, name)
            with tarfile.open(path) as archive:
                self.assertEqual([(member.name, member.offset, member.size) for member in archive], expected, name)

    def test_the_checksums_of_manifest_and_index_are_those_of_xxhsum(self):
        for shard in json.loads((self.shards / "manifest.json").read_text())["shards"]:
            printed = subprocess.run(["xxh128sum", self.shards / shard["name"]], capture_output=True, text=True, check=True)
            self.assertEqual(printed.stdout.split()[0], shard["xxh3_128"])

    def test_webdataset_pipes_our_shards_on_unchanged(self):
        """What a user does to thin or reorder a set: read with webdataset, write with its ShardWriter, verify."""
        again = self.folder / "again"
        again.mkdir()
        urls = sorted(str(path) for path in self.shards.glob("*.tar"))
        with webdataset.ShardWriter(str(again / "s-%06d.tar"), maxcount=100, verbose=0) as writer:
            for sample in webdataset.WebDataset(urls, shardshuffle=False):
                writer.write({key: value for key, value in sample.items() if key in ("__key__", "jpg", "cls")})
        finished = run("shardctl", "verify", again, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(json.loads(finished.stdout)["result"]["samples"], len(self.images))


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # webdataset leaves files open
