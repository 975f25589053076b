"""What the tests of packages share: folders, an installed tree of the developer's build, and running scripts of the project."""

import os
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


def class_folder(test_class):
    """An empty folder, which goes with the tests of this class."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-test-"))
    test_class.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
    return folder


def install_tree(test_class):
    """A folder with bin/ and share/, which goes with the tests of this class."""
    build = need_build()
    folder = class_folder(test_class)
    subprocess.run(["cmake", "--install", build, "--prefix", folder, "--strip"], check=True, stdout=subprocess.DEVNULL)
    return folder


def made_by(script, *arguments, checkout=CHECKOUT, **environment):
    """What this script in scripts/ prints. If it fails, so does the test, with all that it printed."""
    done = subprocess.run([checkout / "scripts" / script, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


def packed(packer, *arguments):
    return made_by(f"packaging/{packer}", *arguments)
