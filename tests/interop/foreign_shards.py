"""What the tests of other readers' indexes share: shards as Python's tarfile writes them, and what is in ours."""

import io
import os
import pathlib
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from program import FolderTest, run  # noqa: E402

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def write_shard(path, members, dialect):
    """A tar of (name, content); PAX puts a header with a float mtime before every member, as webdataset's writer does."""
    with tarfile.open(path, "w", format=FORMATS[dialect]) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mtime = 1690000000 + (0.25 if dialect == "pax" else 0)
            tar.addfile(info, io.BytesIO(content))


class IndexTest(FolderTest):
    """Shards for readers: a convert's, and others'."""

    def small_tree(self):
        """(tree of random bytes, {key: (image, label)})."""
        source = self.make_tree(classes=3, per_class=30)
        samples = {f"{path.parent.name}/{path.stem}": (path.read_bytes(), path.parent.name[-1].encode())
                   for path in source.glob("*/*.jpg")}
        return source, samples

    def convert(self, *options, limit=("--samples", 40)):
        """(shards, {key: (image, label)}) of a small tree."""
        source, samples = self.small_tree()
        shards = self.folder / "shards"
        self.shardctl("convert", source, shards, *limit, *options)
        return shards, samples

    def write_theirs(self, dialect):
        """(shards, {key: (image, label)}) of two shards by tarfile, with a member that belongs to no sample."""
        shards = self.folder / dialect
        shards.mkdir()
        samples = {f"d{number % 3}/img_{number:02}": (os.urandom(1 + number * 97), str(number % 3).encode())
                   for number in range(20)}
        for part in range(2):
            members = [("LICENSE", b"as is")]
            for key in list(samples)[part * 10:part * 10 + 10]:
                image, label = samples[key]
                members += [(key + ".jpg", image), (key + ".cls", label)]
            write_shard(shards / f"theirs-{part:03}.tar", members, dialect)
        return shards, samples

    def shardctl(self, *args):
        finished = run("shardctl", *args)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished
