"""Jobs that stage, hold, release, evict and repair in one cache at once, some of them killed: what a job leases is
there with the right bytes until it releases it, and the cache stays within its limit.

The moments of kills follow from a fixed seed. With SHARDKIT_SOAK there are ten times as many rounds."""

import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, SOAK, FolderTest, result_of, run, wait_until  # noqa: E402

KIB = 1 << 10
SETS = "abcd"
JOBS = 5
ROUNDS = 80 if SOAK else 8
LIMIT = 3 * 3 * 300 * KIB  # three of the four sets


class Races(FolderTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.faults = []
        self.kills = self.staged = 0
        self.content = {}
        for name in SETS:
            (self.folder / "src" / name).mkdir(parents=True)
            for number in range(3):
                self.content[name, f"{number}.bin"] = random.Random(f"{name}{number}").randbytes(300 * KIB)
                (self.folder / "src" / name / f"{number}.bin").write_bytes(self.content[name, f"{number}.bin"])

    def call(self, moments, *args, may_kill=True):
        """The exit code; a call in three is killed, if it may be."""
        process = subprocess.Popen([PROGRAMS / "shardctl", *map(str, args)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        if may_kill and moments.random() < 0.33:
            time.sleep(moments.uniform(0, 0.12))
            process.send_signal(moments.choice((signal.SIGKILL, signal.SIGTERM)))
            self.kills += 1
        error = process.communicate(timeout=120)[1]
        expected = {0, 3, 4, 5, 143, -signal.SIGKILL, -signal.SIGTERM}
        if args[:2] == ("cache", "rm"):
            expected.add(1)  # the set is in use
        if process.returncode not in expected:
            self.faults.append(f"{args}: {process.returncode}: {error}")
        return process.returncode

    def look(self, name, job):
        for (owner, file), content in self.content.items():
            path = self.cache / name / file
            if owner == name and (not path.exists() or path.read_bytes() != content):
                self.faults.append(f"{path} is leased by {job} and is {'wrong' if path.exists() else 'missing'}")

    def bytes_there(self):
        """Of complete files, which come and go meanwhile."""
        there = 0
        for name, file in self.content:
            try:
                there += (self.cache / name / file).stat().st_size
            except FileNotFoundError:
                pass
        return there

    def job(self, number):
        moments = random.Random(number)
        for turn in range(ROUNDS):
            job, name = f"job-{number}-{turn}", moments.choice(SETS)
            target = self.cache / name
            self.call(moments, "cache", *moments.choice((["gc", self.cache, "--limit", "0"], ["rm", target],
                                                         ["check", target, "--repair"], ["ls", self.cache])))
            code = self.call(moments, "stage", self.folder / "src" / name, target, "--manifest", "none", "--cache",
                             self.cache, "--limit", LIMIT, "--lease-id", job, "--wait", moments.choice(("0s", "3s")))
            if code == 0:
                self.staged += 1
                self.look(name, job)
            if moments.random() < 0.2:
                hold = subprocess.Popen([PROGRAMS / "shardctl", "cache", "hold", target, "--lease-id", job, "--lease", "2s"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                hold.stdout.readline()
                hold.stdout.close()
                hold.send_signal(moments.choice((signal.SIGKILL, signal.SIGTERM)))
                hold.wait(timeout=60)
            self.call(moments, "cache", "release", self.cache, "--lease-id", job, may_kill=False)

    def test_what_a_job_leases_is_there_whatever_the_others_do(self):
        jobs = [threading.Thread(target=self.job, args=(number,)) for number in range(JOBS)]
        for job in jobs:
            job.start()
        while any(job.is_alive() for job in jobs):
            self.assertLessEqual(self.bytes_there(), LIMIT)
            time.sleep(0.02)
        self.assertEqual(self.faults, [])
        self.assertGreater(self.kills, JOBS * ROUNDS // 4)
        self.assertGreater(self.staged, 0)
        for name in SETS:
            finished = run("shardctl", "stage", self.folder / "src" / name, self.cache / name, "--manifest", "none",
                           "--cache", self.cache, "--limit", LIMIT, "--lease", "0", "--wait", "60s")
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.look(name, "nobody")
        self.assertEqual(self.faults, [])
        finished = run("shardctl", "cache", "check", self.cache, "--json", "-")
        self.assertEqual(result_of(finished)["result"]["errors"], 0, finished.stdout)
        wait_until(lambda: run("shardctl", "cache", "gc", self.cache, "--limit", "0").returncode == 0)  # leases of killed holds
        left = [path for path in self.cache.rglob("*") if path.is_file() and not path.name.endswith((".lock", ".log"))]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
