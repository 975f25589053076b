"""The Slurm samples on a real Slurm of four nodes: arrays, tasks that run again alone, kills, preemption, Prolog and Epilog."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from commands import SAMPLES
from program import PROGRAMS, FolderTest, result_of, run, wait_until
from slurm import Slurm, skip_unless_root

PARTITIONS = ("PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=3\n"
              "PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF\n")
SETTINGS = """PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=3
PrologFlags=Alloc
Prolog={hooks}/prolog
Epilog={hooks}/epilog
"""
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "PREEMPTED", "NODE_FAIL")
# Ends as our program does when it is told to; the next attempt is the real one.
STOPPED_AT_FIRST = """
if [[ ${{SLURM_RESTART_COUNT:-0}} == 0 ]]; then
  touch "{folder}/begun-$SLURM_ARRAY_TASK_ID"
  trap 'exit 143' TERM
  sleep 1000 &
  wait
fi
"""


class ConvertSample(FolderTest):
    """convert.sbatch as an array of four tasks, one on each node."""

    @classmethod
    def setUpClass(cls):
        cls.hooks = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-hooks-"))
        cls.hooks.chmod(0o755)
        cls.set_hook("prolog", "#!/bin/sh\n")
        cls.set_hook("epilog", "#!/bin/sh\n")
        cls.slurm = Slurm()
        conf = cls.slurm.start(PARTITIONS, SETTINGS.replace("{hooks}", str(cls.hooks)))
        cls.environment = {**os.environ, "SLURM_CONF": str(conf)}

    @classmethod
    def tearDownClass(cls):
        cls.slurm.stop()
        shutil.rmtree(cls.hooks, ignore_errors=True)

    @classmethod
    def set_hook(cls, name, text):
        (cls.hooks / name).write_text(text)
        (cls.hooks / name).chmod(0o755)

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.source = self.make_tree("shared/imagenet/train")
        self.target = self.folder / "shared/shards/train"
        self.target.parent.mkdir(parents=True)
        (self.folder / "bin").mkdir()
        self.shardctl_begins("")

    def shardctl_begins(self, bash):
        """What `shardctl` does in jobs before it is our program."""
        path = self.folder / "bin/shardctl"
        path.write_text(f"#!/bin/bash\n{bash}\nexec {PROGRAMS}/shardctl \"$@\"\n")
        path.chmod(0o755)

    def slurm_command(self, *words):
        environment = {**self.environment, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        finished = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, env=environment,
                                  cwd=self.folder)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout.strip()

    def plan(self, *options):
        finished = run("shardctl", "plan", self.source, "-o", f"{self.target}.plan", "--shards", 16, *options)
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def submit(self, array="0-3"):
        """Number of the job: convert.sbatch in this test's folder, with what a node here has."""
        script = (SAMPLES / "slurm/convert.sbatch").read_text().replace("/shared/", f"{self.folder}/shared/")
        script = script.replace("--array=0-15", f"--array={array}").replace("--cpus-per-task=4", "--cpus-per-task=2")
        (self.folder / "convert.sbatch").write_text(script.replace("--mem=2G", "--mem=100"))
        return self.slurm_command("sbatch", "--parsable", "convert.sbatch")

    def tasks(self, job):
        """{id: (state, restarts)} of an array job."""
        found = {}
        for line in self.slurm_command("scontrol", "show", "job", "-o", job).splitlines():
            facts = dict(word.split("=", 1) for word in line.split() if "=" in word)
            found[facts["ArrayTaskId"]] = (facts["JobState"], int(facts["Restarts"]))
        return found

    def wait_for_end(self, job, count=4):
        def ended():
            tasks = self.tasks(job)
            return len(tasks) == count and all(state in ENDED for state, _ in tasks.values()) and tasks
        return wait_until(ended, seconds=180)

    def assert_merged(self):
        finished = run("shardctl", "merge", self.target)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        verified = run("shardctl", "verify", self.target, "--against", self.source)
        self.assertEqual(verified.returncode, 0, verified.stderr)

    def missing(self):
        return run("shardctl", "parts", self.target, "--missing").stdout

    def test_a_failed_task_runs_again_alone(self):
        for planned in ((), ("--parts", 4)):
            with self.subTest(planned=planned):
                shutil.rmtree(self.target, ignore_errors=True)
                self.plan(*planned)
                self.shardctl_begins("[[ $SLURM_ARRAY_TASK_ID != 3 ]] || exit 1")
                tasks = self.wait_for_end(self.submit())
                self.assertEqual([tasks[str(i)][0] for i in range(4)], ["COMPLETED"] * 3 + ["FAILED"])
                self.assertEqual(self.missing(), "3\n")
                self.shardctl_begins("")
                again = self.wait_for_end(self.submit(self.missing().strip()), 1)
                self.assertEqual(again, {"3": ("COMPLETED", 0)})
                self.assertEqual(self.missing(), "")
                self.assert_merged()

    def test_a_single_task_of_a_new_target_is_refused(self):
        self.plan()
        self.assertEqual(self.wait_for_end(self.submit("3"), 1), {"3": ("FAILED", 0)})

    def test_preempted_tasks_are_requeued_and_end_well(self):
        self.plan()
        self.shardctl_begins(STOPPED_AT_FIRST.format(folder=self.folder))
        job = self.submit()
        wait_until(lambda: len(list(self.folder.glob("begun-*"))) == 4)
        self.slurm_command("sbatch", "-p", "high", "-N", 4, "--exclusive", "--mem=100", "--wrap", "true")
        tasks = self.wait_for_end(job)
        self.assertEqual([state for state, _ in tasks.values()], ["COMPLETED"] * 4)
        self.assertGreaterEqual(min(restarts for _, restarts in tasks.values()), 1)  # Slurm 24.11 may begin one too early
        self.assert_merged()

    def test_a_requeued_task_ends_well(self):
        self.plan()
        self.shardctl_begins("[[ $SLURM_ARRAY_TASK_ID == 2 ]] || exec " + f"{PROGRAMS}/shardctl" + ' "$@"\n' +
                             STOPPED_AT_FIRST.format(folder=self.folder))
        job = self.submit()
        wait_until(lambda: (self.folder / "begun-2").exists())
        self.slurm_command("scontrol", "requeue", f"{job}_2")
        tasks = self.wait_for_end(job)
        self.assertEqual((tasks["2"], tasks["0"]), (("COMPLETED", 1), ("COMPLETED", 0)))
        self.assert_merged()

    def test_after_a_kill_the_task_is_missing_and_runs_again_alone(self):
        self.plan()
        # Killed when it has published something, or at the latest when it has ended.
        self.shardctl_begins(f"""
if [[ $SLURM_ARRAY_TASK_ID == 1 && ! -e {self.folder}/killed ]]; then
  touch {self.folder}/killed
  {PROGRAMS}/shardctl "$@" &
  until ls {self.target}/*.tar >/dev/null 2>&1; do :; done
  kill -9 $!
  wait $! || exit $?
  rm -f {self.target}/.shardkit/part-00001-*
  exit 137
fi""")
        self.assertEqual(self.wait_for_end(self.submit())["1"][0], "FAILED")
        state = {row["part"]: row["state"] for row in
                 result_of(run("shardctl", "parts", self.target, "--json", "-"))["result"]["rows"]}
        self.assertEqual(state, {0: "done", 1: "missing", 2: "done", 3: "done"})
        self.assertEqual(self.wait_for_end(self.submit(self.missing().strip()), 1), {"1": ("COMPLETED", 0)})
        self.assert_merged()

    def test_the_prolog_stages_before_a_job_and_the_epilog_ends_its_lease(self):
        self.plan()
        self.wait_for_end(self.submit())
        self.assert_merged()
        cache = self.folder / "cache"
        for name in ("prolog", "epilog"):
            text = (SAMPLES / f"slurm/{name}.sh").read_text()
            for old, new in (("s3://my-bucket/imagenet/train", self.target), ("/local/shardkit", cache),
                             ("/usr/local/bin:", f"{PROGRAMS}:"), ("/var/log", self.folder), ("--limit 800GiB", "--limit 1GiB"),
                             ("--jitter 10s", "--jitter 0s")):
                text = text.replace(old, str(new))
            self.set_hook(name, text)
        self.addCleanup(self.set_hook, "prolog", "#!/bin/sh\n")
        self.addCleanup(self.set_hook, "epilog", "#!/bin/sh\n")
        marker, seen = cache / "imagenet-train/.shardkit/staged.json", self.folder / "seen"
        leases = cache / "imagenet-train/.shardkit/leases"
        self.slurm_command("sbatch", "--wait", "--mem=100", "--wrap", f"test -s {marker} && cat {leases}/* > {seen}")
        self.assertIn("slurm-", seen.read_text())
        wait_until(lambda: not list(leases.glob("*.json")))
        self.assertNotIn("exit code", (self.folder / "shardkit-prolog.log").read_text())


class Drains(FolderTest):
    """prolog.sh and health-check.sh drain a node by themselves, with a reason."""

    SETTINGS = """PrologFlags=Alloc
Prolog={hooks}/prolog
HealthCheckProgram={hooks}/health-check
HealthCheckInterval=5
HealthCheckNodeState=IDLE
"""

    def start(self, broken):
        """A Slurm on which a file is in the way of the cache of the prolog, and the node `broken` misses the limit."""
        (self.folder / "cache").write_text("")
        self.slurm = Slurm()
        settings = self.SETTINGS.format(hooks=self.folder)
        self.write("iobench", f"""#!/bin/bash
[[ $1 == run ]] && exit 0
[[ $2 == */{broken}.json ]] || exit 0
echo "regressed: decode 812/s, at least 1000/s"
exit 3
""")
        self.write("health-check", "#!/bin/bash\n")
        self.write("prolog", "#!/bin/bash\n")
        self.addCleanup(self.slurm.stop)
        conf = self.slurm.start(settings=settings)
        self.environment = {**os.environ, "SLURM_CONF": str(conf)}
        self.folder.chmod(0o755)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def sample(self, path):
        """Text of a sample that finds programs, files and Slurm where this test has them."""
        text = (SAMPLES / path).read_text()
        for old, new in (("/usr/local/bin:", f"{self.folder}:/usr/local/bin:"), ("/local/shardkit", f"{self.folder}/cache"),
                         ("/var/log", self.folder), ("/var/lib/shardkit", self.folder), ("/etc/slurm", self.folder)):
            text = text.replace(old, str(new))
        return text.replace("\n", f"\nexport SLURM_CONF={self.environment['SLURM_CONF']}\n", 1)

    def drained(self):
        """{node: reason} of the nodes that are drained."""
        listed = subprocess.run(["sinfo", "-h", "-N", "-t", "drain", "-o", "%N|%E"], env=self.environment,
                                capture_output=True, text=True)
        return dict(line.split("|") for line in listed.stdout.splitlines())

    def test_with_a_reason_and_only_the_nodes_at_fault(self):
        self.start(broken="n2")
        self.write("node-check.sh", self.sample("fleet/node-check.sh"))
        self.write("health-check", self.sample("slurm/health-check.sh"))
        wait_until(self.drained)
        self.assertEqual(self.drained(), {"n2": "node-check: regressed: decode 812/s, at least 1000/s"})
        self.write("prolog", self.sample("slurm/prolog.sh"))
        subprocess.run(["sbatch", "-w", "n3", "--mem=100", "--wrap", "true"], env=self.environment, cwd=self.folder,
                       stdout=subprocess.DEVNULL, check=True)
        wait_until(lambda: "n3" in self.drained())
        self.assertEqual(list(self.drained()), ["n2", "n3"])
        self.assertRegex(self.drained()["n3"], "^prolog: .*/cache cannot be written: mkdir: .*File exists")


if __name__ == "__main__":
    skip_unless_root("the samples run in arrays, with kills and preemption, and drain nodes")
    unittest.main()
