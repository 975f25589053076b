"""What the packers in this folder that are written in Python share."""

import functools
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Tests pack other programs, to another folder.
DIST = pathlib.Path(os.environ.get("SHARDKIT_DIST", ROOT / "dist"))


def installed():
    """The folder with bin/ and share/ to pack."""
    folder = pathlib.Path(os.environ.get("SHARDKIT_INSTALL", ROOT / "build/portable/install"))
    if not (folder / "bin/shardctl").exists():
        sys.exit(f"{os.path.basename(sys.argv[0])}: there are no programs in {folder}/bin; scripts/packaging/portable makes them")
    return folder


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"^project\(shardkit VERSION ([0-9.]+)", text, re.MULTILINE)[1]


@functools.cache
def made_at():
    """The time that archives carry: that of the commit."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return int(epoch or subprocess.check_output(["git", "-C", ROOT, "log", "-1", "--format=%ct"]))


def report(path):
    print(f"{os.path.relpath(path, ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
