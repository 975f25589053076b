"""iobench aggregate on results of made-up nodes: a thousand of them, slow ones, the commands that it prints; and the barrier at
which nodes start together, on file systems that lack something."""

import json
import os
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

    def test_host_lists_mean_what_they_mean_to_scontrol(self):
        conf = self.folder / "slurm.conf"
        conf.write_text("ClusterName=x\nSlurmctldHost=localhost\nNodeName=a\nPartitionName=p Nodes=a\n")
        folder = self.fleet({f"zz{i}": 2e9 for i in range(4)})
        chance = random.Random(63)

        def numbers():
            width, first = chance.choice([1, 2, 3, 5]), chance.randrange(12)
            ranges = [f"{first + 3 * i:0{width}}" + chance.choice(["", f"-{first + 3 * i + chance.randrange(3):0{width}}"]) for i in range(chance.randint(1, 3))]
            return f"[{','.join(ranges)}]"

        compared = 0
        for _ in range(100):
            parts = [chance.choice(["n", "gpu-", "r1-n", "a.b"]) + chance.choice(["", "7", "007", numbers(), numbers() + chance.choice(["-x", "-n" + numbers(), ".corp"])])
                     for _ in range(chance.randint(1, 3))]
            names = ",".join(parts)
            with self.subTest(names=names):
                owners = subprocess.run(["scontrol", "show", "hostnames", names], env={**os.environ, "SLURM_CONF": str(conf)},
                                        capture_output=True, text=True, check=False, timeout=60)
                if not owners.stdout:
                    self.assertRegex(names, r"\][^,]", owners.stderr)  # Slurm 22 reads nothing behind a bracket; we do
                    continue
                compared += 1
                saved = self.folder / "fleet.json"
                run("iobench", "aggregate", folder, "--expect", names, "--json", saved)
                missing = {row["name"] for row in json.loads(saved.read_text())["result"]["nodes"] if row["state"] == "missing"}
                self.assertEqual(missing, set(owners.stdout.split()))
        self.assertGreater(compared, 40)

    def test_names_of_nodes_are_those_of_the_scheduler(self):
        rates = {f"n{i}.corp": 2e9 for i in range(8)} | {"n8.corp": 1e9}
        finished = run("iobench", "aggregate", self.fleet(rates, runs=2), "--expect", "n[0-9]")
        self.assertEqual(finished.returncode, 3)
        self.assertIn("1 missing", finished.stdout)
        self.assertIn("scontrol update NodeName=n8 State=DRAIN", finished.stdout)

    def test_a_failed_node_is_named_once(self):
        folder = self.fleet({f"n{i}": 2e9 for i in range(4)})
        failed = node("broken", 2e9) | {"status": "failed", "error": {"code": "io", "text": "the disk is gone"}}
        (folder / "broken-0.json").write_text(json.dumps(failed))
        finished = run("iobench", "aggregate", folder)
        self.assertEqual(finished.stdout.count("broken") + finished.stderr.count("broken"), 1, finished.stdout + finished.stderr)

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
