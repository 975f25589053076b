"""iobench read of local files as a user and a script see it: engines, jobs, folders."""

import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import FolderTest, has_uring, result_of, run  # noqa: E402

KIB = 1 << 10
MIB = 1 << 20


class Read(FolderTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "data.bin"
        self.file.write_bytes(os.urandom(4 * MIB + 100))

    def read(self, *args, code=0):
        finished = run("iobench", "read", *args, "--json", "-", "--quiet")
        self.assertEqual(finished.returncode, code, finished.stdout)
        return result_of(finished)

    def read_by(self, engine, *args):
        """The result, or a skip where the kernel does not offer the engine."""
        if engine == "uring" and not has_uring():
            self.skipTest("io_uring is not available")
        finished = run("iobench", "read", self.file, "--engine", engine, *args, "--json", "-", "--quiet")
        envelope = result_of(finished)
        self.assertEqual(finished.returncode, 0, finished.stdout)
        return envelope["result"]

    def test_each_engine_reads_all_of_a_file_in_blocks(self):
        for engine in ("pread", "mmap", "uring"):
            with self.subTest(engine):
                result = self.read_by(engine, "--threads", 2, "--block", "64KiB")
                self.assertEqual((result["engine"], result["bytes"], result["operations"]),
                                 (engine, 4 * MIB + 100, 65))
                self.assertGreaterEqual(result["kernel_reads"], 65)
                self.assertEqual(sum(step["count"] for step in result["latency_histogram"]), 65)

    def test_random_blocks_come_once_each(self):
        result = self.read_by("uring", "--mode", "random", "--block", "4KiB", "--depth", 16, "--threads", 2)
        self.assertEqual((result["operations"], result["bytes"], result["samples"]), (1024, 4 * MIB, None))
        self.assertIn("--rw=randread --bs=4096 --ioengine=io_uring --iodepth=16 --numjobs=2", result["fio"])

    def test_repetitions_and_their_interval(self):
        result = self.read(self.file, "--cache", "warm", "--repeat", 5)["result"]
        self.assertEqual(len(result["repetitions"]), 5)
        rates = sorted(row["bytes_per_second"] for row in result["repetitions"])
        self.assertEqual(result["bytes_per_second"], rates[2])
        rate = result["repeated"][0]
        self.assertEqual((rate["metric"], rate["median"], rate["low"], rate["high"]),
                         ("read.bytes_per_second", rates[2], rates[0], rates[4]))

    def test_token_files_are_rows_of_samples(self):
        result = self.read(self.file, "--sample-bytes", "1000", "--mode", "random")["result"]
        self.assertEqual((result["samples"], result["mean_sample_bytes"]), ((4 * MIB + 100) // 1000, 1000))

    def test_folders_are_read_call_by_call(self):
        tree = self.make_tree(classes=3, per_class=10)
        result = self.read(tree, "--mode", "imagefolder", "--threads", 4)["result"]
        rows = {row["name"]: row for row in result["imagefolder"]["operations"]}
        self.assertEqual({name: row["count"] for name, row in rows.items()},
                         {"list": 4, "open": 30, "stat": 30, "read": 30, "close": 30})
        for row in rows.values():
            self.assertLessEqual(row["p50_seconds"], row["p99_seconds"])
        self.assertAlmostEqual(result["imagefolder"]["epoch_hours"] * 3600, result["imagefolder"]["epoch_seconds"])

    def test_the_report_names_engine_cache_and_fio(self):
        finished = run("iobench", "read", self.file, "--cache", "warm", "--verbose")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        for words in ("engine:", "pread", "cache warm", "latency histogram:", "fio --name=read"):
            self.assertIn(words, finished.stdout)

    def test_metrics_and_json_can_be_written_beside_the_report(self):
        metrics, result = self.folder / "x.prom", self.folder / "x.json"
        finished = run("iobench", "read", self.file, "--prometheus", metrics, "--json", result)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("bytes_per_second", metrics.read_text())
        self.assertEqual(json.loads(result.read_text())["result"]["bytes"], 4 * MIB + 100)


if __name__ == "__main__":
    unittest.main()
