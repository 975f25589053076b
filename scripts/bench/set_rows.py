"""Rows about whole sets: staging and verifying shards, planning a million names."""

import os
import shutil

from harness import Contender, shell, warm


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


def million_names(bench):
    """1000 classes of 1000 images as hard links, 50,000 to a file (ext4 allows 65,000)."""
    tree = bench.work / "names-1m"
    if (tree / ".complete").exists():
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    originals = bench.work / "names-originals"
    originals.mkdir(exist_ok=True)
    for i in range(20):
        (originals / f"{i}.JPEG").write_bytes(b"x" * 100_000)
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


ROWS = {"stage": stage, "verify": verify, "plan-1m": plan}
