"""iobench watch beside real processes: what it says of them line by line, how it ends, and in which forms."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, need, result_of, run  # noqa: E402

need("jsonschema")
from schemas import validate  # noqa: E402

SCHEMA = "iobench-watch.json"

# A job with a child: both read the file over and over and use what they get of a core.
JOB = """
import os, sys
if os.fork() > 0:
    print("ready", flush=True)
while True:
    with open(sys.argv[1], "rb") as file:
        while file.read(1 << 16):
            pass
"""
SLEEPER = "import time; print('ready', flush=True); time.sleep(60)"


class WatchTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()
        (self.data / "a.bin").write_bytes(os.urandom(3_000_000))

    def start(self, code, *args):
        """A Python program that has said that it is ready; of a process group of its own, so that children end with it."""
        job = subprocess.Popen([sys.executable, "-c", code, *map(str, args)], start_new_session=True,
                               stdout=subprocess.PIPE, text=True)

        def end():
            try:
                os.killpg(job.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            job.wait()
            job.stdout.close()

        self.addCleanup(end)
        self.assertEqual(job.stdout.readline(), "ready\n")
        return job

    def job(self):
        return self.start(JOB, self.data / "a.bin")


class Job(WatchTest):
    def test_a_line_for_each_interval_and_a_verdict_behind_them(self):
        finished = run("iobench", "watch", self.data, "--pid", self.job().pid, "--interval", "300ms", "--count", "3")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        lines, report = finished.stdout.split("\n\n", 1)
        self.assertRegex(lines.splitlines()[0], r"\Abottleneck +UTC +(GPUs +)?CPU +cores ")
        self.assertEqual(len(lines.splitlines()), 4)
        for line in lines.splitlines()[1:]:
            self.assertRegex(line, r"\A\S.* \d\d:\d\d:\d\d ")
            self.assertLess(len(line), 80)
        self.assertRegex(report.splitlines()[0], r"bottleneck|GPUs")
        self.assertRegex(report, r"(?m)^watched +process \d+ \(.*\), ")

    def test_what_a_process_and_its_child_do_is_told_by_the_figures(self):
        job = self.job()
        envelope = result_of(run("iobench", "watch", self.data, "--pid", job.pid, "--interval", "500ms", "--count", "3",
                                 "--json", "-"))
        validate(envelope, SCHEMA)
        result = envelope["result"]
        self.assertEqual((result["pid"], result["ended"]), (job.pid, "count"))
        self.assertEqual(len(result["rows"]), 3)
        last = result["rows"][-1]["job"]
        self.assertEqual(last["processes"], 2)
        self.assertEqual(last["processors"], len(os.sched_getaffinity(job.pid)))
        self.assertGreater(result["summary"]["cores"], 0)
        self.assertGreater(result["summary"]["asked_bytes_per_second"], 65536)
        self.assertGreater(result["summary"]["busy_cores"], 0)
        self.assertEqual(result["files"], 1)
        shares = result["summary"]["short_ratio"]
        self.assertAlmostEqual(sum(shares.values()), 1)
        verdict = result["verdict"]
        self.assertAlmostEqual(verdict["share_ratio"], shares[verdict["short_of"]])

    def test_a_process_that_sleeps_uses_nothing_and_says_so_with_numbers(self):
        job = self.start(SLEEPER)
        result = result_of(run("iobench", "watch", "--pid", job.pid, "--interval", "300ms", "--count", "2", "--json",
                               "-"))["result"]
        self.assertLess(result["summary"]["cores"], 0.2)
        self.assertEqual(result["summary"]["from_storage_bytes_per_second"], 0)
        self.assertIsNone(result["rows"][0]["disk"])
        self.assertEqual(result["path"], "")

    def test_the_data_is_found_by_the_files_that_the_job_has_open(self):
        (self.data / "a.tar").write_bytes(bytes(10240))
        job = self.start("import sys, time; shard = open(sys.argv[1]); print('ready', flush=True); time.sleep(60)",
                         self.data / "a.tar")
        finished = run("iobench", "watch", "--pid", job.pid, "--interval", "200ms", "--count", "1")
        self.assertRegex(finished.stdout, rf"(?m)^watched +process \d+ \(.*\), {self.data}$")

    def test_a_summary_is_a_text_for_a_ticket_that_fits_a_terminal(self):
        finished = run("iobench", "watch", "--pid", self.job().pid, "--summary", "--interval", "200ms", "--count", "2")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        lines = finished.stdout.splitlines()
        self.assertRegex(lines[0], r"bottleneck|GPUs")
        self.assertNotIn("UTC", finished.stdout)
        self.assertRegex(finished.stdout, r"(?m)^since +\d{4}-\d\d-\d\dT")
        self.assertLessEqual(len(lines), 24)

    def test_a_number_is_no_path(self):
        self.assert_error(run("iobench", "watch", "1234567"), 4, "'1234567' does not exist", "use --pid 1234567")

    def test_the_end_of_the_process_ends_the_watch_with_a_verdict(self):
        job = self.start(SLEEPER)
        with subprocess.Popen([PROGRAMS / "iobench", "watch", "--pid", str(job.pid), "--interval", "200ms", "--lines",
                               "json"], stdout=subprocess.PIPE, text=True) as watch:
            self.assertEqual(json.loads(watch.stdout.readline())["job"]["processes"], 1)
            job.kill()
            tail, _ = watch.communicate(timeout=60)
        self.assertEqual(watch.returncode, 0)
        end = json.loads(tail.splitlines()[-1])
        self.assertEqual((end["event"], end["ended"]), ("verdict", "process"))
        self.assertTrue(end["verdict"]["text"])

    def test_a_process_that_is_not_there_is_refused_before_anything_is_written(self):
        job = self.start("print('ready')")
        job.wait()
        for options in ((), ("--lines", "json")):
            finished = run("iobench", "watch", "--pid", job.pid, *options)
            self.assert_error(finished, 4, f"process {job.pid} does not exist")
            self.assertEqual(finished.stdout, "")

    def test_another_users_process_is_watched_as_far_as_it_is_reported(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("SKIPPED: only the superuser can be somebody else")
        job = self.job()
        finished = run("iobench", "watch", "--pid", job.pid, "--interval", "200ms", "--count", "3", "--json", "-",
                       user=65534, group=65534, extra_groups=[])
        self.assertEqual(finished.returncode, 0, finished.stderr)
        envelope = result_of(finished)
        self.assertEqual([warning["code"] for warning in envelope["warnings"]], ["process_hidden"])
        self.assertIsNone(envelope["result"]["rows"][0]["job"]["asked_bytes_per_second"])
        self.assertIsNotNone(envelope["result"]["rows"][0]["job"]["cores"])


class Stop(WatchTest):
    def watch(self, *args):
        return subprocess.Popen([PROGRAMS / "iobench", "watch", "--interval", "200ms", *map(str, args)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_is_the_usual_end_and_no_failure(self):
        for stop in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(stop), self.watch(self.data) as watch:
                self.assertIn("bottleneck", watch.stdout.readline())
                self.assertRegex(watch.stdout.readline(), r" \d\d:\d\d:\d\d ")  # lines come while it runs
                watch.send_signal(stop)
                tail, err = watch.communicate(timeout=60)
                self.assertEqual(watch.returncode, 0, err)
                self.assertRegex(tail, r"(?m)^time .*, stopped$")
                self.assertEqual(err, "")

    def test_ends_json_lines_with_the_verdict(self):
        with self.watch("--lines", "json") as watch:
            first = json.loads(watch.stdout.readline())
            watch.send_signal(signal.SIGINT)
            tail, err = watch.communicate(timeout=60)
        self.assertEqual(watch.returncode, 0, err)
        events = [first, *map(json.loads, tail.splitlines())]
        self.assertEqual([event["event"] for event in events], ["interval"] * (len(events) - 1) + ["verdict"])
        self.assertEqual(events[-1]["ended"], "stopped")
        self.assertEqual(events[-1]["summary"]["intervals"], len(events) - 1)

    def test_a_reader_that_has_seen_enough_ends_it_quietly(self):
        envelope = self.folder / "watch.json"
        with self.watch("--json", envelope) as watch:
            watch.stdout.readline()
            watch.stdout.close()
            self.assertEqual(watch.wait(timeout=60), 0)
            self.assertEqual(watch.stderr.read(), "")
        written = json.loads(envelope.read_text())
        self.assertEqual((written["status"], written["result"]["ended"]), ("ok", "stopped"))


class Forms(WatchTest):
    def test_json_lines_have_the_fields_of_the_envelopes_rows(self):
        finished = run("iobench", "watch", self.data, "--lines", "json", "--interval", "200ms", "--count", "2")
        *rows, end = map(json.loads, finished.stdout.splitlines())
        self.assertEqual(len(rows), 2)
        fields = f"{SCHEMA}#/properties/result/properties"
        for row in rows:
            self.assertEqual(row.pop("event"), "interval")
            validate(row, f"{fields}/rows/items")
        self.assertEqual(end["event"], "verdict")
        validate(end["summary"], f"{fields}/summary")

    def test_lines_an_envelope_and_gauges_at_once(self):
        envelope, gauges = self.folder / "watch.json", self.folder / "watch.prom"
        finished = run("iobench", "watch", self.data, "--interval", "200ms", "--budget", "600ms", "--json", envelope,
                       "--prometheus", gauges)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stdout, r"(?m)^time .* \d intervals?$")
        written = json.loads(envelope.read_text())
        validate(written, SCHEMA)
        intervals = written["result"]["summary"]["intervals"]
        self.assertEqual((written["result"]["ended"], len(written["result"]["rows"])), ("duration", intervals))
        self.assertEqual(written["result"]["pid"], None)
        text = gauges.read_text()
        self.assertRegex(text, r"(?m)^shardkit_watch_overall_short_ratio_storage{.*} [01]")
        self.assertRegex(text, r"(?m)^shardkit_watch_overall_intervals{.*} [1-9]")
        self.assertRegex(text, r"(?m)^shardkit_watch_success{.*} 1$")

    def test_bad_options_and_operands_are_distinguished(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for code, text, *args in ((2, "--interval", "--interval", "1ms"), (2, "--interval", "--interval", "soon"),
                                  (2, "--budget", "--budget", "1s"), (2, "--count", "--count", "0"),
                                  (2, "--pid", "--pid", "0"), (2, "--lines", "--lines", "xml"), (2, "FIFO", fifo),
                                  (2, "iobench read", "s3://bucket/x"), (4, "absent", self.folder / "absent")):
            with self.subTest(args):
                finished = run("iobench", "watch", *args)
                self.assert_error(finished, code, text)
                self.assertEqual(finished.stdout, "")


class Gpus(WatchTest):
    def watch(self, **environment):
        finished = run("iobench", "watch", "--interval", "200ms", "--count", "2", "--json", "-",
                       env={**os.environ, **environment})
        self.assertEqual(finished.returncode, 0, finished.stderr)
        envelope = result_of(finished)
        validate(envelope, SCHEMA)
        return envelope["result"]

    def test_are_told_as_their_driver_has_them(self):
        fake = os.environ.get("SHARDKIT_FAKE_NVML")
        if not fake:
            self.skipTest("SKIPPED: this build has no NVML")
        result = self.watch(LD_LIBRARY_PATH=fake)
        self.assertIsNone(result["gpus_missing"])
        first, second = result["rows"][0]["gpus"]
        self.assertEqual((first["gpu_busy_ratio"], first["pcie_lanes"], first["numa_node"]), (0.97, 8, 1))
        self.assertEqual(first["pcie_intake_bytes_per_second"], 12e9)
        self.assertIsNone(second["gpu_busy_ratio"])
        self.assertEqual(result["verdict"]["short_of"], "compute", result)  # whatever else uses the node
        self.assertEqual(result["summary"]["most_gpus_in_use"], 1)
        codes = [finding["code"] for finding in result["findings"]]
        self.assertLessEqual({"gpu_slowdown", "gpu_link_degraded"}, set(codes))

    def test_are_left_out_with_a_line_where_no_driver_is(self):
        result = self.watch()
        if result["gpus_missing"] is None:
            self.skipTest("SKIPPED: a driver of GPUs is here")
        self.assertRegex(result["gpus_missing"], r"\A[^\n]+\Z")
        self.assertEqual(result["rows"][0]["gpus"], [])


if __name__ == "__main__":
    unittest.main()
