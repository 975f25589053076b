"""Results and baselines that iobench 1.0 wrote, read by the programs of this build.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/compatibility/results_test.py
"""

import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from fixtures import CompatibilityTest  # noqa: E402
from program import result_of  # noqa: E402


class Results(CompatibilityTest):
    def compare(self, *args):
        finished = self.program("iobench", "compare", *args, "--json", "-")
        self.assertIn(finished.returncode, (0, 3), finished.stdout + finished.stderr)
        return finished.returncode, result_of(finished)["result"]

    def test_compare_reads_them(self):
        for verb in ("read", "decode", "pipeline", "checkpoint", "run"):
            with self.subTest(verb):
                shutil.copy(self.folder / f"results/{verb}.json", self.folder / "again.json")
                code, result = self.compare(f"results/{verb}.json", "again.json")
                self.assertEqual(code, 0)
                self.assertEqual((result["base"]["verb"], result["differences"]), (verb, []))
                self.assertEqual({row["change_ratio"] for row in result["rows"]}, {0})

    def test_compare_holds_a_new_result_against_an_old_one(self):
        finished = self.program("iobench", "decode", "set", "--min-time", "50ms", "--json", "new.json")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = self.compare("results/decode.json", "new.json")[1]
        self.assertIn("decode.samples_per_second", {row["metric"] for row in result["rows"]})

    def test_a_baseline_and_a_gate_are_read(self):
        code, result = self.compare("baseline.json", "results/run.json", "--class", "small-node")
        self.assertEqual((code, result["base"]["machine_class"], result["differences"]), (0, "small-node", []))
        result = self.compare("results/run.json", "--gate", "gate.json")[1]
        self.assertEqual({row["verdict"] for row in result["gate"]}, {"met"})

    def test_another_class_is_added_to_a_baseline(self):
        before = json.loads((self.folder / "baseline.json").read_text())["classes"]["small-node"]
        self.compare("results/run.json", "--save-baseline", "baseline.json", "--class", "other")
        classes = json.loads((self.folder / "baseline.json").read_text())["classes"]
        self.assertEqual(sorted(classes), ["other", "small-node"])
        self.assertEqual(classes["small-node"], before)

    def test_model_reads_them(self):
        for verb in ("read", "decode", "pipeline", "checkpoint", "run"):
            with self.subTest(verb):
                every = ["--checkpoint-every", "100"] if verb == "checkpoint" else []
                job = ["--preset", "resnet50-h100", *every]
                finished = self.program("iobench", "model", *job, "--from", f"results/{verb}.json")
                self.assertIn(finished.returncode, (0, 3), finished.stderr)

    def test_report_shows_the_stages_of_a_run_which_version_1_called_its_ladder(self):
        self.assertEqual(self.program("iobench", "report", "results/run.json", "-o", "run.md").returncode, 0)
        self.assertIn("| decode |", (self.folder / "run.md").read_text())

    def test_results_without_measurements_are_named(self):
        for verb in ("sweep", "model", "compare"):
            with self.subTest(verb):
                finished = self.program("iobench", "compare", f"results/{verb}.json", f"results/{verb}.json")
                self.assert_error(finished, 2, f"is a result of {verb}")


if __name__ == "__main__":
    unittest.main()
