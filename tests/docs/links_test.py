"""Every relative link in a Markdown file leads to a file, and to a heading of it; so do those of the installed documents."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from pages import ROOT, markdown_files, prose  # noqa: E402

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page):
    """The anchors that GitHub gives to headings: lower case, words joined by hyphens."""
    headings = re.findall(r"^#+ (.+)$", prose(page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


def broken_links(root, files):
    for path in files:
        for target in LINK.findall(prose(path.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            linked = (path.parent / name).resolve() if name else path
            if not linked.is_relative_to(root) or not linked.exists():
                yield f"{path.relative_to(root)}: {target} does not exist"
            elif anchor and anchor not in anchors(linked):
                yield f"{path.relative_to(root)}: {target}: no such heading"


class Links(unittest.TestCase):
    def test_lead_to_files_and_headings(self):
        files = [*markdown_files(), ROOT / "CHANGELOG.md"]
        self.assertGreater(len(files), 30)
        self.assertEqual(list(broken_links(ROOT, files)), [])

    def test_a_broken_link_and_a_missing_heading_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text("# One two\n[a](no.md) [b](page.md#one-two) [c](#three) [d](https://x/y)\n")
            found = list(broken_links(pathlib.Path(folder), [page]))
        self.assertEqual(found, ["page.md: no.md does not exist", "page.md: #three: no such heading"])

    def test_every_page_is_in_the_index(self):
        index = (ROOT / "docs/README.md").read_text()
        pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
        missing = [str(page) for page in pages if f"]({page})" not in index and page.parent.name != "reference"]
        self.assertEqual(missing, ["README.md"])


class Installed(unittest.TestCase):
    """What `cmake --install` puts below the prefix."""

    @classmethod
    def setUpClass(cls):
        build = pathlib.Path(os.environ["SHARDKIT_PROGRAMS"]).resolve().parent
        cls.prefix = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-docs-"))
        cls.addClassCleanup(shutil.rmtree, cls.prefix, ignore_errors=True)
        subprocess.run(["cmake", "--install", build, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)
        cls.docs = cls.prefix / "share/doc/shardkit"

    def test_all_pages_samples_and_schemas_are_there(self):
        for path in subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "docs", "samples"], cwd=ROOT,
                                            text=True).split():
            self.assertTrue((self.docs / path).exists() or not (ROOT / path).exists(), path)
        self.assertTrue(os.access(self.docs / "samples/slurm/prolog.sh", os.X_OK))

    def test_their_links_work(self):
        root = self.docs.resolve()
        self.assertEqual(list(broken_links(root, sorted(root.rglob("*.md")))), [])

    def test_every_document_that_a_program_names_is_there(self):
        named = 0
        for program in ("shardctl", "iobench"):
            for verb in ("", *self.verbs(program)):
                text = self.run_installed(program, *verb.split(), "--help")
                for path in re.findall(r"^More: (.+)$", text, re.M):
                    self.assertTrue(pathlib.Path(path).is_relative_to(self.prefix.resolve()), path)
                    self.assertTrue(pathlib.Path(path).exists(), path)
                    named += 1
                self.assertNotRegex(text, r"(?<!/)docs/\S+\.md")  # a path of the source tree
        self.assertGreater(named, 20)
        for program in ("shardctl", "iobench"):
            self.assertIn(f"/share/man/man1/{program}.1", self.run_installed(program, "-h"))
        for manual in sorted(self.prefix.glob("share/man/man1/*.1")):
            for path in re.findall(r"share/doc/\S+", manual.read_text()):
                self.assertTrue((self.prefix / path.replace("\\-", "-")).exists(), f"{manual.name}: {path}")

    def test_texts_in_the_sources_name_no_page_of_the_source_tree(self):
        for folder in ("lib", "apps"):
            for path in (ROOT / folder).rglob("*.cpp"):
                for text in re.findall(r'"(?:[^"\\\n]|\\.)*"', re.sub(r"//[^\n]*", "", path.read_text())):
                    self.assertNotRegex(text, r"\bdocs/[a-z-]+(/[a-z-]+)?\.md", str(path))

    def run_installed(self, program, *words):
        return subprocess.run([self.prefix / "bin" / program, *words], capture_output=True, text=True, check=True).stdout

    def verbs(self, program):
        return re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", self.run_installed(program, "--help"), re.M)


if __name__ == "__main__":
    unittest.main()
