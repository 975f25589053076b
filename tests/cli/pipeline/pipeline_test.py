"""iobench pipeline as a user and a script see it."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, awaits_signal, can_mount, result_of, run, warning_codes, wait_until  # noqa: E402

STAGES = ["read", "decode", "augment", "transfer", "compute"]


class PipelineTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.photos = self.folder / "photos"
        self.shards = self.folder / "shards"
        self.assertEqual(run("shardctl", "synth", self.photos, "--classes", 2, "--per-class", 12).returncode, 0)
        self.assertEqual(run("shardctl", "convert", self.photos, self.shards, "--samples", 8).returncode, 0)

    def pipeline(self, *args):
        finished = run("iobench", "pipeline", *args, "--batch", 4, "--crop", 32, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]


class Measuring(PipelineTest):
    def test_takes_shards_and_image_folders_and_says_which(self):
        for path, source, files in ((self.shards, "shards", 3), (self.photos, "files", 24)):
            result = self.pipeline(path, "--step-time", "2ms", "--epochs", 2)
            self.assertEqual((result["source"], result["files"]), (source, files))
            self.assertEqual((result["samples"], result["steps"]), (48, 12))
            self.assertEqual([row["epoch"] for row in result["epochs"]], [1, 2])
            self.assertLessEqual(result["au_ratio"], 1)
            self.assertAlmostEqual(result["required_samples_per_second"], 2000)

    def test_shares_of_each_stage_sum_up_to_one(self):
        result = self.pipeline(self.shards, "--step-time", "2ms")
        self.assertEqual([row["name"] for row in result["stages"]], STAGES)
        for row in result["stages"]:
            self.assertAlmostEqual(row["busy_ratio"] + row["starved_ratio"] + row["blocked_ratio"], 1, places=6)
        self.assertIn(result["limiting_stage"], STAGES)

    def test_one_row_for_each_prefetch(self):
        result = self.pipeline(self.shards, "--prefetch", "0,1,2,4", "--step-time", "1ms")
        self.assertEqual([row["prefetch"] for row in result["prefetches"]], [0, 1, 2, 4])

    def test_the_cold_first_epoch_is_distinguished_from_the_warm_second(self):
        finished = run("iobench", "pipeline", self.shards, "--batch", 4, "--crop", 32, "--epochs", 2, "--cache", "cold",
                       "--json", "-")
        if finished.returncode == 4:
            self.skipTest("caches cannot be dropped here: " + result_of(finished)["error"]["text"])
        epochs = result_of(finished)["result"]["epochs"]
        self.assertLess(epochs[0]["residency_before_ratio"], 0.01)
        self.assertGreater(epochs[1]["residency_before_ratio"], 0.99)
        self.assertIsNone(epochs[0]["boundary_stall_seconds"])
        self.assertGreaterEqual(epochs[1]["boundary_stall_seconds"], 0)

    def test_without_decoding_the_cost_of_iobench_is_shown_too(self):
        result = self.pipeline(self.shards, "--backend", "null")
        self.assertEqual(result["decode"], "null")
        self.assertGreater(result["overhead"]["cpu_seconds_per_sample"], 0)

    def test_the_report_begins_with_the_stage_that_sets_the_pace(self):
        finished = run("iobench", "pipeline", self.shards, "--batch", 4, "--crop", 32, "--epochs", 2)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stdout.splitlines()[0], rf"^({'|'.join(STAGES)}) is the bottleneck: ")
        for words in ("boundary stall", "overhead of iobench", *STAGES):
            self.assertIn(words, finished.stdout)

    def test_metrics_are_written(self):
        metrics = self.folder / "m.prom"
        self.pipeline(self.shards, "--prometheus", metrics)
        self.assertRegex(metrics.read_text(), r"(?m)^shardkit_\S*samples_per_second\S* \d")


class WithoutGpu(PipelineTest):
    def setUp(self):
        super().setUp()
        if run("iobench", "pipeline", self.shards, "--batch", 4, "--crop", 32, "--device", 0).returncode == 0:
            self.skipTest("SKIPPED: a GPU is here")

    def test_batches_stay_on_the_host(self):
        result = self.pipeline(self.shards)
        self.assertEqual((result["sink"], result["normalize"], result["step"]), ("host", "cpu", "emulated"))
        self.assertIsNone(result["copies"])

    def test_asking_for_one_is_exit_4_with_one_line(self):
        for args in (["--device", "0"], ["--backend", "nvjpeg"], ["--ladder"],
                     ["--step", "spin", "--step-time", "10ms"]):
            with self.subTest(args):
                done = run("iobench", "pipeline", self.shards, *args)
                self.assertEqual(done.returncode, 4)
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, r"\Aiobench: error: no GPU is available: [^\n]+\n\Z")

    def test_a_slip_is_reported_before_what_the_machine_lacks(self):
        for args, text in ((["--device", "none", "--backend", "nvjpeg"], "--backend nvjpeg needs a GPU"),
                           (["--step", "spin"], "--step spin needs --step-time"),
                           (["--ladder", "--prefetch", "0,1"], "--prefetch: with --ladder"),
                           (["--device", "first"], "--device: expected")):
            self.assert_error(run("iobench", "pipeline", self.shards, *args), 2, text)


class WithGpu(PipelineTest):
    def setUp(self):
        super().setUp()
        if run("iobench", "pipeline", self.shards, "--batch", 4, "--crop", 32, "--device", 0).returncode != 0:
            self.skipTest("SKIPPED: no GPU here")

    def test_batches_are_copied(self):
        for args in ([], ["--step", "spin", "--step-time", "5ms"]):
            with self.subTest(args):
                result = self.pipeline(self.shards, *args)
                self.assertEqual((result["sink"], result["samples"]), ("gpu", 24))
                self.assertTrue(result["copies"]["pinned"])
                self.assertGreater(result["copies"]["bytes_per_second"], 0)

    def test_the_ladder_has_all_rungs_and_says_which_are_missing(self):
        rungs = self.pipeline(self.shards, "--ladder", "--step-time", "1ms")["ladder"]
        self.assertEqual(len(rungs), 5)
        for rung in rungs:
            self.assertNotEqual(rung["missing"] is None, rung["samples_per_second"] is None)
            self.assertTrue(rung["missing"] is None or "nvjpeg" in rung["missing"].lower())


class Trace(PipelineTest):
    def test_opens_as_a_chrome_trace_with_a_track_for_each_thread(self):
        path = self.folder / "trace.json"
        result = self.pipeline(self.shards, "--trace", path, "--workers", 2, "--epochs", 2)
        events = json.loads(path.read_text())["traceEvents"]
        names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        others = sorted(name for name in names.values() if not name.startswith("read "))
        self.assertEqual(others, ["step", "transfer", "worker 0", "worker 1"])
        self.assertIn("read 0", names.values())
        complete = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(complete), result["trace"]["events"])
        self.assertTrue({event["ph"] for event in events} <= {"M", "X"})
        self.assertEqual([event["ts"] for event in complete], sorted(event["ts"] for event in complete))
        ends = {}
        for event in complete:
            self.assertEqual(event["pid"], 1)
            self.assertIn(event["tid"], names)
            self.assertGreaterEqual(event["dur"], 0)
            # One thread does one thing at a time; times are rounded to a nanosecond.
            self.assertGreaterEqual(event["ts"] + 0.01, ends.get(event["tid"], 0))
            ends[event["tid"]] = event["ts"] + event["dur"]


class BadInput(PipelineTest):
    def expect(self, exit_code, *args, says=()):
        finished = run("iobench", "pipeline", *args)
        self.assert_error(finished, exit_code, *says)
        return finished

    def test_nothing_to_read_is_exit_4(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.expect(4, empty, says=[empty])
        self.expect(4, self.folder / "nowhere", says=["nowhere"])
        labels = self.folder / "labels"
        labels.mkdir()
        (labels / "a.txt").write_text("no image")
        self.expect(4, labels, says=["no", "image"])

    def test_a_report_is_not_written_over_the_trace(self):
        file = self.folder / "both.json"
        self.expect(2, self.shards, "--trace", file, "--json", file, says=[file, "choose another file"])
        self.assertFalse(file.exists())

    def test_pipes_and_devices_are_refused(self):
        self.expect(2, "/dev/null", says=["/dev/null"])

    def test_absurd_options_are_usage_errors(self):
        for option, value in (("--workers", "0"), ("--batch", "0"), ("--batch", "2000000"), ("--gpus", "0"),
                              ("--prefetch", "1,x"), ("--prefetch", "1000"), ("--crop", "1000000"), ("--epochs", "0"),
                              ("--step-time", "-1"), ("--step-time", "10000d"), ("--preset", "unet3d-h100")):
            with self.subTest(option=option, value=value):
                self.expect(2, self.shards, option, value, says=[option])
        self.expect(2, says=["PATH"])

    def test_batches_larger_than_memory_are_exit_5(self):
        self.expect(5, self.shards, "--gpus", 1024, "--batch", 1000000, "--prefetch", 64, says=["--batch"])

    def test_one_sample_and_a_set_smaller_than_a_batch(self):
        image = next(path for path in self.photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
        finished = run("iobench", "pipeline", image, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(warning_codes(result_of(finished)), ["few_steps"])

    def test_a_folder_that_is_not_there_for_the_trace(self):
        self.expect(4, self.shards, "--trace", self.folder / "none/t.json", says=["none"])

    def test_a_disk_that_fills_is_exit_5_and_keeps_no_half_files(self):
        if not can_mount():
            self.skipTest("mounting is not allowed here")
        small = self.folder / "small"
        small.mkdir()
        script = (f"mount -t tmpfs -o size=4k tmpfs {small} && "
                  f"{PROGRAMS}/iobench pipeline {self.shards} --batch 4 --crop 32 --trace {small}/t.json; "
                  f"code=$?; ls -A {small}; exit $code")
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 5, finished.stderr)
        self.assertIn(str(small), finished.stderr)
        self.assertEqual(finished.stdout.strip(), "")

    def test_ctrl_c_ends_it_soon(self):
        for args in (["--step-time", "1h"], ["--epochs", "1000000", "--batch", "4", "--crop", "32"]):
            process = subprocess.Popen([str(PROGRAMS / "iobench"), "pipeline", str(self.shards), *args],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: awaits_signal(process, signal.SIGINT) and len(os.listdir(f"/proc/{process.pid}/task")) > 3, process)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)


if __name__ == "__main__":
    unittest.main()
