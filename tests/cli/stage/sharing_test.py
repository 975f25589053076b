"""Many shardctl stage into one folder at once, some of them killed: each file is fetched once, and every byte is right.

With SHARDKIT_SOAK there are ten times as many rounds with kills."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, SOAK, strace, tree  # noqa: E402
from staging import StageTest, staged  # noqa: E402

ROUNDS = 60 if SOAK else 6
PROCESSES = 8
MB = 1_000_000
LARGEST = 8 * MB
AT_ONCE = 4  # files that one process works at
BATCH = 64 << 20  # small files that one process gathers before it makes them durable


class SharingTest(StageTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.started = 0

    def make_files(self, count=40):
        source = self.folder / "files"
        source.mkdir()
        block = os.urandom(LARGEST)
        for i in range(count):
            size = MB + random.randrange(LARGEST - MB)
            (source / f"{i:02}.bin").write_bytes(block[i:i + size - 8] + i.to_bytes(8, "big"))
        return source

    def start(self, *args, under=()):
        self.started += 1
        log = (self.folder / f"stderr-{self.started}").open("w")
        self.addCleanup(log.close)
        envelope = str(self.folder / f"json-{self.started}")
        command = [*under, str(PROGRAMS / "shardctl"), "stage", *map(str, args), "--json", envelope]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        process.number = self.started
        self.addCleanup(process.kill)
        return process

    def stderr_of(self, process):
        return (self.folder / f"stderr-{process.number}").read_text()

    def result_of(self, process):
        self.assertEqual(process.wait(timeout=120), 0, self.stderr_of(process))
        return json.loads((self.folder / f"json-{process.number}").read_text())["result"]

    def assert_whole(self, expected):
        self.assertEqual(staged(self.out), expected)
        marker = json.loads((self.out / ".shardkit/staged.json").read_text())
        self.assertEqual(marker["files"], len(expected))


class Kills(SharingTest):
    def test_whoever_is_killed_the_others_bring_the_set_and_fetch_nothing_twice_but_what_was_lost(self):
        random.seed(11)
        source = self.make_files()
        expected = tree(source)
        total = sum(path.stat().st_size for path in source.iterdir())
        for number in range(ROUNDS):
            with self.subTest(round=number):
                self.round(source, expected, total, replace=number % 2 == 0)
                subprocess.run(["rm", "-rf", str(self.out)], check=True)

    def round(self, source, expected, total, replace):
        command = (source, self.out, "--manifest", "none", "--bwlimit", "20MB", "--concurrency", AT_ONCE)
        processes = [self.start(*command) for _ in range(PROCESSES)]
        killed = 0
        for _ in range(3):
            time.sleep(random.uniform(0.05, 0.5))
            victim = processes.pop(random.randrange(len(processes)))
            if victim.poll() is None:
                victim.send_signal(signal.SIGKILL)
                killed += 1
            victim.wait()
            if replace:
                processes.append(self.start(*command))
        results = [self.result_of(process) for process in processes]
        self.assert_whole(expected)
        fetched = sum(result["bytes_fetched"] for result in results)
        self.assertLessEqual(fetched, total + killed * (BATCH + AT_ONCE * LARGEST))
        for result in results:
            self.assertEqual(result["bytes"], total)
            self.assertEqual(result["retries"], 0)
            self.assertLessEqual(result["bytes_reused"], total)
        self.assertEqual(list(self.out.glob(".shardkit/staging/*")), [])


class Together(SharingTest):
    def test_with_nobody_killed_each_byte_is_fetched_once_and_all_of_them_report_progress(self):
        source = self.make_files(16)
        total = sum(path.stat().st_size for path in source.iterdir())
        command = (source, self.out, "--manifest", "none", "--bwlimit", "1500kB")
        processes = [self.start(*command) for _ in range(PROCESSES)]
        results = [self.result_of(process) for process in processes]
        self.assert_whole(tree(source))
        self.assertEqual(sum(result["bytes_fetched"] for result in results), total)
        for process, result in zip(processes, results):
            self.assertEqual(result["bytes_fetched"] + result["bytes_reused"], total)
            self.assertRegex(self.stderr_of(process), r"copy \d+ %  \d+/16")

    def test_one_that_has_nothing_to_do_but_wait_reports_progress(self):
        source = self.folder / "files"
        source.mkdir()
        (source / "big.bin").write_bytes(os.urandom(80 * MB))
        first = self.start(source, self.out, "--manifest", "none", "--bwlimit", "12MB")
        while not list(self.out.glob(".shardkit/staging/*.partial")):
            time.sleep(0.01)
        time.sleep(0.5)
        second = self.start(source, self.out, "--manifest", "none")
        self.assertEqual(self.result_of(first)["bytes_fetched"] + self.result_of(second)["bytes_fetched"], 80 * MB)
        self.assertRegex(self.stderr_of(second), r"copy [1-9]\d* %")  # of what the first has brought
        self.assert_whole(tree(source))


class Ranks(SharingTest):
    def test_a_rank_that_ends_while_another_names_its_files_keeps_the_ranks_before(self):
        shards = self.make_shards(per_class=80)
        self.stage_ranks(shards, [0], False)
        before = len((self.out / ".shardkit/stage.journal").read_text().splitlines())
        slow = strace("-o", "/dev/null", "-e", "trace=rename", "-e", "inject=rename:delay_enter=400000")
        delayed = self.start(shards, self.out, "--rank", 1, "--world", 4, under=slow)
        while len((self.out / ".shardkit/stage.journal").read_text().splitlines()) <= before + 1:
            self.assertIsNone(delayed.poll(), self.stderr_of(delayed))
            time.sleep(0.005)
        part = self.stage_ranks(shards, [2], False)
        self.assertIn("ranks 0-0 of 4 by webdataset", part["subsets"])
        self.assertNotIn("ranks 1-1 of 4 by webdataset", part["subsets"])
        self.result_of(delayed)
        part = json.loads((self.out / ".shardkit/staged.json").read_text())
        self.assertEqual(sorted(part["subsets"]), [f"ranks {r}-{r} of 4 by webdataset" for r in range(3)])

    def stage_ranks(self, shards, ranks, at_once):
        started = []
        for rank in ranks:
            started.append(self.start(shards, self.out, "--rank", rank, "--world", 4))
            if not at_once:
                started[-1].wait(timeout=60)
        for process in started:
            self.result_of(process)
        return json.loads((self.out / ".shardkit/staged.json").read_text())

    def test_ranks_bring_their_shards_into_one_folder_at_once_or_in_turn(self):
        shards = self.make_shards(per_class=80)
        for at_once in (True, False):
            with self.subTest(at_once=at_once):
                part = self.stage_ranks(shards, range(3), at_once)
                self.assertEqual(sorted(part["subsets"]), [f"ranks {r}-{r} of 4 by webdataset" for r in range(3)])
                self.assertLess(len(staged(self.out)), len(tree(shards)))
                whole = self.stage_ranks(shards, [3], at_once)
                self.assertNotIn("subsets", whole)
                self.assertEqual(staged(self.out), tree(shards))
                self.assertEqual(self.result_of(self.start(shards, self.out))["bytes_fetched"], 0)
                subprocess.run(["rm", "-rf", str(self.out)], check=True)


if __name__ == "__main__":
    unittest.main()
