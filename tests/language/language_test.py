"""scripts/check-language finds each fault that it looks for, and none in correct English.

    python3 tests/language/language_test.py
"""

import importlib.machinery
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-language"
LONG = "word " * 31
checker = importlib.machinery.SourceFileLoader("check_language", str(SCRIPT)).load_module()

# The quoted phrases of the first rewrite: (text, in a string or in a comment).
FAULTY_TEXTS = (
    "because who stages is gone before the readers come", "sets that nobody leases make room",
    "--quality is that of --resize; there is none", "--min-au says nothing alone", "the GPUs are fed: {} of {}",
    "the stages told nothing", "a longer --budget tells", "processor cores are short in {}", "the driver is not asked",
    "what cannot be had fails", "1 MiB a read and 1 under way for each", "steps noticed 0.028 ms late",
    "is refused with what changed", "say where to write the plan", "one operand too many", "is none of fail, skip, keep",
    "no JSON of shardkit", "which no convert of this plan made; '{}' is no file", "leaving with work unfinished",
    "temporaries of the dead", "What the bytes should have been nobody knows then", "Who dies is replaced by who waits",
    "hold staged files against the checksums", "Nobody has tried AWS themselves", "decoders in silicon",
    "take part in the rate", "exit 3 when the values do not tell", "of these, which, depends on their keys",
    "as many as the process may keep cores busy", "a root file system that is only read", "Not for no turns",
    "So many folders below a cache", "No stop token, hence", "columns parted by tabs", "made anew", "mend the source",
    "goes to a set by chance", "measured separately, the stages predict {}", "--manifest is that of another set",
    "files are asked of the peers", "divides it once more", "the source did not say whether", "somebody builds it once",
    "Of the single stages, one is slow", "What stays wrong is reported.", "rates are lower than an idle machine's",
    "Linux of the same processor type", "is not used any more", "slowed by cores", "is not a good image: {}",
    "the colour of its neighbours", "optimised, normalising", "an unlabelled sample", "half a per cent of the centre")


class Language(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def findings(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        found = list(checker.findings(self.root, checker.files_of(self.root)))
        path.unlink()
        return found

    def test_each_faulty_text_is_found_in_a_literal(self):
        for text in FAULTY_TEXTS:
            with self.subTest(text):
                self.assertTrue(self.findings("lib/a.cpp", f'warn("{text}");\n'))

    def test_the_exit_code_says_whether_there_are_findings(self):
        for text, code in (("made anew", 1), ("made again", 0)):
            (self.root / "README.md").write_text(text)
            done = subprocess.run([sys.executable, SCRIPT, "--root", self.root], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, bool(done.stdout)), (code, code == 1), done.stderr)

    def test_a_finding_names_file_line_rule_and_better_wording(self):
        finding = self.findings("lib/a.cpp", 'int a;\nwarn("written "\n     "anew");\n')
        self.assertEqual(finding, ["lib/a.cpp:2: phrase: 'anew' => again"])

    def test_comments_are_checked_and_code_is_not(self):
        self.assertTrue(self.findings("lib/a.hpp", "/// Written\n/// anew.\nint a;\n"))
        self.assertTrue(self.findings("samples/a.yaml", "key: value\n  # Written anew.\n"))
        self.assertEqual(self.findings("lib/a.cpp", "int anew = hence(2);\n"), [])

    def test_names_are_checked_by_their_words_where_they_stand_first(self):
        finding = self.findings("lib/a.cpp", "int a;\nint make_room(int a);\nint b = make_room(1);\n")
        self.assertEqual(finding, ["lib/a.cpp:2: phrase: 'make room' => space"])
        for name in ("rest", "kRest", "leave", "leaving", "treat", "FieldPlace", "places_", "farewell", "told", "mend", "RunTurn"):
            with self.subTest(name):
                self.assertEqual(len(self.findings("lib/a.cpp", f"int {name};\n")), 1)
        for name in ("in_place", "leave_out", "replace", "interest", "placement", "restore"):
            with self.subTest(name):
                self.assertEqual(self.findings("lib/a.cpp", f"int {name};\n"), [])

    def test_sentences_are_short_in_texts_and_documents(self):
        for name, content in (("lib/a.cpp", f'warn("{LONG}");\n'), ("docs/a.md", f"{LONG[:60]}\n{LONG[60:]}\n"),
                              ("README.md", f"- {LONG[:60]}\n  {LONG[60:]}\n")):
            with self.subTest(name):
                self.assertIn("sentence length", self.findings(name, content)[0])
        self.assertEqual(self.findings("docs/a.md", "```\n" + LONG + "\n```\n"), [])
        self.assertEqual(self.findings("docs/a.md", "<!-- setup\n" + LONG + "\n-->\n"), [])
        self.assertEqual(self.findings("lib/a.cpp", 'warn("' + "A word. " * 40 + '");\n'), [])

    def test_prose_lines_are_at_most_100_columns(self):
        prose = "a word " * 15
        self.assertIn("line length", self.findings("docs/a.md", prose + "\n")[0])
        for exempt in ("| " + prose + "|\n", "```sh\n" + prose + "\n```\n", "[a link](" + "x" * 100 + ")\n"):
            with self.subTest(exempt):
                self.assertEqual(self.findings("docs/a.md", exempt), [])
        self.assertEqual(self.findings("docs/reference/a.md", prose + "\n"), [])

    def test_only_the_unreleased_changes_count(self):
        self.assertTrue(self.findings("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n- Made anew.\n"))
        self.assertEqual(self.findings("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n## 1.0\n\n- Made anew.\n"), [])

    def test_correct_english_passes(self):
        for text in ("there is no such file", "the rate is no longer steady", "cannot tell whether the bytes are correct",
                     "compare staged files with their checksums", "turns shards back into a tree", "hold Ctrl",
                     "unlabelled", "advised to raise a precise otherwise", "optimized behavior, honored in the center"):
            with self.subTest(text):
                self.assertEqual(self.findings("lib/a.cpp", f'warn("{text}");\n'), [])


if __name__ == "__main__":
    unittest.main()
