"""Converts an ImageFolder with webdataset's ShardWriter: webdataset_write.py TREE OUT PROCESSES"""

import multiprocessing
import pathlib
import sys

import webdataset


def write(tree, out, part, parts):
    classes = sorted(path.name for path in tree.iterdir() if path.is_dir())
    label = {name: index for index, name in enumerate(classes)}
    files = sorted(tree.glob("*/*.JPEG"))[part::parts]
    with webdataset.ShardWriter(f"{out}/w{part}-%06d.tar", maxcount=5000, maxsize=256 << 20, verbose=0) as sink:
        for path in files:
            sink.write({"__key__": f"{path.parent.name}/{path.stem}", "jpg": path.read_bytes(),
                        "cls": label[path.parent.name]})


if __name__ == "__main__":
    tree, out, parts = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    workers = [multiprocessing.Process(target=write, args=(tree, out, part, parts)) for part in range(parts)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(any(worker.exitcode for worker in workers))
