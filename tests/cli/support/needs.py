"""Where tests look for programs and packages that are not part of this checkout.

What scripts/install-deps and scripts/test install has to be there: a test without it fails and says so. Only what is in OPTIONAL
may be missing; its test is skipped, for a reason in tests/suite/allowed-skips. tests/suite/needs_test.py sees to both.
"""

import importlib.util
import os
import pathlib
import shutil
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]

# Why scripts/install-deps does not install it.
OPTIONAL = {"kubectl": "that of Debian 12 knows no components of kustomize"}

# The switch: 1 hides what is optional, "all" every program.
HIDDEN = os.environ.get("SHARDKIT_HIDE_PROGRAMS", "")

# Where servers lie, which is not in the PATH of all users.
PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"


def optional(program):
    """Its path, or None."""
    if program not in OPTIONAL:
        raise ValueError(f"{program} is not in OPTIONAL of {__file__}")
    return None if HIDDEN else shutil.which(program, path=PATH)


def programs(*names):
    """Their paths; ends the process, with a failure, where one is missing."""
    found = [None if HIDDEN == "all" else shutil.which(name, path=PATH) for name in names]
    missing = [name for name, path in zip(names, found) if path is None]
    if missing:
        sys.exit(f"FAILED: {', '.join(missing)} not found. scripts/test installs what tests need; so does scripts/install-deps --test")
    return found


def program(name):
    return programs(name)[0]


def files(package, pattern, root="/usr"):
    """The files of a Debian package."""
    found = sorted(pathlib.Path(root).glob(pattern))
    if not found:
        sys.exit(f"FAILED: {package} is not installed. scripts/test installs what tests need; so does scripts/install-deps --test")
    return found


def need(package, environment=""):
    """Goes on in the environment that scripts/test makes when this interpreter lacks a package, or fails saying how."""
    if importlib.util.find_spec(package):
        return
    venv = CHECKOUT / f"build/test-venv{environment and '-' + environment}"
    python = venv / "bin/python3"
    if python.exists() and pathlib.Path(sys.prefix) != venv:
        os.execv(python, [str(python), *sys.argv])
    everything = " --all" if environment in ("browser", "energon", "hf", "torch") else ""
    sys.exit(f"FAILED: the Python package {package} is not installed. scripts/test{everything} makes an environment that "
             f"holds it, {venv}; see make_venv there")
