"""The commands of README, docs and samples do what their pages show. See pages.py for the tags.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/docs/commands_test.py [--write] [TIER [PAGE...]]

TIER: run (default), heavy, radosgw, slurm. Without the stand-in, or torch, the tier is skipped with a message. --write replaces
what pages show by what this run printed; of outputs with `...` only the numbers. Use programs of the release preset on an idle
machine, and read the difference.
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import stand_ins  # noqa: E402
from pages import ROOT, TAGS, BadPage, markdown_files, parse  # noqa: E402
from runner import Runner  # noqa: E402


def counts(pages):
    """How many blocks there are of each tag; a file of a block counts with it."""
    found = collections.Counter(block.tag for page in pages for block in page.blocks if block.tag in TAGS)
    return ", ".join(f"{tag} {found[tag]}" for tag in TAGS)


def parsed(files, root=ROOT):
    """(pages, texts of what breaks the rules)"""
    pages, wrong = [], []
    for path in files:
        try:
            pages.append(parse(path, root))
        except BadPage as problem:
            wrong.append(str(problem))
    return pages, wrong


def check(tier, files, root=ROOT, write=False):
    """Runs a tier over these pages; returns texts of what is wrong."""
    pages, wrong = parsed(files, root)
    print("blocks:", counts(pages), flush=True)
    runner = Runner(tier, write=write)
    due = ran = 0
    try:
        with stand_ins.started(tier, runner):
            for page in pages:
                blocks = sum(block.tag == tier or block.stand_in == tier for block in page.blocks if block.tag != "setup")
                if blocks:
                    done, problems = runner.run_page(page)
                    print(f"{page.path.relative_to(root)}: {done} of {blocks}", flush=True)
                    due, ran, wrong = due + blocks, ran + done, wrong + problems
            if tier == "run":
                wrong += stand_ins.schema_problems(pages)
    finally:
        runner.remove()
    if ran != due and not wrong:
        wrong.append(f"only {ran} of {due} blocks ran")
    print(f"{tier}: {ran} of {due} blocks ran")
    return wrong


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    tier = words[0] if words else "run"
    files = [pathlib.Path(name).resolve() for name in words[1:]] or markdown_files()
    stand_ins.skip_unless_possible(tier)
    wrong = check(tier, files, write="--write" in sys.argv)
    for text in wrong:
        print(f"\nFAILED {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
