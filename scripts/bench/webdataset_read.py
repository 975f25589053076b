"""Iterates over shards with webdataset, nothing decoded: webdataset_read.py FOLDER"""

import pathlib
import sys

import webdataset

urls = [str(path) for path in sorted(pathlib.Path(sys.argv[1]).glob("*.tar"))]
print(sum(1 for _ in webdataset.WebDataset(urls, shardshuffle=False)))
