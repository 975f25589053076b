"""The test of the documents' commands finds what it is for: wrong output, failing commands, untagged blocks, old options."""

import contextlib
import html
import io
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import commands_test  # noqa: E402
from pages import ROOT, BadPage, inline_commands, markdown_files, parse  # noqa: E402
from runner import PROGRAMS  # noqa: E402
from shown_output import CLAUSES, difference, masked, refreshed  # noqa: E402


def texts_of_sources():
    """The sources of the programs, in which a text of several literals is one."""
    sources = "".join(path.read_text() for folder in ("lib", "apps") for path in (ROOT / folder).rglob("*.cpp"))
    return re.sub(r'"\s*\n\s*"', "", sources)


class PageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardkit-docs-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def page(self, text):
        (self.root / "page.md").write_text(text)
        return self.root / "page.md"

    def check(self, text, tier="run", write=False):
        """(what is wrong, what was printed)"""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            wrong = commands_test.check(tier, [self.page(text)], self.root, write)
        return wrong, printed.getvalue()


class Running(PageTest):
    def test_a_page_that_is_right_passes_and_is_counted(self):
        wrong, printed = self.check("<!-- setup\necho 7 >file\n-->\n```sh run\ncat file\n```\n\n```text output\n9\n```\n"
                                    "```sh not-run (needs a GPU)\nfalse\n```\n")
        self.assertEqual(wrong, [])
        self.assertIn("blocks: run 1, stand-in 0, heavy 0, not-run 1\n", printed)
        self.assertIn("run: 1 of 1 blocks ran", printed)

    def test_wrong_output_fails(self):
        wrong, _ = self.check("```sh run\necho 3 shards\n```\n```text output\n3 files\n```\n")
        self.assertRegex(wrong[0], r"^page.md:1: the page shows, at its line 1:\n    3 files\nthe command printed:\n    3 shards")

    def test_output_that_the_page_does_not_show_fails(self):
        self.assertTrue(self.check("```sh run\necho one\necho two\n```\n```text output\none\n```\n")[0])

    def test_writing_replaces_what_a_page_shows_but_no_lines_of_an_output_that_leaves_some_out(self):
        block = "```sh run\necho 3 shards\n```\n```text output\n%s\n```\n"
        self.assertEqual(self.check(block % "4 files", write=True)[0], [])
        self.assertEqual((self.root / "page.md").read_text(), block % "3 shards")
        self.assertEqual(len(self.check(block % "4 files\n...", write=True)[0]), 1)

    def test_a_failing_command_fails_also_within_a_block(self):
        self.assertRegex(self.check("```sh run\nfalse\necho fine\n```\n")[0][0], "exit code 1 instead of 0")
        self.assertRegex(self.check("```sh run\nfalse | cat\n```\n")[0][0], "exit code 1 instead of 0")
        self.assertRegex(self.check("```sh run exit=3\ntrue\n```\n")[0][0], "exit code 0 instead of 3")

    def test_where_chance_decides_the_exit_code_the_page_shows_the_output_of_the_first(self):
        block = "```sh run exit=0,3\necho %s\nexit %d\n```\n```text output\npass\n```\n"
        self.assertEqual(self.check(block % ("pass", 0))[0], [])
        self.assertEqual(self.check(block % ("regressed", 3))[0], [])
        self.assertRegex(self.check(block % ("regressed", 0))[0][0], "the page shows")
        self.assertRegex(self.check(block % ("pass", 1))[0][0], "exit code 1 instead of 0 or 3")

    def test_a_failing_set_up_fails(self):
        self.assertRegex(self.check("<!-- setup\nfalse\n-->\n```sh run\ntrue\n```\n")[0][0], "page.md:1: exit code 1")

    def test_a_wrong_kubernetes_object_fails(self):
        pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers: [{name: a, image: b%s}]\n"
        self.assertEqual(self.check("```yaml stand-in=schema\n" + pod % "" + "```\n")[0], [])
        self.assertEqual(len(self.check("```yaml stand-in=schema\n" + pod % ", comand: [c]" + "```\n")[0]), 1)


class Rules(PageTest):
    def assert_refused(self, text, message):
        with self.assertRaisesRegex(BadPage, message):
            parse(self.page(text), self.root)

    def test_blocks_that_do_not_say_how_they_are_tested_are_refused(self):
        self.assert_refused("a\n\n```sh\nls\n```\n", r"page.md:3: no tag")
        self.assert_refused("```python\nx\n```\n", "no tag")
        self.assert_refused("```\nls\n```\n", "without a language")
        self.assert_refused("````sh\nls\n````\n", "no tag")
        self.assert_refused("- a list\n  ```sh\n  ls\n  ```\n", "no tag")
        self.assert_refused("```sh run\nls\n", "is not closed")
        self.assert_refused("```sh not-run\nls\n```\n", "needs a reason")
        self.assert_refused("```sh run (why)\nls\n```\n", "needs a reason")
        self.assert_refused("```sh stand-in=aws\nls\n```\n", "stand-in is one of")
        self.assert_refused("```fish run\nls\n```\n", "unknown language")
        self.assert_refused("```sh runs\nls\n```\n", "unknown word")
        self.assert_refused("text\n\n    shardctl ls x\n", "page.md:3: commands are in fences")
        self.assert_refused("```sh run\nls\n```\ntext\n```text output\nx\n```\n", "output without a command")

    def test_an_untagged_block_fails_the_test(self):
        self.assertRegex(self.check("```sh\nls\n```\n")[0][0], "no tag")

    def test_all_pages_follow_them(self):
        _, wrong = commands_test.parsed(markdown_files())
        self.assertEqual(wrong, [])


class Output(unittest.TestCase):
    def test_numbers_units_dates_hosts_and_hashes_differ(self):
        for shown, real in (("22.0 MiB in 0.5 s", "3 KiB in 1 min 20 s"), ("8,235/s  - ", "61/s 2.5 x"),
                            ("read - 3 MB/s", "read 2/s to 4/s"), ("p 0.02", "p 2.1e-42"),
                            ("feeds 2.3 x a100, 1.1 x h100; decode at 7/s", "feeds 0.1 x h100; decode at 1/s"),
                            ("on node1 (16 CPUs, x)", "on vm (2 CPUs, y), 2026-11-23T09:57:17Z"),
                            ("until 2026-11-23T09:57:17Z", "until 2027-01-02T00:00:00Z"), ("+3.0 %", "-45.1 %")):
            self.assertEqual(masked(shown), masked(real))
        for shown, real in (("resnet50-h100", "resnet50-a100"), ("shard-000001.tar", "shard-000002.tar"), ("a 1", "b 1")):
            self.assertNotEqual(masked(shown), masked(real))

    def test_dots_stand_for_lines_and_within_a_line_for_text(self):
        self.assertIsNone(difference("a\n...\nd\n", "a\nb\nc\nd\n"))
        self.assertIsNone(difference("a\n...\nd\n", "a\nd\n"))
        self.assertIsNone(difference("a ... z\n", "a b c z\n"))
        self.assertIsNotNone(difference("a\n...\nd\n", "a\nb\n"))
        self.assertIsNotNone(difference("a ... z\n", "a b c\n"))

    def test_values_of_a_run_replace_those_of_the_page(self):
        self.assertEqual(refreshed("a 1\n\n...\n  d 4 MB\ne 1 ... 2 s...\n", "a 2\nb 3\n  d 5 kB\ne 7 f 8 s, g\n"),
                         "a 2\n\n...\n  d 5 kB\ne 7 ... 8 s...\n")

    def test_the_verdict_on_a_measured_metric_is_chance_and_other_words_are_not(self):
        self.assertIsNone(difference("improved  read.bytes_per_second  by 2 %\n", "inconclusive  read.bytes_per_second  by 1 %\n"))
        for shown, real in (("pass  all", "improved  all"), ("met  read.bytes_per_second", "missed  read.bytes_per_second"),
                            ("pass  read.bytes_per_second", "pass  read.samples_per_second")):
            self.assertIsNotNone(difference(shown, real))

    def test_progress_and_notes_about_the_machine_are_left_out(self):
        self.assertIsNone(difference("done\n", "synth 86 %  173/200  33.8/s  3.78 MB/s  ETA 1 s\ndone\n"))
        self.assertIsNone(difference("done\n", "stage 3 of 4: running the pipeline 3 %  27  ETA 3 s\ndone\n"))
        self.assertIsNone(difference("done\n", "look up the source  5 s\ndone\n"))
        self.assertIsNone(difference("done\n", "iobench: warning: only 0.6 of 2.0 cores were available\ndone\n"))
        self.assertIsNone(difference("decode at 7/s (3 s)\n", "decode at 9/s; read is about as slow (10/s); disturbed: others used "
                                     "1.2 of 2 cores (1 s)\n"))
        self.assertIsNotNone(difference("done\n", "shardctl: warning: 3 files were left out\ndone\n"))
        self.assertIsNotNone(difference("decode at 7/s\n", "decode at 9/s; nothing else was measured\n"))

    def test_clauses_of_a_verdict_may_stand_below_it(self):
        shown = "7 samples/s; decode is the bottleneck; storage not measured: warm page cache (6 s)\n\nstage\n"
        self.assertIsNone(difference(shown, "9 samples/s; decode is the bottleneck; disturbed: others used 1.2 of 2 cores (1 s)\n"
                                     "storage not measured: warm page cache\n\nstage\n"))
        self.assertIsNone(difference(shown, "9 samples/s; decode is the bottleneck (1 s)\nstorage not measured: warm page cache\n"
                                     "disturbed: others used 1.2 of 2 cores\n\nstage\n"))
        self.assertIsNotNone(difference(shown, "9 samples/s; decode is the bottleneck (1 s)\nread is slow\n\nstage\n"))

    def test_the_row_of_the_pipeline_may_be_missing_but_not_be_another(self):
        shown = "decode  7/s\npipeline  6/s  all at once\ndone\n"
        self.assertIsNone(difference(shown, "decode  1/s\npipeline  2/s  all at once\ndone\n"))
        self.assertIsNone(difference(shown, "decode  1/s\ndone\n"))
        self.assertIsNotNone(difference(shown, "decode  1/s\npipeline  2/s  one by one\ndone\n"))
        self.assertEqual(refreshed(shown, "decode  1/s\ndone\n"), shown.replace("decode  7", "decode  1"))
        self.assertIsNotNone(difference(shown, "pipeline  2/s  all at once\ndone\n"))

    def test_the_programs_print_the_clauses_that_are_left_out(self):
        texts = texts_of_sources()
        for part in re.split(r"\.\.\.|; ", "; ".join(CLAUSES)):
            self.assertIn(part, texts)


class Troubleshooting(unittest.TestCase):
    def test_its_headings_are_texts_of_messages(self):
        texts = texts_of_sources()
        page = parse(ROOT / "docs/how-to/troubleshooting.md")
        shown = "".join(block.output or "" for block in page.blocks)
        headings = re.findall(r'^### (".*)$', page.path.read_text(), re.M)
        self.assertGreater(len(headings), 10)
        for text in re.findall(r'"([^"]+)"', " ".join(headings)):
            for part in text.split(" ... "):
                self.assertTrue(part in texts or part in shown, text)


class Picture(unittest.TestCase):
    """docs/images/terminal.svg, which scripts/record-terminal draws from README, and those of the draw scripts."""

    def test_it_shows_what_readme_shows(self):
        blocks = parse(ROOT / "README.md").blocks
        (install,) = (line for block in blocks for line in block.text.splitlines() if line.startswith("pip install "))
        block = max((block for block in blocks if block.tag == "run"), key=lambda block: len(block.text))
        svg = (ROOT / "docs/images/terminal.svg").read_text()
        lines = [html.unescape(line) for line in re.findall(r'preserve">(.*)</text>', svg)]
        self.assertEqual([line[2:] for line in lines if line.startswith("$ ")], [install, *block.text.splitlines()])
        installation = lines[:lines.index("$ " + block.text.splitlines()[0])]
        self.assertTrue(any(line.startswith("Successfully installed shardkit-") for line in installation), installation)
        lines = lines[len(installation):]
        page = " ".join(masked(line) for line in block.output.splitlines())
        for line in lines:
            if not line.startswith("$ ") and line != "...":
                self.assertIn(masked(line), page)

    def test_the_page_of_a_report_is_as_wide_as_its_script_draws_it(self):
        script = (ROOT / "scripts/draw-report").read_text()
        width = int(re.search(r"^WIDTH = (\d+)", script, re.M).group(1))
        png = (ROOT / "docs/images/report.png").read_bytes()
        self.assertEqual((png[:8], int.from_bytes(png[16:20], "big")), (b"\x89PNG\r\n\x1a\n", width))

    def test_the_overview_is_what_its_script_draws(self):
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder, "overview.svg")
            subprocess.run([ROOT / "scripts/draw-overview", "--output", drawn], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(drawn.read_text(), (ROOT / "docs/images/overview.svg").read_text())


class Commands(unittest.TestCase):
    """Commands that no test runs, in text and in blocks, at least exist."""

    def test_verbs_and_options_exist(self):
        wrong, checked = [], 0
        for path in markdown_files():
            if path.parent.name == "reference":
                continue
            page = parse(path)
            lines = [(block.place, line) for block in page.blocks if block.language in ("sh", "bash")
                     for line in block.text.replace("\\\n", " ").splitlines()]
            for place, line in (*inline_commands(page), *lines):
                for command in re.findall(r"(?:^|[|&;] *)((?:shardctl|iobench) [^|&;#]*)", line):
                    checked += 1
                    wrong += [f"{place}: {problem}" for problem in self.problems(command)]
        self.assertGreater(checked, 100)
        self.assertEqual(wrong, [])

    def problems(self, command):
        try:
            program, *words = shlex.split(command)
        except ValueError:
            return []  # a quotation that goes on behind a pipe
        names = []
        while words and re.fullmatch(r"[a-z]+", words[0]) and len(names) < (2 if names == ["cache"] else 1):
            names.append(words.pop(0))
        if not names or names == ["help"]:
            return []
        text = self.help_of(program, *names)
        known = set(re.findall(r"(?:^|[ ,])(--?[a-z][a-z0-9-]*)", text)) | {"--help", "--version"}
        used = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        return [f"{program} {' '.join(names)} has no {option}" for option in sorted(used - known)]

    cache = {}

    def help_of(self, *words):
        if words not in self.cache:
            done = subprocess.run([PROGRAMS / words[0], *words[1:], "--help"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
            shared = re.findall(r"see (?:shardctl|iobench) help ([a-z]+)", done.stdout)
            pages = [subprocess.run([PROGRAMS / words[0], "help", word], capture_output=True, text=True) for word in shared]
            self.cache[words] = done.stdout + "".join(page.stdout for page in pages)
        return self.cache[words]


if __name__ == "__main__":
    stand_ins = commands_test.stand_ins
    stand_ins.skip_unless_possible("run")
    unittest.main()
