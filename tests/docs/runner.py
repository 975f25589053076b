"""Runs the blocks of a page in order, in a scratch folder with the programs in PATH."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from pages import ROOT, BadPage
from shown_output import difference, lines_of, refreshed

sys.path.insert(0, str(ROOT / "tests/cli/support"))
from program import PROGRAMS  # noqa: E402

TIMEOUT = 900  # seconds after which a block hangs
# For set-up blocks: `photos DIR [CLASSES [PER_CLASS]]` makes photographs, the same in each page.
PHOTOS = """#!/bin/sh -e
cached="$DOCS_CACHE/$(printf %s "${2:-10}-${3:-20}")"
[ -d "$cached" ] || shardctl synth "$cached" --classes "${2:-10}" --per-class "${3:-20}" --quiet >/dev/null
mkdir -p "$(dirname "$1")" && cp -r "$cached" "$1" && rm -f "$1/.shardkit-synth"
"""


class Runner:
    """Scratch folders below one of its own. `tier` is "run", "heavy" or the name of a stand-in. With `write`, pages get
    the output of this run: its values, and where nothing is left out with `...`, other lines too."""

    def __init__(self, tier, environment=None, write=False):
        self.tier = tier
        self.write = write
        disk = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None  # /tmp may be a tmpfs, which is never cold
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-docs-", dir=disk))
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.tool("photos", PHOTOS)
        for name in ("python", "python3"):
            self.tool(name, f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SLURM_", "SHARDKIT_"))}
        self.environment = {**clean, "PATH": f"{self.bin}:{PROGRAMS.resolve()}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
                            "DOCS_CACHE": str(self.folder / "cache"), "CHECKOUT": str(ROOT), **(environment or {})}

    def tool(self, name, script):
        """A program for the blocks of a page."""
        path = self.bin / name
        path.write_text(script)
        path.chmod(0o755)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def due(self, block):
        if block.tag == "setup":
            return block.stand_in in ("", self.tier)
        return block.tag == "run" or self.tier in (block.tag, block.stand_in)

    def run_page(self, page):
        """Runs what is due; returns (how many blocks of this tier ran, texts of what was wrong)."""
        scratch = self.folder / "pages" / "-".join(page.path.relative_to(page.path.anchor).with_suffix("").parts[-2:])
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        wrong, ran = [], 0
        for block in page.blocks:
            if not self.due(block):
                continue
            problem = self.run_block(block, page, scratch)
            if problem:
                wrong.append(f"{block.place}: {problem}")
                break  # what follows builds on it
            ran += block.tag != "setup" and (self.tier == "run") == (block.tag == "run")
        shutil.rmtree(scratch, ignore_errors=True)
        return ran, wrong

    def run_block(self, block, page, scratch):
        text = block.text
        for path in page.paths if block.tag != "setup" else []:
            text = re.sub(rf"(?<![\w./]){re.escape(path)}(?=[/\s'\"]|$)", f"{scratch}{path}", text, flags=re.M)
        if block.file:
            (scratch / block.file).parent.mkdir(parents=True, exist_ok=True)
            (scratch / block.file).write_text(text)
            return None
        if block.language not in ("sh", "bash", "console", "python"):
            raise BadPage(f"{block.place}: how is {block.language} run? Give it a file=NAME")
        command = [sys.executable, "-"] if block.language == "python" else ["bash", "-e", "-o", "pipefail", "-s"]
        try:
            finished = subprocess.run(command, input=text, cwd=scratch, env={**self.environment, "HOME": str(scratch)},
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired as late:
            return f"still running after {TIMEOUT} s: {late.stdout}"
        if finished.returncode not in block.exit_codes:
            expected = " or ".join(map(str, block.exit_codes))
            return f"exit code {finished.returncode} instead of {expected}:\n{finished.stdout}"
        if finished.returncode != block.exit_codes[0]:
            return None  # the page does not show this output
        problem = block.output and difference(block.output, finished.stdout, scratch)
        if block.output and self.write and (not problem or "..." not in block.output):
            new = "\n".join(lines_of(finished.stdout, scratch)) + "\n" if problem else refreshed(
                block.output, finished.stdout, scratch)
            page.path.write_text(page.path.read_text().replace(block.output, new, 1))
            problem = None
        return problem
