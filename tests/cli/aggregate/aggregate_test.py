"""iobench aggregate on results of made-up nodes: a thousand of them, slow ones, the commands that it prints; and the barrier at
which nodes start together, on file systems that lack something."""

import json
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from fleets import node  # noqa: E402
from program import PROGRAMS, FolderTest, result_of, run, strace  # noqa: E402


class Aggregate(FolderTest):
    def fleet(self, rates, runs=1):
        folder = self.folder / "results"
        folder.mkdir(exist_ok=True)
        for name, rate in rates.items():
            for run_of in range(runs):
                result = node(name, rate)
                result["started_at"] = f"2026-11-26T0{8 + run_of}:00:00Z"
                (folder / f"{name}-{run_of}.json").write_text(json.dumps(result))
        return folder

    def test_finds_slow_nodes_among_a_thousand_and_ends_with_3(self):
        chance = random.Random(1)
        rates = {f"node{i:04}": 2e9 * chance.gauss(1, 0.02) for i in range(1000)}
        slow = [f"node{i:04}" for i in (3, 99, 250, 400, 555, 800, 999)]
        for name in slow:
            rates[name] *= 0.8
        saved, page = self.folder / "fleet.json", self.folder / "fleet.html"
        finished = run("iobench", "aggregate", self.fleet(rates, runs=2), "--json", saved)
        self.assertEqual(finished.returncode, 3, finished.stderr)
        self.assertEqual(run("iobench", "report", saved, "-o", page).returncode, 0)
        result = json.loads(saved.read_text())["result"]
        self.assertEqual(sorted(result["exclude"]), slow)
        self.assertEqual(result["nodes_judged"], 1000)
        read = next(stage for stage in result["stages"] if stage["stage"] == "read")
        self.assertEqual(read["common_seconds"], 10)
        self.assertAlmostEqual(read["bytes_per_second"] / sum(rates.values()), 1, places=6)
        self.assertIn("Nodes by stage", page.read_text())
        self.assertLess(page.stat().st_size, 3_000_000)

    def test_prints_commands_that_take_slow_nodes_out(self):
        rates = {f"n{i}": 2e9 for i in range(8)} | {"bad1": 1e9, "bad2": 1.1e9}
        finished = run("iobench", "aggregate", self.fleet(rates, runs=2))
        self.assertEqual(finished.returncode, 3)
        self.assertIn("scontrol update NodeName=bad1,bad2 State=DRAIN", finished.stdout)
        self.assertIn("kubectl cordon bad1 bad2", finished.stdout)

    def test_names_the_ceiling(self):
        folder = self.fleet({f"n{i}": 1.1e9 for i in range(8)})
        alone = self.folder / "alone.json"
        alone.write_text(json.dumps(node("n0", 2.1e9)))
        finished = run("iobench", "aggregate", folder, "--alone", alone)
        self.assertIn("one node 2.10 GB/s, 8 together 8.80 GB/s: what they share limits", finished.stdout)


class Barriers(FolderTest):
    """On file systems that lack what local ones have."""

    def start_under(self, *faults):
        data = self.folder / "photos"
        self.assertEqual(run("shardctl", "synth", data, "--classes", "2", "--per-class", "4").returncode, 0)
        injected = [argument for fault in faults for argument in ("-e", f"inject={fault}")]
        calls = ",".join(fault.split(":")[0] for fault in faults)
        command = [*strace("-f", "-o", "/dev/null", "-e", f"trace={calls}", *injected), PROGRAMS / "iobench", "run", data,
                   "--cache", "warm", "--budget", "1s", "--barrier", self.folder / "barrier", "--world", "1", "--json", "-",
                   "--quiet"]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)

    def test_no_locks_are_needed(self):
        finished = self.start_under("flock:error=ENOLCK")
        self.assertTrue(result_of(finished)["result"]["start"]["id"])

    def test_hard_links_are_enough_where_a_rename_would_replace(self):
        finished = self.start_under("renameat2:error=EINVAL")
        self.assertTrue(result_of(finished)["result"]["start"]["id"])

    def test_without_both_the_error_says_what_is_missing(self):
        finished = self.start_under("renameat2:error=EINVAL", "linkat:error=EPERM")
        self.assertEqual(finished.returncode, 4, finished.stderr)
        self.assertIn("has no hard links and cannot rename without replacing a file", result_of(finished)["error"]["text"])


if __name__ == "__main__":
    unittest.main()
