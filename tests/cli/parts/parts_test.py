"""`shardctl parts`: what is done, missing, in progress and failed, and the tasks to submit again."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import PROGRAMS, FolderTest, result_of, run, strace, wait_until  # noqa: E402


def slurm_task(number, first, last, step=1):
    """The environment of a task of `sbatch --array=FIRST-LAST:STEP`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    return {**clean, "SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_MIN": str(first), "SLURM_ARRAY_TASK_MAX": str(last),
            "SLURM_ARRAY_TASK_STEP": str(step), "SLURM_ARRAY_TASK_COUNT": str((last - first) // step + 1)}


class PartsTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.source = self.make_tree()
        self.target = self.folder / "out"

    def convert(self, *options, environment=None):
        return run("shardctl", "convert", self.source, self.target, "--shards", 20, *options,
                   env=environment or dict(os.environ))

    def task(self, number, first=0, last=9, step=1):
        return self.convert("--part", "auto", environment=slurm_task(number, first, last, step))

    def start_slowly(self):
        """Part 1/2, with strace as the process."""
        slow = strace("-o", "/dev/null", "-e", "trace=openat", "-e", "inject=openat:delay_enter=20000")
        process = subprocess.Popen([*slow, PROGRAMS / "shardctl", "convert", self.source, self.target, "--shards", "20",
                                    "--part", "1/2", "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def parts(self):
        finished = run("shardctl", "parts", self.target, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]

    def missing(self):
        finished = run("shardctl", "parts", self.target, "--missing")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout


class Parts(PartsTest):
    def test_the_tasks_to_submit_again_are_ranges_until_none_is_left(self):
        for number in (0, 1, 2, 4, 5, 6):
            self.assertEqual(self.task(number).returncode, 0)
        self.assertEqual(self.missing(), "3,7-9\n")
        for number in (3, 7, 8, 9):
            self.assertEqual(self.task(number, 3, 9).returncode, 0)  # --array=3,7-9
        self.assertEqual(self.missing(), "")
        result = self.parts()
        self.assertEqual((result["done"], result["shards_done"], result["merged"]), (10, 20, False))
        self.assertEqual(run("shardctl", "merge", self.target).returncode, 0)
        self.assertTrue(self.parts()["merged"])
        self.assertEqual(self.missing(), "")

    def test_sets_of_a_split_stay_merged_without_the_records_of_their_parts(self):
        for part in ("0/2", "1/2"):
            self.assertEqual(self.convert("--split", "train=0.5,val=0.5", "--part", part).returncode, 0)
        for name in ("train", "val"):
            self.assertEqual(run("shardctl", "merge", self.target / name).returncode, 0)
        self.assertTrue(self.parts()["merged"])
        self.assertEqual(self.missing(), "")

    def test_a_part_whose_record_is_damaged_is_to_be_run_again(self):
        for part in ("0/2", "1/2"):
            self.assertEqual(self.convert("--part", part).returncode, 0)
        record = self.target / ".shardkit/part-00001-of-00002.json"
        record.write_bytes(record.read_bytes().replace(b"shard-", b"shar--", 1))
        self.assertEqual(self.missing(), "")  # only the manifest is missing, which merge can write
        (self.target / "shard-000012.tar").unlink()
        self.assertEqual(self.missing(), "1\n")
        self.assertNotEqual(run("shardctl", "merge", self.target).returncode, 0)
        self.assertEqual(self.convert("--part", "1/2").returncode, 0)
        self.assertEqual(self.missing(), "")
        self.assertEqual(run("shardctl", "merge", self.target).returncode, 0)

    def test_of_two_divisions_the_one_that_is_further_counts(self):
        for part in ("0/4", "0/3", "1/3", "2/3"):
            self.assertEqual(self.convert("--part", part).returncode, 0)
        result = self.parts()
        self.assertEqual((result["parts"], result["done"]), (3, 3))

    def test_ids_are_those_of_the_array_that_came_first(self):
        self.assertEqual(self.task(7, 1, 7, 2).returncode, 0)
        self.assertEqual(self.missing(), "1,3,5\n")
        self.assertEqual([(row["part"], row["task"], row["state"]) for row in self.parts()["rows"]],
                         [(0, 1, "missing"), (1, 3, "missing"), (2, 5, "missing"), (3, 7, "done")])

    def test_the_lines_are_part_task_state_and_shards(self):
        self.assertEqual(self.convert("--part", "1/2").returncode, 0)
        self.assertEqual(run("shardctl", "parts", self.target).stdout, "0\t0\tmissing\t0/10\n1\t1\tdone\t10/10\n")

    def test_a_part_whose_shard_is_gone_is_missing(self):
        for part in ("0/2", "1/2"):
            self.convert("--part", part)
        (self.target / "shard-000012.tar").unlink()
        self.assertEqual([(row["state"], row["shards_done"]) for row in self.parts()["rows"]], [("done", 10), ("missing", 9)])

    def test_a_part_with_bad_files_has_failed_and_is_submitted_again(self):
        for image in (self.source / "class_0").iterdir():
            image.write_bytes(b"no image")
        self.assertEqual(self.task(4).returncode, 4)
        self.assertEqual([row["state"] for row in self.parts()["rows"]], ["missing"] * 4 + ["failed"] + ["missing"] * 5)
        self.assertEqual(self.missing(), "0-9\n")

    def test_a_part_that_a_live_process_writes_is_in_progress(self):
        process = self.start_slowly()
        state = self.target / ".shardkit"
        wait_until(lambda: (state / "plan").exists() and any("\t1/2\t" in path.read_text() for path in state.glob("*.run")),
                   process)
        row = self.parts()["rows"][1]
        self.assertEqual((row["state"], row["part"]), ("in_progress", 1))
        self.assertIn("process ", row["run"])
        self.assertEqual(self.missing(), "0\n")

    def test_a_first_part_that_is_killed_as_soon_as_there_is_a_plan_has_told_the_division(self):
        process = self.start_slowly()
        wait_until((self.target / ".shardkit/plan").exists, process)
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.wait()
        self.assertEqual(self.missing(), "0-1\n")

    def test_merge_says_what_became_of_a_part(self):
        image = self.source / "class_0/img_000.jpg"
        image.write_bytes(b"no image")
        failed = [self.convert("--part", part).returncode for part in ("0/2", "1/2")].index(4)
        refused = run("shardctl", "merge", self.target)
        self.assert_error(refused, 4, f"part {failed} of", "class_0/img_000.jpg", "--on-bad skip")
        self.assertEqual(self.convert("--on-bad", "skip", "--part", f"{failed}/2").returncode, 0)  # the remedy
        self.assertEqual(run("shardctl", "merge", self.target).returncode, 0)

    def test_sets_of_a_split_count_together(self):
        options = ("--split", "train=0.5,val=0.5")
        self.assertEqual(self.convert(*options, "--part", "auto", environment=slurm_task(1, 0, 1)).returncode, 0)
        self.assertEqual([(row["state"], row["shards_done"], row["shards"]) for row in self.parts()["rows"]],
                         [("missing", 0, 20), ("done", 20, 20)])
        run("shardctl", "merge", self.target / "train")
        self.assertEqual(self.missing(), "0\n")

    def test_a_plan_says_how_many_parts_there_are_before_one_begins(self):
        plan = self.folder / "plan"
        run("shardctl", "plan", self.source, "-o", plan, "--shards", 20, "--parts", 4)
        convert = ("shardctl", "convert", self.source, self.target, "--plan", plan, "--part", "auto")
        self.assertEqual(run(*convert, env=slurm_task(3, 3, 3)).returncode, 0)
        self.assertEqual(self.missing(), "0-2\n")
        self.assert_error(run(*convert, env=slurm_task(4, 1, 4)), 2, "4 parts of", "array tasks 0-3")

    def test_a_part_reads_and_checks_only_its_own_lines_of_the_plan(self):
        plan = self.folder / "plan"
        run("shardctl", "plan", self.source, "-o", plan, "--shards", 20)

        def convert(part):
            return run("shardctl", "convert", self.source, self.target, "--plan", plan, "--part", part)
        self.assertEqual(convert("0/3").returncode, 0)
        kept = self.target / ".shardkit/plan"
        lines = kept.read_bytes().split(b"\n")
        last = max(i for i, line in enumerate(lines) if line.startswith(b"+"))
        lines[last] = lines[last].replace(b"img_", b"imh_")
        kept.write_bytes(b"\n".join(lines))
        self.assertEqual(convert("1/3").returncode, 0)
        self.assert_error(convert("2/3"), 4, "have changed since they were written")

    def test_targets_without_parts_are_refused_unless_nothing_is_left_to_do(self):
        (self.folder / "empty").mkdir()
        self.assert_error(run("shardctl", "parts", self.folder / "empty"), 4, "is empty")
        self.assert_error(run("shardctl", "parts", self.source), 4, "contains images and no *.tar file",
                          f"`shardctl convert {self.source} DST`")
        self.convert()
        self.assertTrue(self.parts()["merged"])
        (self.target / "manifest.json").unlink()
        self.assertEqual((self.parts()["merged"], self.missing()), (False, ""))
        (self.target / "shard-000012.tar").unlink()
        self.assertEqual((self.parts()["merged"], self.missing()), (False, "0\n"))  # one part of all
        self.assertEqual(self.convert("--part", "0/1").returncode, 0)
        self.assertEqual(self.missing(), "")
        self.assertEqual(run("shardctl", "merge", self.target).returncode, 0)
        self.assertEqual(run("shardctl", "verify", self.target).returncode, 0)


class SingleTasks(PartsTest):
    """Tasks of an array that are submitted again without the others."""

    def test_a_single_task_before_the_array_is_refused_and_writes_no_shard(self):
        self.assert_error(self.task(3, 3, 3), 2, "use --part I/N")
        self.assertFalse(self.target.exists())
        plan = self.folder / "plan"
        run("shardctl", "plan", self.source, "-o", plan, "--shards", 20)
        for options in (("--plan", plan), ("--split", "train=0.5,val=0.5")):
            refused = run("shardctl", "convert", self.source, self.target, *options, "--part", "auto", env=slurm_task(3, 3, 3))
            self.assert_error(refused, 2, "use --part I/N")
            self.assertFalse(self.target.exists())
        self.assertEqual(self.convert("--part", "3/10").returncode, 0)  # the remedy

    def test_a_number_of_parts_that_is_not_the_plan_s_is_refused_by_the_first_task(self):
        plan = self.folder / "plan"
        run("shardctl", "plan", self.source, "-o", plan, "--shards", 20, "--parts", 4)
        convert = ("shardctl", "convert", self.source, self.target, "--part", "auto")
        environment = {**os.environ, "JOB_COMPLETION_INDEX": "1"}
        self.assert_error(run(*convert, "--plan", plan, "--parts", 8, env=environment), 2, "4 parts", "leave out --parts")
        self.assertFalse(self.target.exists())
        self.assertEqual(run(*convert, "--plan", plan, env=environment).returncode, 0)  # the remedy
        again = (*convert, "--shards", 20)
        self.assert_error(run(*again, "--parts", 8, env=environment), 2, "4 parts", "leave out --parts")
        self.assertEqual(run(*again, env=environment).returncode, 0)  # the remedy

    def test_another_array_is_refused_in_all_its_tasks(self):
        self.assertEqual(self.task(0).returncode, 0)
        for number in (0, 9, 19):
            self.assert_error(self.task(number, 0, 19), 2, "belong to array tasks 0-9", f"task {number} of the array 0-19")
        self.assertEqual(self.convert("--part", "3/20").returncode, 0)  # the remedy

    def test_a_dry_run_records_nothing(self):
        self.assertEqual(self.convert("--part", "auto", "--dry-run", environment=slurm_task(0, 0, 9)).returncode, 0)
        self.assertFalse(self.target.exists())

    def test_a_damaged_record_is_written_again_by_the_next_task_of_the_array(self):
        record = self.target / ".shardkit/plan.division"
        self.assertEqual(self.task(0).returncode, 0)
        good = record.read_text()
        for damaged in (good.replace("\t10\t", "\t11\t", 1), good[:9], ""):
            with self.subTest(damaged):
                record.write_text(damaged)
                self.assertEqual(self.parts()["parts"], 10)
                self.assert_error(self.task(3, 3, 3), 2, "use --part I/N")
                self.assertEqual(self.convert("--part", "3/10").returncode, 0)  # the remedy
                self.assertEqual(self.task(1).returncode, 0)
                self.assertEqual(record.read_text(), good)

    def test_appended_shards_are_divided_anew(self):
        for number in (0, 1):
            self.assertEqual(self.task(number, 0, 1).returncode, 0)
        self.assertEqual(run("shardctl", "merge", self.target).returncode, 0)
        self.make_tree("more")
        for path in (self.folder / "more/class_0").iterdir():
            path.rename(self.source / "class_0" / f"new_{path.name}")
        for number in (0, 1, 2):
            finished = self.convert("--append", "--part", "auto", environment=slurm_task(number, 0, 2))
            self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual((self.parts()["parts"], self.missing()), (3, ""))
        self.assertEqual(run("shardctl", "merge", self.target).returncode, 0)


if __name__ == "__main__":
    unittest.main()
