"""iobench compare --ab, as a whole program: it runs two commands itself.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/compare/ab_test.py
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from compare_results import envelope  # noqa: E402
from program import PROGRAMS, FolderTest, result_of, run, wait_until  # noqa: E402


class Ab(FolderTest):
    def command(self, name, rate, **facts):
        """A command that notes its name and writes a result of about that rate."""
        results = self.folder / name
        results.mkdir()
        for i in range(20):
            (results / f"{i}.json").write_text(json.dumps(envelope(rate * (1 + 0.001 * (i * 7 % 10)), **facts)))
        log = self.folder / "order"
        return (f'echo {name} >> {log}; n=$(grep -c "^{name}$" {log}); echo noise; '
                f'cp {results}/$n.json "$SHARDKIT_RESULT"')

    def compare(self, a, b, *args):
        return run("iobench", "compare", "--ab", a, b, *args)

    def order(self):
        return (self.folder / "order").read_text().split()

    def test_both_run_in_every_pair_in_the_order_that_the_result_shows(self):
        a, b = self.command("one", 1e9), self.command("two", 0.9e9)
        finished = self.compare(a, b, "--repeat", "6", "--json", "-")
        self.assertEqual(finished.returncode, 3, finished.stderr)
        result = result_of(finished)["result"]
        self.assertEqual(result["verdict"], "regressed")
        self.assertEqual(result["ab"]["pairs"], 6)
        self.assertEqual((result["base"]["runs"], result["new"]["runs"]), (6, 6))
        names = {"A": "one", "B": "two"}
        self.assertEqual(self.order(), [names[side] for pair in result["ab"]["order"].split() for side in pair])
        self.assertNotIn("noise", finished.stderr)

    def test_exit_codes_follow_the_verdict(self):
        for rate, verdict, code in ((1e9, "pass", 0), (2e9, "improved", 0)):
            with self.subTest(verdict):
                finished = self.compare(self.command(f"a{verdict}", 1e9), self.command(f"b{verdict}", rate), "--repeat", "6")
                self.assertEqual(finished.returncode, code, finished.stderr)
                self.assertTrue(finished.stdout.startswith(verdict + ": "), finished.stdout)

    def test_a_disturbed_side_is_inconclusive(self):
        busy = self.command("busy", 0.4e9, neighbors="others used 1.2 of 2 cores")
        finished = self.compare(self.command("calm", 1e9), busy, "--repeat", "5")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertTrue(finished.stdout.startswith("inconclusive: 5 of 5 runs of NEW cannot be judged: others"),
                        finished.stdout)

    def test_a_command_that_fails_is_named_with_its_exit_code_and_the_end_of_its_output(self):
        good = self.command("good", 1e9)
        finished = self.compare(good, "echo it broke >&2; exit 7")
        self.assert_error(finished, 4, "failed with exit code 7", "Run it alone", "it broke")
        self.assert_error(self.compare(good, "kill -9 $$"), 4, "ended by signal 9")
        self.assert_error(self.compare(good, "true"), 4, "wrote no result to $SHARDKIT_RESULT")
        self.assert_error(self.compare(good, 'echo {} > "$SHARDKIT_RESULT"'), 4, "result.json")
        self.assert_error(run("iobench", "compare", "--ab", good), 2, "two commands")

    def test_a_finding_of_the_command_is_a_result(self):
        a, b = self.command("a", 1e9) + "; exit 3", self.command("b", 1e9)
        self.assertEqual(self.compare(a, b, "--repeat", "5").returncode, 0)

    def test_a_stop_ends_the_processes_of_the_command(self):
        mark = self.folder / "started"
        sleep = f"sleep 98.{os.getpid()}"  # of no other process
        slow = f"touch {mark}; {sleep} & wait"
        process = subprocess.Popen([PROGRAMS / "iobench", "compare", "--ab", slow, slow],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(mark.exists, process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn(sleep, listed.splitlines())

    def test_a_stop_keeps_the_pairs_that_are_complete(self):
        mark = self.folder / "started"
        wait = f'; [ "$n" -le 3 ] || {{ touch {mark}; sleep 97 & wait; }}'
        a, b = self.command("one", 1e9) + wait, self.command("two", 0.5e9) + wait
        process = subprocess.Popen([PROGRAMS / "iobench", "compare", "--ab", a, b, "--repeat", "10", "--json", "-"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(mark.exists, process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        result = json.loads(out)["result"]
        self.assertTrue(result["text"].startswith("interrupted after 3 of 10 pairs: regressed"), result["text"])
        self.assertEqual((result["ab"]["pairs"], result["base"]["runs"], result["new"]["runs"]), (3, 3, 3))
        self.assertEqual(len(result["ab"]["order"].split()), 3)

    def test_verbs_of_iobench_write_their_result_by_themselves(self):
        photos = self.folder / "photos"
        self.assertEqual(run("shardctl", "synth", photos, "--classes", "2", "--per-class", "4").returncode, 0)
        command = f"{PROGRAMS / 'iobench'} decode {photos} --min-time 0.1 --threads 1"
        finished = self.compare(command, command, "--repeat", "5", "--json", "-")
        result = result_of(finished)["result"]
        self.assertIn(finished.returncode, (0, 3), finished.stderr)
        self.assertNotEqual(result["verdict"], "incomparable")
        self.assertEqual(result["new"]["runs"], 5)
        written = self.folder / "result.json"
        os.environ["SHARDKIT_RESULT"] = str(written)
        try:
            run("iobench", "decode", photos, "--min-time", "0.1")
        finally:
            del os.environ["SHARDKIT_RESULT"]
        self.assertEqual(json.loads(written.read_text())["schema"], "shardkit/decode")


if __name__ == "__main__":
    unittest.main()
