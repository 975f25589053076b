"""Shuffles shards with webdataset as its users do: a buffer of 5000 samples, then ShardWriter.

usage: webdataset_reshard.py SHARDS TARGET
"""

import pathlib
import sys

import webdataset as wds

source, target = map(pathlib.Path, sys.argv[1:])
urls = sorted(map(str, source.glob("*.tar")))
samples = wds.WebDataset(urls, shardshuffle=len(urls), empty_check=False).shuffle(5000)
with wds.ShardWriter(f"{target}/out-%06d.tar", maxcount=5000, maxsize=256 << 20, verbose=0) as sink:
    for sample in samples:
        sink.write({name: value for name, value in sample.items() if name == "__key__" or not name.startswith("__")})
