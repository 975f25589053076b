"""Rows about object stores: staging from a real radosgw on this machine, beside s5cmd."""

import contextlib
import os
import random
import sys

from harness import ROOT, Contender, shell

sys.path.insert(0, str(ROOT / "tests" / "net" / "support"))
import radosgw  # noqa: E402

BUCKET = "bench"


def s5cmd(bench):
    """s5cmd's program, of its Python package."""
    venv = bench.python().parent.parent
    return next(venv.glob("lib/python*/site-packages/s5cmd/bin/s5cmd"))


@contextlib.contextmanager
def bucket_of(bench, folder, name):
    """A store that holds the folder's files below `name`; the environment names it to programs."""
    server = radosgw.Radosgw()
    try:
        server.start()
        os.environ.update(AWS_ACCESS_KEY_ID=server.access_key, AWS_SECRET_ACCESS_KEY=server.secret_key,
                          AWS_EC2_METADATA_DISABLED="true", AWS_ENDPOINT_URL=server.endpoint,
                          S3_ENDPOINT_URL=server.endpoint)
        program = s5cmd(bench)
        bench.check(program, "mb", f"s3://{BUCKET}")
        bench.check(program, "cp", f"{folder}/", f"s3://{BUCKET}/{name}/")
        yield
    finally:
        server.stop()


def contenders(bench, name, out):
    theirs = f"'{s5cmd(bench)}' cp 's3://{BUCKET}/{name}/*' '{out}/a/' > /dev/null"
    return [
        Contender("shardctl stage", [bench.programs / "shardctl", "stage", f"s3://{BUCKET}/{name}", out / "a", "--quiet"],
                  out),
        Contender("s5cmd cp; sync", shell(f"{theirs}; sync"), out),
        Contender("s5cmd cp, not durable", shell(theirs), out),
    ]


def stage_s3(bench):
    shards = bench.shards(bench.options.files)
    out = bench.work / "staged"
    with bucket_of(bench, shards, "train"):
        bench.compare(f"stage, S3, shards of {bench.options.files} images", contenders(bench, "train", out),
                      note="radosgw on this machine, which shares its cores. Ours checks every byte against the manifest and "
                           "is durable when it ends. Bar: not slower than s5cmd without its sync, with at most 0.8 x its CPU time.")


def small_files(bench, count):
    """A tree of `count` files of 4 to 5 kB."""
    tree = bench.work / f"small-{count}"
    if (tree / ".complete").exists():
        return tree
    noise = random.Random(1).randbytes(1 << 20)
    for number in range(count):
        path = tree / f"{number // 1000:03}" / f"{number:06}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = number * 37 % 900_000
        path.write_bytes(noise[start:start + 4000 + number % 1000])
    (tree / ".complete").touch()
    return tree


def stage_small(bench):
    count = 100_000
    out = bench.work / "staged"
    with bucket_of(bench, small_files(bench, count), "small"):
        bench.compare(f"stage, S3, {count:,} objects of 4 to 5 kB", contenders(bench, "small", out),
                      note="radosgw on this machine, which shares its cores and bounds the rate. No manifest. Bar: at least "
                           "0.9 x as fast as s5cmd.")


ROWS = {"stage-s3": stage_s3, "stage-small": stage_small}
