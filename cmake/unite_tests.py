"""usage: unite_tests.py OUTPUT SOURCE...

Writes one source out of several files of tests, which takes a third of the time to compile: all their #include lines, then
what follows them in each file, in a namespace of its own, because these files give equal names to their helpers.
"""

import pathlib
import re
import sys


def parts(path):
    """(#include lines, the number of the line behind them, the text from there)"""
    lines = path.read_text().splitlines(keepends=True)
    numbers = [number for number, line in enumerate(lines, 1) if line.startswith("#include")]
    beside = lambda match: f'"{path.parent / match[1]}"' if (path.parent / match[1]).exists() else match[0]  # noqa: E731
    includes = [re.sub(r'"(.*)"', beside, lines[number - 1]) for number in numbers]
    return includes, numbers[-1] + 1, "".join(lines[numbers[-1]:])


def united(paths):
    includes, bodies = [], []
    for path in paths:
        own, number, text = parts(path)
        includes += own
        bodies.append(f'namespace {re.sub("[^a-z0-9]", "_", path.stem)} {{\n#line {number} "{path}"\n{text}}}\n')
    return "".join([*dict.fromkeys(includes), *bodies])


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(united([pathlib.Path(name) for name in sys.argv[2:]]))
