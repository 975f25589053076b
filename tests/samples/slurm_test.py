"""The Slurm samples run as Slurm runs them, on programs that only note how they are called.

What Slurm gives to a batch script, a step and a prolog was seen in Slurm 22.05.
"""

import os
import re
import shlex
import subprocess
import unittest

from commands import SAMPLES, fake_programs, problems_of
from program import FolderTest

FOLDER = SAMPLES / "slurm"
SCRIPTS = sorted(FOLDER.iterdir())
NODES, PER_NODE = 4, 8
BATCH = {"SLURM_JOB_ID": "17", "SLURM_JOB_NUM_NODES": str(NODES), "SLURM_NTASKS": str(NODES * PER_NODE),
         "SLURM_NTASKS_PER_NODE": str(PER_NODE), "SLURM_CPUS_PER_TASK": "8", "SLURM_NODEID": "0", "SLURM_PROCID": "0"}
# Runs what srun would, task after task, with what it gives to each; ends with the highest exit code, as srun does.
SRUN = """
tasks=$SLURM_NTASKS per_node=$SLURM_NTASKS_PER_NODE worst=0
while [[ $1 == --* ]]; do
  case $1 in
    --ntasks=*) tasks=${1#*=} ;;
    --ntasks-per-node=*) per_node=${1#*=} ;;
  esac
  shift
done
for ((task = 0; task < tasks; ++task)); do
  SLURM_PROCID=$task SLURM_NODEID=$((task / per_node)) SLURM_NTASKS=$tasks SLURM_NTASKS_PER_NODE=$per_node \\
    SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=$tasks "$@"
  code=$?
  ((code > worst)) && worst=$code
done
exit $worst
"""


class Scripts(unittest.TestCase):
    def test_are_bash(self):
        self.assertEqual(len(SCRIPTS), 5)
        for script in SCRIPTS:
            with self.subTest(script.name):
                subprocess.run(["bash", "-n", script], check=True)

    def test_have_only_options_that_their_verb_has(self):
        found = 0
        for script in SCRIPTS:
            text = re.sub(r"(^|\s)#.*", "", script.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
            for line in re.findall(r"shardctl [a-z][^\n|']*", text):
                with self.subTest(script.name):
                    self.assertEqual(problems_of(shlex.split(line)), [])
                found += 1
        self.assertEqual(found, 5)


class Batch(FolderTest):
    def run_script(self, name, environment=BATCH, **programs):
        """(exit code, calls of programs but srun) of a batch script; `programs` replaces what a program does."""
        calls = fake_programs(self.folder, **{"srun": SRUN, "shardctl": "exit 0", "python": "exit 0", **programs})
        finished = subprocess.run(["bash", FOLDER / name], capture_output=True, text=True, timeout=120,
                                  env={"PATH": f"{self.folder}:{os.environ['PATH']}", **environment})
        return finished.returncode, [call for call in calls() if call["program"] != "srun"]

    def stages(self, calls):
        return [call for call in calls if call["arguments"][0] == "stage"]

    def option(self, call, name):
        return call["arguments"][call["arguments"].index(name) + 1]

    def test_each_node_stages_the_shards_of_its_ranks_then_all_ranks_train_then_each_node_releases(self):
        code, calls = self.run_script("stage.sbatch")
        self.assertEqual(code, 0)
        self.assertEqual([call["program"] for call in calls],
                         ["shardctl"] * NODES + ["python"] * NODES * PER_NODE + ["shardctl"] * NODES)
        staged = [(call["environment"]["SLURM_NODEID"], self.option(call, "--rank"), self.option(call, "--world"))
                  for call in self.stages(calls)]
        self.assertEqual(staged, [("0", "0-7", "32"), ("1", "8-15", "32"), ("2", "16-23", "32"), ("3", "24-31", "32")])
        self.assertEqual([call["arguments"] for call in calls[-NODES:]],
                         [["cache", "release", call["arguments"][2]] for call in self.stages(calls)])

    def test_training_gets_the_names_of_the_whole_set_in_the_folder_that_was_staged(self):
        _, calls = self.run_script("stage.sbatch")
        target = self.stages(calls)[0]["arguments"][2]
        trained = next(call["arguments"] for call in calls if call["program"] == "python")
        self.assertEqual(trained[-1], target + "/shard-{000000..000146}.tar")
        self.assertTrue(target.startswith(self.option(self.stages(calls)[0], "--cache") + "/"))

    def test_nothing_trains_where_a_node_could_not_stage_and_the_job_fails_with_that_exit_code(self):
        code, calls = self.run_script("stage.sbatch", shardctl='[[ $1 == stage && $SLURM_NODEID == 2 ]] && exit 4; exit 0')
        self.assertEqual(code, 4)
        self.assertEqual([call["program"] for call in calls if call["program"] == "python"], [])
        self.assertEqual(len([call for call in calls if call["arguments"][:2] == ["cache", "release"]]), NODES)

    def test_a_training_that_fails_fails_the_job_also_when_the_release_succeeds(self):
        self.assertEqual(self.run_script("stage.sbatch", python="exit 3")[0], 3)

    def test_a_release_that_fails_does_not_fail_the_job(self):
        self.assertEqual(self.run_script("stage.sbatch", shardctl='[[ $1 != cache ]] || exit 1')[0], 0)

    def test_convert_writes_the_part_of_its_array_task(self):
        task = {"SLURM_JOB_ID": "18", "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "16", "SLURM_NTASKS": "1",
                "SLURM_NTASKS_PER_NODE": "1"}
        code, calls = self.run_script("convert.sbatch", task)
        self.assertEqual(code, 0)
        (convert,) = calls
        self.assertEqual(convert["arguments"][0], "convert")
        self.assertEqual(self.option(convert, "--part"), "auto")


class Prolog(FolderTest):
    """Prolog and epilog get no PATH and nothing of the user's environment. If one fails, Slurm drains the node."""

    ENVIRONMENT = {"SLURM_JOB_ID": "17", "SLURM_JOB_UID": "1000", "SLURM_NODELIST": "n[1-4]", "SLURMD_NODENAME": "n2"}

    def run_script(self, name, shardctl, **programs):
        """(exit code, arguments of the programs' calls, log); the script's paths are moved into the test's folder."""
        calls = fake_programs(self.folder, **({"shardctl": shardctl} if shardctl else {}), **programs)
        script = (FOLDER / name).read_text()
        for old, new in (("PATH=/usr/local/bin", f"PATH={self.folder}"), ("/var/log", str(self.folder)),
                         ("/local/shardkit", str(self.folder / "cache"))):
            self.assertIn(old, script)
            script = script.replace(old, new)
        moved = self.folder / name
        moved.write_text(script)
        moved.chmod(0o755)
        code = subprocess.run([moved], env=self.ENVIRONMENT, capture_output=True, timeout=60).returncode
        log = self.folder / "shardkit-prolog.log"
        return code, [call["arguments"] for call in calls()], log.read_text() if log.exists() else ""

    def test_can_be_executed(self):
        for name in ("prolog.sh", "epilog.sh", "health-check.sh"):
            self.assertTrue(os.access(FOLDER / name, os.X_OK), name)

    def test_the_epilog_ends_the_lease_that_the_prolog_took(self):
        (self.folder / "cache/imagenet-train").mkdir(parents=True)
        code, (stage,), log = self.run_script("prolog.sh", "exit 0")
        self.assertEqual((code, log), (0, ""))
        self.assertIn("--soft-fail", stage)
        self.assertEqual(stage[stage.index("--lease-id") + 1], "slurm-17")
        code, (_, release), log = self.run_script("epilog.sh", "exit 0")
        self.assertEqual((code, log), (0, ""))
        self.assertEqual(release[:3], ["cache", "release", stage[2]])
        self.assertEqual(release[release.index("--lease-id") + 1], "slurm-17")

    def test_succeed_and_say_why_when_shardctl_fails(self):
        (self.folder / "cache/imagenet-train").mkdir(parents=True)
        for name in ("prolog.sh", "epilog.sh"):
            with self.subTest(name):
                code, _, log = self.run_script(name, "echo no room >&2; exit 5")
                self.assertEqual(code, 0)
                self.assertIn("no room", log)
                self.assertRegex(log, r"job 17: .*exit code 5\n$")

    def test_the_prolog_tells_the_system_if_it_staged_nothing(self):
        marker = self.folder / "cache/imagenet-train/.shardkit/staged.json"
        marker.parent.mkdir(parents=True)
        logger = self.folder / "logger"
        logger.write_text(f'#!/bin/sh\necho "$@" >>{self.folder}/told\n')
        logger.chmod(0o755)
        self.run_script("prolog.sh", "echo no credentials >&2; exit 4")
        told = (self.folder / "told").read_text()
        self.assertRegex(told, r"daemon.err -- job 17: nothing staged on n2: job 17: nothing staged, exit code 4")
        self.run_script("prolog.sh", f"echo x >{marker}")
        self.assertEqual((self.folder / "told").read_text(), told)

    def test_succeed_when_shardctl_is_not_there(self):
        (self.folder / "cache/imagenet-train").mkdir(parents=True)
        for name in ("prolog.sh", "epilog.sh"):
            with self.subTest(name):
                code, calls, log = self.run_script(name, None)
                self.assertEqual((code, calls), (0, []))
                self.assertIn("exit code 127", log)

    def test_the_prolog_drains_a_node_whose_disk_cannot_be_written(self):
        (self.folder / "cache").write_text("no folder")  # root writes in any folder
        code, calls, log = self.run_script("prolog.sh", "exit 0", scontrol="exit 0")
        self.assertEqual((code, len(calls)), (1, 1), log)
        self.assertEqual(calls[0][:3], ["update", "nodename=n2", "state=drain"])
        self.assertRegex(calls[0][3], r"^reason=prolog: \S+/cache cannot be written: .*File exists")
        self.assertIn("node drained", log)

    def test_the_prolog_drains_a_node_whose_disk_fails_or_does_not_answer(self):
        for sync, reason in (("exit 1", "no answer"), ("echo Input/output error >&2; exit 1", "Input/output error")):
            with self.subTest(reason):
                code, calls, _ = self.run_script("prolog.sh", "exit 0", scontrol="exit 0", sync=sync)
                (drain,) = (call for call in calls if call[:1] == ["update"])
                self.assertEqual((code, drain[3].endswith(reason)), (1, True), drain)
                (self.folder / "calls").unlink()

    def test_the_epilog_does_nothing_on_a_node_that_never_staged(self):
        self.assertEqual(self.run_script("epilog.sh", "exit 0"), (0, [], ""))


if __name__ == "__main__":
    unittest.main()
