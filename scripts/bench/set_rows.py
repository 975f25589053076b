"""Rows about whole sets: staging, verifying, resharding and indexing shards, a million names."""

import json
import os
import shutil

from harness import HERE, Contender, shell, warm


def stage(bench):
    shards = bench.shards(bench.options.files)
    warm(shards)
    out = bench.work / "staged"
    contenders = [
        Contender("shardctl stage", [bench.programs / "shardctl", "stage", shards, out / "a", "--quiet"], out),
        Contender("cp -r; sync", shell(f"cp -r '{shards}' '{out}/a'; sync"), out),
        Contender("cp -r, not durable", ["cp", "-r", shards, out / "a"], out),
    ]
    if shutil.which("rsync"):
        contenders.append(Contender("rsync -r; sync", shell(f"rsync -r '{shards}/' '{out}/a'; sync"), out))
    if shutil.which("rclone"):
        contenders.append(Contender("rclone copy; sync", shell(f"rclone copy '{shards}' '{out}/a'; sync"), out))
    bench.compare(f"stage, local, shards of {bench.options.files} images", contenders,
                  note="Shards in the page cache. Ours checks every byte against the manifest and is durable when it ends. "
                       "Bar: at most 1.1 x `cp -r; sync`.")


def verify(bench):
    shards = bench.shards(bench.options.files)
    warm(shards)
    two_at_a_time = f"find '{shards}' -maxdepth 1 -name '*.tar' -print0 | xargs -0 -P2 -n1"
    contenders = [
        Contender("shardctl verify --depth checksum",
                  [bench.programs / "shardctl", "verify", shards, "--depth", "checksum", "--quiet"]),
        Contender("shardctl verify --depth structure",
                  [bench.programs / "shardctl", "verify", shards, "--depth", "structure", "--quiet"]),
        Contender("xxh128sum, 2 at a time", shell(f"{two_at_a_time} xxh128sum -q")),
        Contender("sha256sum, 2 at a time", shell(f"{two_at_a_time} sha256sum > /dev/null")),
    ]
    bench.compare(f"verify, shards of {bench.options.files} images", contenders,
                  note="Shards in the page cache. Bar: structure and checksums within 1.5 x xxh128sum.")


def verify_decode(bench):
    shards = bench.shards(2000)
    warm(shards)
    decode = [bench.programs / "iobench", "decode", shards, "--samples", "2000", "--threads", "2", "--json", "-"]
    contenders = [
        Contender("shardctl verify --depth decode, 2 threads",
                  [bench.programs / "shardctl", "verify", shards, "--depth", "decode", "--threads", "2", "--quiet"]),
        Contender("iobench decode, 2 threads", decode,
                  seconds=lambda printed: 2000 / json.loads(printed)["result"]["samples_per_second"]),
    ]
    bench.compare("verify, decode, shards of 2000 images", contenders,
                  note="Shards in the page cache. iobench decodes the same images from memory and checks nothing else; its "
                       "seconds are 2000 over its rate.")


def reshard(bench):
    shards = bench.shards(bench.options.files)
    warm(shards)
    out = bench.work / "resharded"
    python, script = bench.python(), HERE / "webdataset_reshard.py"
    contenders = [
        Contender("shardctl reshard --shuffle 1; sync",
                  shell(f"'{bench.programs}/shardctl' reshard '{shards}' '{out}/a' --shuffle 1 --quiet; sync"), out),
        Contender("cp; sync", shell(f"cp '{shards}'/*.tar '{out}'; sync"), out),
        Contender("webdataset shuffle(5000), ShardWriter; sync",
                  shell(f"'{python}' '{script}' '{shards}' '{out}'; sync"), out),
    ]
    bench.compare(f"reshard, one global order, shards of {bench.options.files} images", contenders,
                  note="Shards in the page cache. Ours is exact: any sample may go anywhere; webdataset's buffer of 5000 is not. "
                       "Bar: at most 0.65 x `cp; sync`, 1.0 x beside a busy loop per core; less than 512 MB.")


def index(bench):
    shards = bench.shards(bench.options.files)
    warm(shards)
    total = sum(path.stat().st_size for path in shards.glob("*.tar"))
    foreign = bench.work / "foreign"
    shutil.rmtree(foreign, ignore_errors=True)
    foreign.mkdir()
    for tar in shards.glob("*.tar"):
        os.link(tar, foreign / tar.name)
    out = bench.work / "indexed"
    contenders = [
        Contender("shardctl index", shell(f"ln '{shards}'/*.tar '{out}'; '{bench.programs}/shardctl' index '{out}' --quiet"),
                  out),
        Contender("shardctl ls, no index there", shell(f"'{bench.programs}/shardctl' ls '{foreign}' > /dev/null")),
        Contender("shardctl ls, by the index", shell(f"'{bench.programs}/shardctl' ls '{shards}' > /dev/null")),
        Contender("tar tf", shell(f"for t in '{foreign}'/*.tar; do tar tf $t > /dev/null; done")),
        Contender("cat", shell(f"cat '{foreign}'/*.tar > /dev/null")),
    ]
    bench.compare(f"index and ls, shards of {bench.options.files} images", contenders,
                  note=f"Shards of {total / 1e9:.2f} GB in the page cache. index reads and hashes every byte. "
                       f"Bar: 1.5 GB/s, which is {total / 1.5e9:.2f} s.")
    shutil.rmtree(foreign)


def stat(bench):
    tree = million_names(bench)
    shards = bench.work / "shards-1m"
    bench.check(bench.programs / "shardctl", "convert", tree, shards, "--quiet")
    contenders = [
        Contender("shardctl stat", [bench.programs / "shardctl", "stat", shards, "--quiet"]),
        Contender("cat of the indexes", shell(f"cat '{shards}'/.shardkit/*.index > /dev/null")),
    ]
    bench.compare("stat of 1,000,000 samples", contenders, note="Indexes in the page cache. Bar: less than 3 s.")


def million_names(bench):
    """1000 classes of 1000 images as hard links to small files, 50,000 to each (ext4 allows 65,000)."""
    tree = bench.work / "names-1m"
    originals = bench.work / "names-originals"
    if (tree / ".complete").exists() and (originals / "0.JPEG").stat().st_size == 100:
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    originals.mkdir(exist_ok=True)
    for i in range(20):
        (originals / f"{i}.JPEG").write_bytes(b"x" * 100)
    for c in range(1000):
        folder = tree / f"n{c:08}"
        folder.mkdir(parents=True)
        for i in range(1000):
            os.link(originals / f"{c // 50}.JPEG", folder / f"n{c:08}_{i:05}.JPEG")
    (tree / ".complete").touch()
    return tree


def plan(bench):
    tree = million_names(bench)
    plan_file = bench.work / "plan-1m"
    contenders = [
        Contender("shardctl plan", shell(f"rm -f '{plan_file}'; '{bench.programs}/shardctl' plan '{tree}' -o '{plan_file}' "
                                         "--quiet")),
        Contender("find, sizes and times", shell(f"find '{tree}' -printf '%s %T@ %p\\n' > /dev/null")),
    ]
    bench.compare("plan of 1,000,000 names", contenders,
                  note="Names in 1000 folders, hard links to 20 files; directory entries and inodes in memory. Bar: at most "
                       "160 MB of memory.")


ROWS = {"stage": stage, "verify": verify, "verify-decode": verify_decode, "reshard": reshard, "index": index,
        "plan-1m": plan, "stat-1m": stat}
