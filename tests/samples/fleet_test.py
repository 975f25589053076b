"""samples/fleet/node-check.sh: one line, one JSON file and one exit code, for a fit node, an unfit one, and none measured."""

import json
import os
import subprocess
import unittest

from commands import fake_programs
from program import CHECKOUT, PROGRAMS, FolderTest, run

SCRIPT = CHECKOUT / "samples/fleet/node-check.sh"


class NodeCheck(FolderTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "photos"
        self.assertEqual(run("shardctl", "synth", self.data, "--classes", 2, "--per-class", 40).returncode, 0)

    def check(self, least, data=None):
        gate = self.folder / "gate.json"
        gate.write_text(json.dumps({"schema": "shardkit/gate", "schema_version": 1, "requirements": [
            {"metric": "decode.samples_per_second_per_core", "min": least}]}))
        (self.folder / "shardkit").mkdir(exist_ok=True)  # as README installs: python3 -m venv ~/shardkit
        programs = self.folder / "shardkit/bin"
        if not programs.exists():
            programs.symlink_to(PROGRAMS.resolve())
        settings = {"HOME": str(self.folder), "NODE_CHECK_DATA": str(data or self.data), "NODE_CHECK_GATE": str(gate), "NODE_CHECK_BUDGET": "4s",
                    "NODE_CHECK_RESULTS": str(self.folder), "NODE_CHECK_METRICS": str(self.folder),
                    "SLURMD_NODENAME": "node17"}
        done = subprocess.run(["bash", SCRIPT], capture_output=True, text=True, timeout=120, env=os.environ | settings)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertTrue(done.stdout.startswith("node-check: node17: "), done.stdout)
        return done

    def test_a_node_that_meets_the_gate_is_fit(self):
        done = self.check(least=1)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(json.loads((self.folder / "node17.json").read_text())["host"]["node"], "node17")

    def test_a_node_that_cannot_be_measured_is_neither(self):
        done = self.check(least=1, data=self.folder / "missing")
        self.assertEqual(done.returncode, 4)
        self.assertIn("not measured: ", done.stdout)

    def test_a_node_that_misses_the_gate_is_not_fit_or_undecided_if_others_disturbed_it(self):
        done = self.check(least=1e9)
        result = json.loads((self.folder / "node17.json").read_text())["result"]
        self.assertEqual(done.returncode, 75 if result["neighbors"]["text"] else 3, done.stdout)
        self.assertIn("shardkit_run_exit_code", (self.folder / "shardkit_run.prom").read_text())


class Drain(FolderTest):
    """node-check.sh --drain, with an iobench that judges as the test says."""

    def check(self, *arguments, judged, strictly=0, measured=0):
        """(exit code, arguments of scontrol's calls)."""
        judge = f'[[ $* == *--strict* ]] && exit {strictly}; echo "regressed: decode"; exit {judged}'
        calls = fake_programs(self.folder, iobench=f'[[ $1 == run ]] && exit {measured}; {judge}', scontrol="exit 0")
        done = subprocess.run(["bash", SCRIPT, *arguments], capture_output=True, timeout=60,
                              env={"SLURMD_NODENAME": "n2", "NODE_CHECK_PROGRAMS": str(self.folder)})
        return done.returncode, [call["arguments"] for call in calls() if call["program"] == "scontrol"]

    def test_drains_a_node_that_misses_a_limit(self):
        drained = ["update", "nodename=n2", "state=drain", "reason=node-check: regressed: decode"]
        self.assertEqual(self.check("--drain", judged=3), (3, [drained]))

    def test_drains_no_other_node(self):
        self.assertEqual(self.check("--drain", judged=0), (0, []))
        self.assertEqual(self.check("--drain", judged=0, strictly=3), (75, []))
        self.assertEqual(self.check("--drain", judged=0, measured=4), (4, []))
        self.assertEqual(self.check(judged=3), (3, []))


if __name__ == "__main__":
    unittest.main()
