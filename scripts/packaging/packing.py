"""What the packers in this folder that are written in Python share."""

import argparse
import functools
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The processors that the packages are for.
ARCH = os.environ.get("SHARDKIT_ARCH", os.uname().machine)


def portable(arch):
    """What scripts/packaging/portable built for these processors."""
    return ROOT / f"build/portable-{arch}/install"


def options_of(description, **operands):
    """Options that tests use: a release packs the portable programs into dist/."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", type=pathlib.Path, default=portable(ARCH), help=argparse.SUPPRESS)
    parser.add_argument("--dist", type=pathlib.Path, default=ROOT / "dist", help=argparse.SUPPRESS)
    for name, settings in operands.items():
        parser.add_argument(name, help=argparse.SUPPRESS, **settings)
    options = parser.parse_args()
    if not (options.install / "bin/shardctl").exists():
        sys.exit(f"{parser.prog}: there are no programs in {options.install}/bin; scripts/packaging/portable makes them")
    options.dist.mkdir(parents=True, exist_ok=True)
    return options


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"^set\(SHARDKIT_VERSION ([^)]+)\)", text, re.MULTILINE)[1]


@functools.cache
def made_at():
    """The time that archives carry: that of the commit."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return int(epoch or subprocess.check_output(["git", "-C", ROOT, "log", "-1", "--format=%ct"]))


def report(path):
    size = path.stat().st_size
    print(f"{os.path.relpath(path, ROOT)}: " + (f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"))
