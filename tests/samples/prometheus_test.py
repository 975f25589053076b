"""samples/prometheus: the dashboard and the rules use names of metrics that the programs write, and promtool accepts both the
rules and the metrics of every verb."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli/support"))
import needs  # noqa: E402
from fleets import node  # noqa: E402
from program import CHECKOUT, FolderTest, run  # noqa: E402

SAMPLES = CHECKOUT / "samples/prometheus"
PROMTOOL = needs.program("promtool")


def names_in(text):
    return set(re.findall(r"\bshardkit_\w+", text))


class Metrics(FolderTest):
    def setUp(self):
        super().setUp()
        source = self.folder / "photos"
        self.shards = self.folder / "shards"
        self.must("shardctl", "synth", source, "--classes", 2, "--per-class", 60)
        self.texts = {}
        self.write("shardctl", "convert", source, self.shards)

    def must(self, program, *args, exit_codes=(0,)):
        finished = run(program, *args)
        self.assertIn(finished.returncode, exit_codes, finished.stderr)

    def write(self, program, *args, exit_codes=(0,)):
        file = self.folder / f"{args[0]}-{len(self.texts)}.prom"
        self.must(program, *args, "--prometheus", file, exit_codes=exit_codes)
        self.texts[args[0]] = file.read_text()

    def write_all(self):
        results = self.folder / "results"
        results.mkdir()
        for name in ("a", "b"):
            (results / f"{name}.json").write_text(json.dumps(node(name, 2e9)))
        self.write("iobench", "aggregate", results, exit_codes=(3,))  # two nodes are too few
        self.write("iobench", "run", self.shards, "--budget", "4s")
        self.texts["run without a job"] = self.texts["run"]
        self.write("iobench", "run", self.shards, "--budget", "4s", "--preset", "resnet50-h100", "--gpus", 1,
                   "--force-verdict", exit_codes=(0, 3))
        self.write("iobench", "read", self.shards)
        self.write("iobench", "read", self.folder / "photos", "--mode", "imagefolder")
        self.write("iobench", "pipeline", self.shards, "--batch", 8, "--budget", "2s")
        (self.folder / "checkpoints").mkdir()
        self.write("iobench", "checkpoint", self.folder / "checkpoints", "--bytes", "4MiB", "--repeat", 1)
        self.write("iobench", "watch", "--count", 1, "--interval", "1s")
        self.write("shardctl", "stage", self.shards, self.folder / "staged")

    def test_of_every_verb_pass_promtool_and_have_the_names_of_the_dashboard(self):
        self.write_all()
        written = set()
        for verb, text in self.texts.items():
            with self.subTest(verb=verb):
                checked = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True)
                self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
                for help_text in re.findall(r"# HELP \S+ (.*)", text):
                    self.assertRegex(help_text, r"^[^a-z].*\.$")
            written |= names_in(text)
        used = names_in((SAMPLES / "dashboard.json").read_text()) | names_in((SAMPLES / "rules.yaml").read_text())
        self.assertEqual(used - written, set())

    def test_series_have_the_node_and_what_it_worked_on(self):
        self.write("shardctl", "stage", self.shards, self.folder / "staged")
        self.assertRegex(self.texts["stage"], r'\nshardkit_stage_success\{dst="[^"]+",host="[^"]+",src="[^"]+"\} 1\n')


class Samples(unittest.TestCase):
    def test_rules_pass_promtool(self):
        subprocess.run([PROMTOOL, "check", "rules", SAMPLES / "rules.yaml"], check=True, capture_output=True)

    def test_panels_of_the_dashboard_have_queries(self):
        panels = json.loads((SAMPLES / "dashboard.json").read_text())["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        for panel in panels:
            self.assertTrue(all(target["expr"] for target in panel["targets"]))


if __name__ == "__main__":
    unittest.main()
