"""iobench compare, and run --repeat which makes what it reads, as whole programs.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/compare/compare_test.py
"""

import json
import pathlib
import subprocess
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from compare_results import envelope  # noqa: E402
from program import CHECKOUT, FolderTest, result_of, run  # noqa: E402


class CompareTest(FolderTest):
    def repetitions(self, name, rate, count=10, **facts):
        folder = self.folder / name
        folder.mkdir()
        for i in range(count):
            content = envelope(rate * (1 + 0.001 * (i * 7 % count)), **facts)
            (folder / f"{i}.json").write_text(json.dumps(content))
        return folder

    def compare(self, *args):
        return run("iobench", "compare", *args)


class Verdicts(CompareTest):
    def test_exit_codes_follow_the_verdict(self):
        base = self.repetitions("base", 1e9)
        noisy = self.repetitions("noisy", 1e9)
        for i, file in enumerate(sorted(noisy.iterdir())):
            file.write_text(json.dumps(envelope(1e9 + (-1) ** i * 2e8 + i)))
        cases = [
            ("pass", 0, self.repetitions("same", 1.002e9), []),
            ("regressed", 3, self.repetitions("slow", 0.9e9), []),
            ("improved", 0, self.repetitions("fast", 1.2e9), []),
            ("incomparable", 3, self.repetitions("warm", 1e9, cache="warm"), []),
            ("inconclusive", 0, noisy, []),
            ("inconclusive", 3, noisy, ["--strict"]),
        ]
        for verdict, code, new, options in cases:
            with self.subTest(verdict, options=options):
                finished = self.compare(base, new, *options, "--json", "-")
                self.assertEqual(finished.returncode, code, finished.stderr)
                self.assertEqual(result_of(finished)["result"]["verdict"], verdict)
                self.assertTrue(self.compare(base, new, *options).stdout.startswith(verdict + ": "))

    def test_differences_come_before_the_metrics(self):
        base = self.repetitions("base", 1e9)
        new = self.repetitions("new", 0.9e9, cache="warm", version="0.2.0")
        report = self.compare(base, new).stdout
        order = [report.index(part) for part in ("incomparable: ", "measured differently:",
                                                 "read.cache.state: cold -> warm  not comparable",
                                                 "tool.version: 0.1.0 -> 0.2.0", "-10.0 %  1.00 GB/s to")]
        self.assertEqual(order, sorted(order), report)
        finished = self.compare(base, new, "--allow-different", "cache.state")
        self.assertEqual(finished.returncode, 3)
        self.assertTrue(finished.stdout.startswith("regressed: "))
        self.assertIn("allowed", finished.stdout)

    def test_reports_for_ci(self):
        junit, markdown = self.folder / "report.xml", self.folder / "report.md"
        reports = ["--junit", junit, "--markdown", markdown]
        base = self.repetitions("base", 1e9)
        self.compare(base, self.repetitions("slow", 0.9e9), *reports)
        suite = ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual((suite.get("name"), suite.get("tests"), suite.get("failures")), ("iobench compare", "2", "1"))
        failed = suite.find("testcase[failure]")
        self.assertEqual(failed.get("name"), "read.bytes_per_second")
        self.assertIn("-10.0 %", failed.find("failure").get("message"))
        self.assertIn("| regressed | `read.bytes_per_second` | typically -10.0 %", markdown.read_text())
        self.compare(base, self.repetitions("warm", 1e9, cache="warm"), *reports)
        suite = ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual(suite.find("testcase[failure]").get("name"), "read.cache.state")
        self.assertIn("| `read.cache.state` | cold | warm | not comparable |", markdown.read_text())
        self.compare(base, self.folder / "none", *reports)
        self.assertIsNotNone(ElementTree.parse(junit).getroot().find("testsuite/testcase/error"))
        self.assertIn("failed", markdown.read_text())

    def test_inconclusive_is_skipped_in_junit_unless_it_fails(self):
        junit = self.folder / "report.xml"
        base, few = self.repetitions("base", 1e9, count=1), self.repetitions("few", 0.99e9, count=1)
        for options, skipped, failures in (([], "2", "0"), (["--strict"], "0", "2")):
            self.compare(base, few, "--junit", junit, *options)
            suite = ElementTree.parse(junit).getroot().find("testsuite")
            self.assertEqual((suite.get("skipped"), suite.get("failures")), (skipped, failures))


class BadInput(CompareTest):
    def test_a_baseline_that_cannot_be_written_is_an_error(self):
        base = self.repetitions("base", 1e9)
        self.assert_error(self.compare(base, "--save-baseline", self.folder / "none/fleet.json"), 4, "fleet.json")


class BaselinesAndGates(CompareTest):
    def test_the_sample_gate_fits_what_iobench_measures(self):
        gate = CHECKOUT / "samples/ci/gate.json"
        new = self.repetitions("new", 1e12)
        finished = self.compare(new, "--gate", gate)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("gate undecided, 1 of 3 not judged: decode", finished.stdout)  # a read alone decodes nothing
        self.assertEqual(self.compare(new, "--gate", gate, "--strict").returncode, 3)


class Repetitions(CompareTest):
    def test_a_run_with_repetitions_is_a_side_and_says_where_the_next_will_lie(self):
        photos = self.folder / "photos"
        self.assertEqual(run("shardctl", "synth", photos, "--classes", "2", "--per-class", "4").returncode, 0)
        result = self.folder / "run.json"
        finished = run("iobench", "run", photos, "--repeat", "9", "--budget", "1s", "--cache", "warm", "--json", result)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("median of 9 repetitions", finished.stdout)
        self.assertRegex(finished.stdout, r"read\.bytes_per_second +\S+ .B/s \(.*\); the same run again: ")
        written = json.loads(result.read_text())["result"]
        self.assertEqual(len(written["repetitions"]), 9)
        for row in written["repeated"]:
            self.assertLessEqual(row["next"]["low"], row["median"])
            self.assertGreaterEqual(row["next"]["high"], row["median"])
        compared = result_of(self.compare(result, result, "--json", "-"))["result"]
        self.assertNotEqual(compared["verdict"], "regressed")
        self.assertEqual(compared["new"]["repetitions"], 9)


class LoaderProbe(CompareTest):
    def probe(self, name, *options):
        loader = self.folder / "loader.py"
        loader.write_text("import time\n\ndef make_loader():\n    for _ in range(20):\n"
                          "        time.sleep(0.001)\n        yield [0] * 16\n")
        result = self.folder / name
        command = [sys.executable, CHECKOUT / "samples/pytorch/loader_probe.py", f"{loader}:make_loader", "--turns", "1",
                   "--json", result, *options]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result

    def test_what_the_probe_writes_is_a_result(self):
        finished = self.compare(self.probe("a.json"), self.probe("b.json", "--seconds", "5"), "--json", "-")
        result = result_of(finished)["result"]
        self.assertNotEqual(result["verdict"], "incomparable")
        self.assertEqual([row["metric"] for row in result["rows"]],
                         ["loader-probe.samples_per_second", "loader-probe.batch_latency_seconds.p99"])

    def test_another_state_of_the_cache_is_another_measurement(self):
        warm = self.probe("warm.json", "--cache", "warm", "--data", self.folder / "loader.py")
        finished = self.compare(self.probe("any.json"), warm)
        self.assertEqual(finished.returncode, 3)
        self.assertIn("loader-probe.cache.requested: any -> warm", finished.stdout)


if __name__ == "__main__":
    unittest.main()
