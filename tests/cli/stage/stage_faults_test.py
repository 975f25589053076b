"""shardctl stage as a process: kills, full disks, several at once, and what it reads."""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, can_mount, had_time_to_stop, result_of, run, start, strace, tree, wait_until  # noqa: E402
from staging import StageTest, staged  # noqa: E402


class Kills(StageTest):
    def test_killed_at_random_moments_the_next_run_ends_with_the_same_bytes_and_reuses_some(self):
        source = self.folder / "files"
        source.mkdir()
        random.seed(3)
        block = os.urandom(1 << 20)
        for i in range(2):
            (source / f"big_{i}.bin").write_bytes(block * 60)
        expected = tree(source)
        target = self.folder / "out"
        for attempt in range(5):
            command = ("shardctl", "stage", source, target, "--manifest", "none", "--quiet")
            if attempt == 0:
                process = start(*command, "--bwlimit", "30MB")
                wait_until(lambda: list(target.glob(".shardkit/staging/*.parts")), process)  # something is durable
            else:
                process = start(*command)
                time.sleep(random.uniform(0.05, 0.4))
            process.send_signal(signal.SIGKILL)
            process.wait()
            finished = self.stage(source, target, "--manifest", "none")
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertEqual(staged(target), expected)
            result = result_of(finished)["result"]
            if attempt == 0:
                self.assertTrue(0 < result["bytes_reused"] < result["bytes"], result["bytes_reused"])
            shutil.rmtree(target)

    def test_sigterm_ends_it_with_143_and_the_next_run_completes(self):
        shards = self.make_shards()
        slow = strace("--seccomp-bpf", "-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=300000")
        process = subprocess.Popen(slow + [str(PROGRAMS / "shardctl"), "stage", str(shards), str(self.folder / "out")],
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        wait_until(lambda: list(self.folder.glob("out/**/*.partial")), process)
        os.killpg(process.pid, signal.SIGTERM)
        stderr = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 143, stderr)
        if had_time_to_stop(stderr):
            self.assertRegex(stderr, r"the next run reads \S+ [KM]iB, \S+ \S+ of that again")
        self.assertFalse((self.folder / "out/.shardkit/staged.json").exists())
        self.assertEqual(self.stage(shards, self.folder / "out").returncode, 0)
        self.assertEqual(staged(self.folder / "out"), tree(shards))


class Room(StageTest):
    def test_a_disk_that_is_too_small_is_exit_5_before_anything_is_copied(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        shards = self.make_shards()
        target = self.folder / "small"
        target.mkdir()
        script = (f"mount -t tmpfs -o size=1m none {target} && {PROGRAMS}/shardctl stage {shards} {target}/out; "
                  f"code=$?; find {target} -name '*.tar' -o -name '*.partial' | grep . && code=99; exit $code")
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 5, finished.stdout + finished.stderr)
        self.assertIn("more are needed", finished.stderr)

    def test_a_disk_that_fills_meanwhile_is_exit_5_and_leaves_no_half_shard(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        shards = self.make_shards()
        target = self.folder / "disk"
        target.mkdir()
        slow = " ".join(strace("-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=100000"))
        script = f"""
            mount -t tmpfs -o size=16m none {target}
            (until find {target} -name '*.partial' | grep -q .; do sleep 0.01; done
             head -c 16m /dev/zero > {target}/another-program) 2>/dev/null &
            {slow} {PROGRAMS}/shardctl stage {shards} {target}/out --concurrency 1
            code=$?
            rm {target}/another-program
            for shard in $(find {target}/out -maxdepth 1 -name '*.tar'); do
                cmp "$shard" {shards}/$(basename "$shard") || exit 98
            done
            {PROGRAMS}/shardctl stage {shards} {target}/out --quiet || exit 99
            for shard in {shards}/*.tar; do cmp "$shard" {target}/out/$(basename "$shard") || exit 97; done
            exit $code"""
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 5, finished.stdout + finished.stderr)


class Together(StageTest):
    def test_several_at_once_into_one_folder_copy_once(self):
        shards = self.make_shards()
        target = self.folder / "out"
        command = [str(PROGRAMS / "shardctl"), "stage", str(shards), str(target), "--json", "-"]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                     for _ in range(4)]
        results = []
        for process in processes:
            stdout, stderr = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, stderr)
            results.append(result_of(subprocess.CompletedProcess(command, 0, stdout))["result"])
        # The manifest says what is wanted; who comes when all is done does not even need that.
        manifest = (shards / "manifest.json").stat().st_size
        self.assertEqual(sum(max(result["bytes_fetched"] - manifest, 0) for result in results),
                         results[0]["bytes"] - manifest, results)
        self.assertEqual(staged(target), tree(shards))


class Reading(StageTest):
    def test_a_second_stage_opens_no_shard_and_writes_its_lease_alone(self):
        shards = self.make_shards()
        target = self.folder / "out"
        self.assertEqual(self.stage(shards, target).returncode, 0)
        log = self.folder / "log"
        logged = strace("-o", str(log), "-e", "trace=openat,rename,unlink,mkdir")
        finished = subprocess.run([*logged, str(PROGRAMS / "shardctl"), "stage", str(shards), str(target)],
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        calls = [line for line in log.open() if str(self.folder) in line]
        self.assertNotIn(".tar", "".join(calls))
        changes = [line for line in calls if re.search("O_CREAT|O_WRONLY|rename|unlink|mkdir", line)]
        self.assertTrue(changes)
        for line in changes:
            self.assertRegex(line, r"\.shardkit/(leases/|stage\.lock)")

    def test_a_read_error_is_exit_1_and_names_the_file(self):
        shards = self.make_shards()
        broken = shards / "shard-000001.tar"
        failing = strace("-o", "/dev/null", "-P", str(broken), "-e", "trace=pread64", "-e", "inject=pread64:error=EIO")
        finished = subprocess.run([*failing, str(PROGRAMS / "shardctl"), "stage", str(shards), str(self.folder / "out")],
                                  capture_output=True, text=True, timeout=60)
        self.assert_error(finished, 1, broken)


class Sources(StageTest):
    def test_a_missing_source_an_unknown_url_and_a_target_in_the_source_are_distinguished(self):
        shards = self.make_shards()
        self.assert_error(run("shardctl", "stage", self.folder / "absent", self.folder / "out"), 4, "absent")
        self.assert_error(run("shardctl", "stage", "abfs://bucket/x", self.folder / "out"), 4, "abfs:")
        self.assert_error(run("shardctl", "stage", shards, shards / "copy"), 2, "is inside the source")
        self.assert_error(run("shardctl", "stage", shards, shards), 2, "is both source and target")

    def test_any_files_are_staged_without_a_manifest(self):
        source = self.make_tree(classes=2, per_class=5)
        (source / "with space\nand newline.txt").write_bytes(b"x")
        pathlib.Path(os.fsdecode(os.fsencode(source) + b"/not-utf8-\xff")).write_bytes(b"y")
        target = self.folder / "out"
        finished = self.stage(source, target, "--manifest", "none")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(result_of(finished)["result"]["verified"], "size")
        self.assertEqual(staged(target), tree(source))
        again = result_of(self.stage(source, target, "--manifest", "none"))["result"]
        self.assertEqual(again["bytes_fetched"], 0)


if __name__ == "__main__":
    unittest.main()
