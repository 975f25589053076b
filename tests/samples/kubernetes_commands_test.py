"""The command lines in the Kubernetes samples: options that are there, numbers that fit together, and two that are run."""

import os
import pathlib
import subprocess
import unittest

from commands import fake_programs, problems_of
from manifests import FOLDER, amount, each_command, each_container, option, pods, size
from program import PROGRAMS, FolderTest, result_of, run, tree


class Commands(unittest.TestCase):
    def test_are_found(self):
        verbs = [words[1] for *_, words in each_command()]
        self.assertEqual(sorted(verbs), ["cache"] * 3 + ["convert", "merge", "plan"] + ["stage"] * 4)

    def test_have_only_options_that_their_verb_has(self):
        for name, _, _, words in each_command():
            with self.subTest(name):
                self.assertEqual(problems_of(words), [])

    def test_name_paths_below_what_is_mounted_for_writing(self):
        for name, _, container, words in each_command():
            if words[1] in ("stage", "convert"):
                writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
                self.assertTrue(any(words[3].startswith(path + "/") for path in writable), name)

    def test_stay_below_the_size_of_the_empty_dir_that_they_fill(self):
        checked = 0
        for name, pod, container, words in each_command():
            for volume in pod["volumes"]:
                if words[1] == "stage" and volume["name"] == "data" and "emptyDir" in volume:
                    with self.subTest(name):
                        limit = size(option(words, "--limit"))
                        self.assertLess(limit, amount(volume["emptyDir"]["sizeLimit"]))
                        self.assertLess(amount(volume["emptyDir"]["sizeLimit"]),
                                        amount(container["resources"]["requests"]["ephemeral-storage"]))
                    checked += 1
        self.assertEqual(checked, 1)

    def test_have_a_part_for_each_index_of_the_job(self):
        (plan,) = (words for *_, words in each_command() if words[1] == "plan")
        (convert,) = (words for *_, words in each_command() if words[1] == "convert")
        (job,) = (document["spec"] for _, document, _ in pods() if document["metadata"]["name"] == "convert")
        self.assertEqual(job["completionMode"], "Indexed")
        self.assertEqual(int(option(plan, "--parts")), job["completions"])
        self.assertEqual(option(plan, "--output"), option(convert, "--plan"))

    def test_share_a_node_cache_by_one_folder_user_and_limit_with_an_owner_for_each_lease(self):
        users, folders, limits = set(), set(), set()
        for name, pod, container, words in each_command():
            host = [volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume]
            if host and words[1] == "stage":
                with self.subTest(name):
                    users.add(pod["securityContext"]["runAsUser"])
                    folders.add((*host, option(words, "--cache"), words[3]))
                    limits.add(option(words, "--limit"))
                    self.assertTrue(pathlib.PurePath(words[3]).is_relative_to(option(words, "--cache")))
                    self.assertIsNotNone(option(words, "--lease"))
                    pod_names = [variable["name"] for variable in container["env"] if variable["name"] == "POD_UID"]
                    self.assertTrue(pod_names or option(words, "--lease-id"))
        self.assertEqual((len(users), len(folders), len(limits)), (1, 1, 1))

    def test_lease_for_longer_than_the_job_may_run(self):
        (job,) = (document["spec"] for _, document, _ in pods() if document["metadata"]["name"] == "train-cached")
        (lease,) = (option(words, "--lease") for name, *_, words in each_command() if "train-cached: stage" in name)
        self.assertGreater(int(lease.removesuffix("h")) * 3600, job["activeDeadlineSeconds"])


class Hold(FolderTest):
    """The containers that protect a set from eviction while their pod runs."""

    def hold(self, words):
        """Starts the command, ends it as Kubernetes does, and returns the lease that it had meanwhile."""
        moved = [word.replace("/cache/", f"{self.folder}/cache/") for word in words]
        environment = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "POD_UID": "0c5e-pod"}
        running = subprocess.Popen(moved, env=environment, stdout=subprocess.PIPE)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.kill)
        running.stdout.readline()
        (lease,) = (self.folder / "cache/imagenet-train/.shardkit/leases").glob("*.json")
        content = lease.read_text()
        running.terminate()
        self.assertEqual(running.wait(timeout=60), 0)
        self.assertFalse(lease.exists())
        return content

    def test_leases_the_set_until_the_pod_ends(self):
        holding = [(name, pod, container, words) for name, pod, container, words in each_command() if words[2] == "hold"]
        self.assertEqual(len(holding), 2)
        for name, pod, container, words in holding:
            with self.subTest(name):
                self.assertIn(f'"owner": "{option(words, "--lease-id") or "0c5e-pod"}"', self.hold(words))
                self.assertTrue(container in pod["containers"] or container["restartPolicy"] == "Always")


class Conversion(FolderTest):
    """The commands of convert-indexed-job.yaml, run as its Jobs would."""

    def run_job(self, verb, **environment):
        (words,) = (words for *_, words in each_command() if words[1] == verb)
        moved = [word.replace("/source/", f"{self.folder}/source/").replace("/shards/", f"{self.folder}/shards/")
                 for word in words[1:]]
        finished = run("shardctl", *moved, env={"PATH": os.environ["PATH"], **environment})
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def test_make_the_same_set_as_one_convert(self):
        self.make_tree("source/train", classes=3, per_class=3500, size=50)  # three shards
        (self.folder / "shards").mkdir()
        (completions,) = (document["spec"]["completions"] for _, document, _ in pods()
                          if document["metadata"]["name"] == "convert")
        self.run_job("plan")
        for index in range(completions):
            self.run_job("convert", JOB_COMPLETION_INDEX=str(index))
        self.run_job("merge")
        whole = run("shardctl", "convert", self.folder / "source/train", self.folder / "whole", "--json", "-")
        self.assertEqual(result_of(whole)["result"]["shards"], 3)
        made, expected = tree(self.folder / "shards/train"), tree(self.folder / "whole")
        del made[".shardkit/plan.division"], made[".shardkit/plan"], expected[".shardkit/plan"]  # one of them says how many parts there were
        self.assertEqual(made, expected)


class ConvertScript(FolderTest):
    """convert.sh, on a kubectl that only records its calls. In it, the Job of the step named by `failing` fails."""

    # Of: wait job -l step=STEP --for=condition=CONDITION --timeout=TIME
    KUBECTL = """
state=complete
[[ $4 == step={failing} ]] && state=failed
[[ $1 == wait && $5 != --for=condition=$state ]] || exit 0
[[ $6 == --timeout=-1s ]] && exec sleep 300
exit 1"""

    def run_script(self, failing):
        calls = fake_programs(self.folder, kubectl=self.KUBECTL.replace("{failing}", failing))
        finished = subprocess.run([FOLDER / "convert.sh"], capture_output=True, text=True, timeout=120,
                                  env={"PATH": f"{self.folder}:{os.environ['PATH']}"})
        applied = [call["arguments"][-1] for call in calls() if call["arguments"][0] == "apply"]
        return finished, applied

    def test_runs_each_job_after_the_one_before_it(self):
        finished, applied = self.run_script(failing="none")
        self.assertEqual((finished.returncode, applied), (0, ["step=plan", "step=convert", "step=merge"]), finished.stderr)

    def test_ends_when_a_job_fails(self):
        finished, applied = self.run_script(failing="convert")
        self.assertEqual((finished.returncode, applied), (1, ["step=plan", "step=convert"]), finished.stderr)
        self.assertIn("kubectl delete job -l step=convert", finished.stderr)

    def test_applies_the_jobs_by_their_labels(self):
        steps = [document["metadata"]["labels"]["step"] for _, document, _ in pods() if "convert" in document["metadata"]["name"]]
        self.assertEqual(steps, ["plan", "convert", "merge"])


if __name__ == "__main__":
    unittest.main()
