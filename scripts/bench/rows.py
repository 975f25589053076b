"""The rows of bench-peers: what is compared with what."""

import json
import os
import subprocess
import sys
import time

import pipeline_rows
import set_rows
import store_rows
from fio import fio_contenders
from harness import HERE, Contender, drop_caches, shell, warm


def convert_contenders(bench, tree, with_python):
    out = bench.work / "out"
    floor = bench.compiled(HERE / "raw_floor.cpp", "-pthread")
    listing = bench.work / f"{tree.name}.list"
    listing.write_text("\n".join(str(path) for path in sorted(tree.rglob("*.JPEG"))) + "\n")
    contenders = [
        Contender("shardctl convert; sync", shell(f"'{bench.programs}/shardctl' convert '{tree}' '{out}/a' --quiet; sync"),
                  out),
        Contender("raw floor, 2 threads; sync", shell(f"'{floor}' '{listing}' '{out}/a' 2; sync"), out),
        Contender("GNU tar; sync", shell(f"tar cf '{out}/a.tar' -C '{tree}' .; sync"), out),
    ]
    if with_python:
        python, script = bench.python(), HERE / "webdataset_write.py"
        contenders += [
            Contender("webdataset ShardWriter; sync", shell(f"'{python}' '{script}' '{tree}' '{out}' 1; sync"), out),
            Contender("webdataset, 2 processes; sync", shell(f"'{python}' '{script}' '{tree}' '{out}' 2; sync"), out),
        ]
    return contenders


def reading_alone(bench, tree):
    """64 threads that read every file and write nothing."""
    return Contender("read by 64 threads, nothing written",
                     [bench.work / "raw_floor", bench.work / f"{tree.name}.list", "-", 64])


def convert_warm(bench):
    tree = bench.images(bench.options.files)
    warm(tree)
    bench.compare(f"convert, warm source, {bench.options.files} files", convert_contenders(bench, tree, True),
                  note="Source in the page cache; checksums and indexes on; each followed by sync. Bar: at most 0.65 x the "
                       "raw floor, 0.9 x beside a busy loop per core.")


def convert_cold(bench):
    if os.geteuid() != 0:
        print("convert-cold: SKIPPED, dropping the page cache needs root", file=sys.stderr)
        return
    tree = bench.images(bench.options.files)
    total = sum(path.stat().st_size for path in tree.rglob("*.JPEG"))
    contenders = convert_contenders(bench, tree, False) + [reading_alone(bench, tree)] + fio_contenders(bench, total)
    bench.compare(f"convert, cold source, {bench.options.files} files", contenders, before=drop_caches,
                  note="Page cache dropped before each run; each followed by sync. fio's rows are the seconds its rate would "
                       "take for the same bytes. Bar: at least 2 x GNU tar; at most 1.25 x reading alone.")


def convert_1ms(bench):
    if not bench.options.slowfs or os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("convert-1ms: SKIPPED, it needs --slowfs, root and /dev/fuse", file=sys.stderr)
        return
    tree = bench.images(2000)
    warm(tree)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=True)
    slowfs = bench.compiled(bench.options.slowfs.resolve(), "-rdynamic", *flags.stdout.split())
    mount = bench.work / "slow"
    mount.mkdir(exist_ok=True)
    environment = {**os.environ, "SLOWFS_TTL": "60", **{f"SLOWFS_{op}_US": "1000" for op in ("lookup", "open", "read")}}

    def remount():
        subprocess.run(["umount", mount], capture_output=True)
        subprocess.run([slowfs, tree, mount, "-o", "max_threads=128"], env=environment, check=True)
        time.sleep(0.1)

    out = bench.work / "out"
    contenders = [
        Contender("shardctl convert", [bench.programs / "shardctl", "convert", mount, out / "a", "--quiet"], out),
        Contender("GNU tar", ["tar", "cf", out / "a.tar", "-C", mount, "."], out),
        Contender("xargs -P64 cat", shell(f"find '{mount}' -type f -print0 | xargs -0 -P64 -n8 cat > /dev/null")),
    ]
    bench.compare("convert, source with 1 ms per lookup, open and read, 2000 files", contenders, before=remount,
                  note="A pass-through FUSE file system, mounted afresh for each run. Bar: at least 25 x GNU tar.")
    subprocess.run(["umount", mount], check=True)


def iterate(bench):
    shards = bench.shards(bench.options.files)
    warm(shards)
    contenders = [
        Contender("iobench read", [bench.programs / "iobench", "read", shards, "--cache", "any", "--quiet"]),
        Contender("cat", shell(f"cat '{shards}'/*.tar > /dev/null")),
        Contender("webdataset", [bench.python(), HERE / "webdataset_read.py", shards]),
    ]
    bench.compare(f"iterate shards, {bench.options.files} samples", contenders,
                  note="Shards in the page cache, whole processes. Bar: not slower than cat.")


def decode_row(threads):
    def row(bench):
        tree, count = bench.images(2000), 2000

        def ours(printed):
            return count / json.loads(printed)["result"]["samples_per_second"]

        contenders = [
            Contender("iobench decode", [bench.programs / "iobench", "decode", tree, "--threads", threads, "--samples", count,
                                         "--json", "-", "--quiet"], seconds=ours),
            Contender("iobench decode --crop 224", [bench.programs / "iobench", "decode", tree, "--threads", threads,
                                                    "--samples", count, "--crop", 224, "--json", "-"], seconds=ours),
        ]
        peers = ["simplejpeg", "opencv", "pillow"] + (["torchvision", "dali"] if bench.options.all_peers else [])
        for peer in peers:
            contenders.append(Contender(peer, [bench.python(), HERE / "decode_peer.py", peer, tree, threads], seconds=float))
        bench.compare(f"decode 2000 images, {threads} thread{'s' if threads > 1 else ''}", contenders,
                      note="Files in memory before the clock starts; seconds for all of them. Bar: no peer faster; crop 224 "
                           "at least 1.35 x our full decode; two threads at least 1.95 x one.")

    return row


ROWS = {
    "convert-warm": convert_warm,
    "convert-cold": convert_cold,
    "convert-1ms": convert_1ms,
    "iterate": iterate,
    "decode-1": decode_row(1),
    "decode-2": decode_row(2),
    **pipeline_rows.ROWS,
    **set_rows.ROWS,
    **store_rows.ROWS,
}
