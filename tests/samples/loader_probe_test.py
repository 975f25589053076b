"""samples/pytorch/loader_probe.py on loaders of plain Python, by a clock that moves only when something waits."""

import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE = ROOT / "samples/pytorch/loader_probe.py"
sys.path.insert(0, str(ROOT / "tests/cli/support"))
from program import need  # noqa: E402

need("jsonschema")
import jsonschema  # noqa: E402

SCHEMA = json.loads((PROBE.parent / "loader_probe.schema.json").read_text())

spec = importlib.util.spec_from_file_location("loader_probe", PROBE)
probe = importlib.util.module_from_spec(spec)
sys.modules["loader_probe"] = probe
spec.loader.exec_module(probe)


class FakeClock:
    """Seconds that pass only in sleep()."""

    def __init__(self):
        self.seconds = 0.0

    def now(self):
        return self.seconds

    def sleep(self, seconds):
        self.seconds += seconds


class Loader:
    """Batches of `size` samples, each after a wait of `waits[i]`."""

    def __init__(self, clock, waits, size=4):
        self.clock, self.waits, self.size = clock, waits, size

    def __iter__(self):
        for wait in self.waits:
            self.clock.sleep(wait)
            yield [list(range(self.size)), list(range(self.size))]


def options(**changed):
    settings = dict(num_workers=None, batches=1000, seconds=1e6, turns=1, step_time=0.0, batch_size=None, data=None, cache="any")
    return types.SimpleNamespace(**{**settings, **changed})


class Timing(unittest.TestCase):
    def setUp(self):
        self.clock = FakeClock()

    def probe(self, waits, **changed):
        return probe.probe(lambda: Loader(self.clock, waits), options(**changed), self.clock)

    def test_the_first_batch_is_apart_and_the_rate_is_of_the_rest(self):
        result = self.probe([10.0, 1.0, 1.0, 2.0])
        self.assertEqual(result["first_batch_seconds"], 10.0)
        self.assertEqual(result["batches"], 3)
        self.assertEqual(result["samples"], 12)
        self.assertEqual(result["samples_per_second"], 3.0)  # 12 in 4 s
        self.assertEqual(result["batch_latency_seconds"], {"mean": 4 / 3, "p50": 1.0, "p90": 2.0, "p99": 2.0, "max": 2.0})

    def test_stall_and_utilization_share_the_time_with_an_emulated_step(self):
        result = self.probe([0.0, 1.0, 1.0, 1.0], step_time=3.0)
        self.assertAlmostEqual(result["stall_ratio"], 0.25)
        self.assertAlmostEqual(result["au_ratio"], 0.75)

    def test_without_a_step_there_is_no_utilization(self):
        self.assertIsNone(self.probe([1.0, 1.0])["au_ratio"])

    def test_batches_and_seconds_end_a_turn(self):
        self.assertEqual(self.probe([1.0] * 100, batches=5)["batches"], 5)
        self.assertEqual(self.probe([1.0] * 100, seconds=7.0)["batches"], 7)

    def test_a_loader_that_ends_early_is_reported(self):
        self.assertTrue(self.probe([1.0] * 4)["loader_ended"])
        self.assertFalse(self.probe([1.0] * 4, batches=2)["loader_ended"])

    def test_no_batch_and_a_single_batch_are_errors(self):
        for waits, text in (([], "no batch at all"), ([1.0], "one batch alone")):
            with self.assertRaisesRegex(probe.ProbeError, text):
                self.probe(waits)

    def test_settings_take_turns_forth_and_back_and_the_best_is_the_headline(self):
        asked = []

        def maker(num_workers):
            asked.append(num_workers)
            return Loader(self.clock, [1.0 / (1 + num_workers)] * 5)

        result = probe.probe(maker, options(num_workers=[0, 1, 3], turns=2), self.clock)
        self.assertEqual(asked, [0, 1, 3, 3, 1, 0])
        self.assertEqual([row["samples_per_second"] for row in result["sweep"]], [4.0, 8.0, 16.0])
        self.assertEqual((result["num_workers"], result["samples_per_second"]), (3, 16.0))

    def test_a_rate_is_the_median_of_its_turns(self):
        waits = iter([[1.0] * 5, [2.0] * 5, [8.0] * 5])
        result = probe.probe(lambda: Loader(self.clock, next(waits)), options(turns=3), self.clock)
        self.assertEqual(result["samples_per_second_by_turn"], [4.0, 2.0, 0.5])
        self.assertEqual(result["samples_per_second"], 2.0)


class OrderTest(unittest.TestCase):
    """Whether two epochs of a loader come in one order."""

    class Epochs:
        def __init__(self, shuffles):
            self.shuffles, self.epoch = shuffles, 0

        def __iter__(self):
            order = list(range(100))
            random.Random(self.epoch if self.shuffles else 0).shuffle(order)
            self.epoch += 1
            return iter([(Tensor(10, 3, 8, 8), order[i:i + 10]) for i in range(0, 100, 10)])

    def test_a_forgotten_set_epoch_is_found_by_the_labels(self):
        self.assertIs(probe.repeats_order(self.Epochs(shuffles=False)), True)
        self.assertIs(probe.repeats_order(self.Epochs(shuffles=True)), False)

    def test_what_labels_cannot_tell_is_unknown(self):
        self.assertIsNone(probe.repeats_order([([7] * 8,)] * 10))  # one class
        self.assertIsNone(probe.repeats_order([([1, 2],)] * 3))  # few samples
        self.assertIsNone(probe.repeats_order(iter([([1, 2] * 32,)])))  # can be read only once


class Tensor:
    def __init__(self, *shape):
        self.shape = shape


class Batches(unittest.TestCase):
    def test_the_number_of_samples_is_found_in_what_loaders_yield(self):
        for batch in (Tensor(8, 3, 2, 2), [Tensor(8, 3), Tensor(8)], (Tensor(8),), {"jpg": Tensor(8, 3), "cls": Tensor(8)},
                      [list(range(8)), list(range(8))], list(range(8)), [{"image": Tensor(8, 3)}]):
            self.assertEqual(probe.samples_in(batch), 8)

    def test_what_has_no_length_is_one_sample(self):
        self.assertEqual(probe.samples_in(7), 1)
        self.assertEqual(probe.samples_in(Tensor()), 1)


class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=ROOT / "build" if (ROOT / "build").is_dir() else None)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("a.bin", "sub/b.bin"):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(os.urandom(1 << 20))
        self.files = probe.files_below([str(self.folder)])

    def test_folders_are_searched_to_their_ends(self):
        self.assertEqual([pathlib.Path(path).name for path in self.files], ["a.bin", "b.bin"])

    def test_what_is_absent_or_empty_is_refused(self):
        (self.folder / "empty").mkdir()
        for path in ("absent", "empty"):
            with self.assertRaises(probe.ProbeError):
                probe.files_below([str(self.folder / path)])

    def test_cold_and_warm_are_reached_or_refused(self):
        if probe.residency(self.files) is None:
            self.skipTest("SKIPPED: this kernel or file system does not tell what is cached")
        self.assertGreaterEqual(probe.prepare_cache(self.files, "warm"), 0.99)
        try:
            self.assertLessEqual(probe.prepare_cache(self.files, "cold"), 0.01)
        except probe.ProbeError as error:  # tmpfs
            self.assertIn("--cache cold", str(error))


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.loader = self.folder / "mine.py"
        self.loader.write_text("def make_loader(num_workers=0):\n    return [[0] * 4] * 10\n"
                               "def fixed():\n    return [[0] * 4] * 10\n"
                               "def broken():\n    raise RuntimeError('no such bucket')\n")

    def run_probe(self, *arguments):
        return subprocess.run([sys.executable, PROBE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)

    def test_it_writes_an_envelope_like_iobench(self):
        json_file = self.folder / "probe.json"
        done = self.run_probe(f"{self.loader}:make_loader", "--num-workers", "0,2", "--turns", 1, "--json", json_file)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(json_file.read_text())
        jsonschema.validate(result, SCHEMA)
        self.assertEqual((result["schema"], result["status"], result["exit_code"]), ("shardkit/loader-probe", "ok", 0))
        self.assertEqual(result["result"]["batch_size"], 4)
        self.assertEqual([row["num_workers"] for row in result["result"]["sweep"]], [0, 2])
        self.assertIn("your loader gets", done.stdout)
        self.assertEqual([warning["code"] for warning in result["warnings"] if warning["code"] != "disturbed"],
                         ["cache_unknown", "loader_ended"])

    def test_with_a_dash_nothing_but_json_goes_to_standard_output(self):
        done = self.run_probe(f"{self.loader}:fixed", "--json", "-")
        self.assertEqual(json.loads(done.stdout)["result"]["samples"], 3 * 9 * 4)

    def test_it_stands_beside_what_the_node_feeds(self):
        node = self.folder / "node.json"
        node.write_text(json.dumps({"result": {"predicted": {"samples_per_second": 1180.0}}}))
        done = self.run_probe(f"{self.loader}:fixed", "--node", node)
        self.assertTrue(done.stdout.startswith("the node feeds 1180/s, your loader gets "), done.stdout)

    def test_what_cannot_be_probed_says_why(self):
        for arguments, code, text in (
                (["mine"], 2, "FILE.py:FUNCTION"),
                ([f"{self.loader}:absent"], 2, "no function 'absent'"),
                ([f"{self.folder}/absent.py:f"], 4, "cannot be imported"),
                ([f"{self.loader}:fixed", "--num-workers", "1"], 2, "does not take num_workers"),
                ([f"{self.loader}:broken"], 1, "no such bucket"),
                ([f"{self.loader}:fixed", "--cache", "cold"], 2, "needs --data"),
                ([f"{self.loader}:fixed", "--data", "/absent"], 4, "neither a file nor a folder"),
                ([f"{self.loader}:fixed", "--turns", "0"], 2, "more than 0"),
                ([f"{self.loader}:fixed", "--step-time", "200ms"], 2, "such as 0.2, not '200ms'"),
                ([f"{self.loader}:broken", "--json", "/absent/probe.json"], 4, "'/absent/probe.json' cannot be written"),
                ([f"{self.loader}:broken", "--json", self.folder], 4, "cannot be written"),
                ([f"{self.loader}:fixed", "--node", self.loader], 4, "no result of iobench run")):
            done = self.run_probe(*arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)

    def test_an_interruption_is_in_the_envelope_too(self):
        loader = self.folder / "interrupted.py"
        loader.write_text("def make_loader():\n    raise KeyboardInterrupt\n")
        done = self.run_probe(f"{loader}:make_loader", "--json", "-")
        self.assertEqual(done.returncode, 130, done.stderr)
        self.assertEqual(done.stderr, "loader_probe: stopped by SIGINT\n")
        result = json.loads(done.stdout)
        jsonschema.validate(result, SCHEMA)
        self.assertEqual((result["status"], result["exit_code"]), ("failed", 130))

    def test_a_failure_is_in_the_envelope_too(self):
        done = self.run_probe(f"{self.loader}:broken", "--json", "-")
        result = json.loads(done.stdout)
        jsonschema.validate(result, SCHEMA)
        self.assertEqual((result["status"], result["exit_code"], result["result"]), ("failed", 1, None))
        self.assertIn("no such bucket", result["error"]["text"])


if __name__ == "__main__":
    unittest.main()
