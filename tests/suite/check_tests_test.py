"""scripts/check-tests fails when something was skipped or left out that has to run."""

import importlib.machinery
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
checker = importlib.machinery.SourceFileLoader("check_tests", str(ROOT / "scripts/check-tests")).load_module()

CASES = """
import sys, unittest
class Cases(unittest.TestCase):
    def test_runs(self):
        "It has a description."
        print("noise", file=sys.stderr)
    def test_needs_a_gpu(self):
        self.skipTest("no GPU here")
"""
DOCTEST = """cat <<'END'
TEST CASE:  reads

a.cpp(7): MESSAGE: SKIPPED: no io_uring

[doctest] test cases:  %d | %d passed | 0 failed | 0 skipped
END
"""
ALLOWED = [("python", "no GPU here"), ("cpp", "no io_*"), ("server", "no nginx here")]


class CheckTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardkit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def results(self, **tests):
        """What ctest reports of these tests, each a command line for sh."""
        lines = [f'add_test({name} "sh" "{name}.sh")\nset_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n'
                 for name in tests]
        for name, command in tests.items():
            (self.folder / f"{name}.sh").write_text(command)
        (self.folder / "CTestTestfile.cmake").write_text("".join(lines))
        report = self.folder / "tests.xml"
        subprocess.run(["ctest", "--output-junit", report, "--test-output-size-passed", "100000"], cwd=self.folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return checker.read_results(report)

    def unittest(self, code=CASES, more=""):
        (self.folder / "cases.py").write_text(code)
        return f"{sys.executable} -m unittest -v {more} cases"

    def faults(self, results, allowed=ALLOWED, floors=(), existing=()):
        return checker.faults(results, {result.name for result in results} | set(existing), allowed, dict(floors))

    def test_cases_and_skips_are_read_from_what_the_tests_print(self):
        found = self.results(python=self.unittest(), cpp=DOCTEST % (3, 3), server="echo SKIPPED: no nginx here; exit 77",
                             fuzz="echo 17 inputs", pages="echo run: 4 of 4 blocks ran", language="echo checked 9 files")
        self.assertEqual({result.name: (result.cases, result.skips) for result in found}, {
            "python": (2, [("test_needs_a_gpu", "no GPU here")]), "cpp": (3, [("reads", "no io_uring")]),
            "server": (0, [("", "no nginx here")]), "fuzz": (17, []), "pages": (4, []), "language": (9, [])})
        self.assertEqual(self.faults(found), [])

    def test_a_skip_that_is_not_allowed_is_a_fault(self):
        found = self.results(python=self.unittest(), cpp=DOCTEST % (3, 3), server="echo SKIPPED: no nginx here; exit 77")
        for number, case in enumerate(("test_needs_a_gpu", "reads", "all of it")):
            (fault,) = self.faults(found, allowed=ALLOWED[:number] + ALLOWED[number + 1:])
            self.assertIn(f"{case} was skipped", fault)

    def test_a_skip_whose_reason_cannot_be_read_is_a_fault(self):
        self.assertIn("the reason was not found", self.faults(self.results(python=self.unittest().replace(" -v", "")))[0])
        self.assertIn("does not say why", self.faults(self.results(server="exit 77"))[0])

    def test_a_test_without_cases_is_a_fault(self):
        none = "import unittest\n"
        found = self.results(python=self.unittest(none) + " || true", cpp="echo '[doctest] test cases: 0 | 0 passed | 0 failed | 0 skipped'",
                             mute="true")
        self.assertEqual([fault.split(",")[0] for fault in self.faults(found)],
                         [f"{name}: 0 cases ran" for name in ("python", "cpp", "mute")])

    def test_fewer_cases_than_the_floor_are_a_fault(self):
        found = self.results(cpp=DOCTEST % (3, 3))
        self.assertEqual(self.faults(found, floors={"cpp": 3}), [])
        self.assertEqual(self.faults(found, floors={"cpp": 4}), ["cpp: 3 cases ran, but tests/suite/floors asks for 4"])

    def test_what_was_skipped_is_listed_by_its_reason(self):
        found = self.results(python=self.unittest(), server="echo SKIPPED: no GPU here; exit 77", fails="exit 1")
        self.assertEqual(list(checker.summary(found, ["fails", "heavy", "python", "server"])), [
            "skipped  no GPU here\n         python: test_needs_a_gpu\n         server", "not run  heavy", "cases    2, skipped 2"])
        self.assertEqual(self.faults(found, allowed=[("*", "no GPU here")]), [])

    def test_a_test_that_is_no_longer_built_is_a_fault_unless_that_is_allowed(self):
        floors = {"gone": 3}
        self.assertEqual(self.faults([], floors=floors), ["gone: tests/suite/floors has it, and this build does not"])
        self.assertEqual(self.faults([], floors=floors, existing=["gone"]), [])
        self.assertEqual(self.faults([], floors=floors, allowed=[("gone", "not built")]), [])

    def test_floors_are_nine_tenths_and_those_of_tests_that_did_not_run_stay(self):
        path = self.folder / "floors"
        path.write_text("# old\nother 7\ncpp 1\n")
        checker.write_floors(self.results(cpp=DOCTEST % (30, 30), one="echo 1 inputs", server="exit 77"), path)
        self.assertEqual(path.read_text().splitlines()[1:], ["cpp 27", "one 1", "other 7", "server 1"])

    def test_a_skip_is_allowed_only_of_a_test_that_has_a_floor(self):
        floors = {name for name, _ in checker.read_table(checker.SUITE / "floors", " ")}
        for name, _ in checker.read_table(checker.SUITE / "allowed-skips", "|"):
            self.assertTrue(any(checker.fnmatch.fnmatchcase(test, name) for test in floors), name)


if __name__ == "__main__":
    unittest.main()
