"""What the tests of packages share: an installed tree of the developer's build, and running a packer."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from program import CHECKOUT, PROGRAMS  # noqa: E402


def need_build():
    """The developer's build folder; skips the test if its programs are not for other machines."""
    if b"__asan_init" in (PROGRAMS / "iobench").read_bytes() or b"__tsan_init" in (PROGRAMS / "iobench").read_bytes():
        raise unittest.SkipTest("SKIPPED: programs with sanitizers are not for other machines")
    if not (PROGRAMS.parent / "CMakeCache.txt").exists():
        raise unittest.SkipTest("SKIPPED: no build folder here")
    return PROGRAMS.parent


def install_tree(test_class):
    """A folder with bin/ and share/, which goes with the tests of this class."""
    build = need_build()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-test-"))
    test_class.addClassCleanup(shutil.rmtree, folder)
    subprocess.run(["cmake", "--install", build, "--prefix", folder, "--strip"], check=True, stdout=subprocess.DEVNULL)
    return folder


def packed(packer, *arguments):
    done = subprocess.run([CHECKOUT / "scripts/packaging" / packer, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout
