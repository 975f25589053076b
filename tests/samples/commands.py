"""What the tests of samples share: the command lines in them, held against what the programs say of themselves."""

import functools
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from program import CHECKOUT, run  # noqa: E402

SAMPLES = CHECKOUT / "samples"


@functools.cache
def help_of(verb):
    text = run("shardctl", *verb.split(), "--help").stdout
    shared = re.findall(r"see shardctl help ([a-z]+)", text)
    return text + "".join(run("shardctl", "help", word).stdout for word in shared)


def options_of(verb):
    """Every spelling of an option that the verb's help lists."""
    listed = re.findall(r"^  (?:(-[a-z]), )?(--[a-z][a-z0-9-]*)", help_of(verb), re.MULTILINE)
    return {spelling for spellings in listed for spelling in spellings}


def problems_of(words):
    """What is wrong with a command line of shardctl, [shardctl, VERB, ...]; one text each."""
    verb = words[1]
    if not re.search(rf"^  {verb}\b", help_of(""), re.MULTILINE):
        return [f"there is no shardctl {verb}"]
    if verb == "cache":
        verb = " ".join(words[1:3])
    used = {word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
    return [f"shardctl {verb} has no {option}" for option in sorted(used - options_of(verb))]


def exit_codes():
    """{code: meaning} of docs/reference/README.md."""
    text = (CHECKOUT / "docs/reference/README.md").read_text()
    return {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.*) \|$", text, re.MULTILINE)}


FAKE = """#!/bin/bash
""" + sys.executable + """ - "$0" "$@" <<'PYTHON'
import json, os, sys
wanted = {name: value for name, value in os.environ.items() if name.startswith(("SLURM", "POD_"))}
call = {"program": os.path.basename(sys.argv[1]), "arguments": sys.argv[2:], "environment": wanted}
with open(os.path.join(os.path.dirname(sys.argv[1]), "calls"), "a") as calls:
    calls.write(json.dumps(call) + "\\n")
PYTHON
"""


def fake_programs(folder, **scripts):
    """Puts programs of these names into a folder, which note how they are called and then do what the script (bash) says.
    What is returned gives their calls so far: program, arguments, environment."""
    for name, script in scripts.items():
        path = folder / name
        path.write_text(FAKE + script + "\n")
        path.chmod(0o755)
    record = folder / "calls"
    return lambda: [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
