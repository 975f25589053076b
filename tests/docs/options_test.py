"""Every option is shown where people learn what it is for, and there are not more of them than people can know."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from pages import ROOT, markdown_files  # noqa: E402

REFERENCE = ROOT / "docs/reference"
MOST_NAMES = 139
MOST_OPTIONS = 400  # of all verbs together
SHARED_PAGES = ("README.md", "stores.md")
OPTION = re.compile(r"--[a-z][a-z0-9-]*")


def options_of(page):
    """The options that a page of the reference describes in its tables."""
    return {OPTION.search(row).group() for row in re.findall(r"^\| (`-.*?`) \|", page.read_text(), re.M)}


def verb_options():
    """Pairs of page and option, without what many verbs share."""
    shared = {"--threads"}.union(*(options_of(REFERENCE / name) for name in SHARED_PAGES))
    pages = sorted(page for page in REFERENCE.glob("*.md") if page.name not in SHARED_PAGES)
    return [(page.stem, option) for page in pages for option in sorted(options_of(page) - shared)]


def shown_options():
    pages = [page for page in markdown_files() if REFERENCE not in page.parents and "dev" not in page.parts]
    samples = [file for file in (ROOT / "samples").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    texts = (file.read_text(errors="ignore") for file in {*pages, *samples})
    return {option for text in texts for option in OPTION.findall(text)}


class Options(unittest.TestCase):
    def test_are_all_shown_outside_of_the_reference(self):
        shown = shown_options()
        self.assertEqual([f"{verb} {option}" for verb, option in verb_options() if option not in shown], [])

    def test_are_few(self):
        options = verb_options()
        self.assertGreater(len(options), 100)
        self.assertLessEqual(len(options), MOST_OPTIONS)
        self.assertLessEqual(len({option for _, option in options}), MOST_NAMES)


if __name__ == "__main__":
    unittest.main()
