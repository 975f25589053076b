"""The Kubernetes samples are what a cluster takes, and what a careful one asks for; none is at hand to ask."""

import re
import unittest

from commands import SAMPLES, exit_codes
from manifests import (FOLDER, amount, containers, documents, each_container, files, kubernetes_validate, pods, shardctl_lines,
                       values)
from program import CHECKOUT

VERSIONS = ("1.29", "1.33", "1.37")  # the first with sidecars, and later ones
# What the schemas take any word for. By field name, wherever it stands.
ENUMS = {
    "restartPolicy": {"Always", "OnFailure", "Never"},
    "action": {"FailJob", "FailIndex", "Ignore", "Count"},
    "completionMode": {"Indexed", "NonIndexed"},
    "effect": {"NoSchedule", "PreferNoSchedule", "NoExecute"},
    "fsGroupChangePolicy": {"Always", "OnRootMismatch"},
    "imagePullPolicy": {"Always", "IfNotPresent", "Never"},
    "medium": {"", "Memory", "HugePages"},
    "reclaimPolicy": {"Delete", "Retain"},
    "terminationMessagePolicy": {"File", "FallbackToLogsOnError"},
    "volumeBindingMode": {"Immediate", "WaitForFirstConsumer"},
    "whenUnsatisfiable": {"DoNotSchedule", "ScheduleAnyway"},
}
# Of words that mean different things in different places: (path below a pod, values).
PLACED_ENUMS = [
    (("onExitCodes", "operator"), {"In", "NotIn"}),
    (("tolerations", "operator"), {"Exists", "Equal"}),
    (("seccompProfile", "type"), {"RuntimeDefault", "Localhost", "Unconfined"}),
    (("hostPath", "type"), {"", "Directory", "DirectoryOrCreate"}),
    (("updateStrategy", "type"), {"RollingUpdate", "OnDelete"}),
    (("onPodConditions", "type"), {"DisruptionTarget", "ConfigIssue"}),
    (("onPodConditions", "status"), {"True", "False", "Unknown"}),
]
ACCESS_MODES = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}


class Manifests(unittest.TestCase):
    def test_there_are_some(self):
        self.assertEqual(len(files()), 8)
        self.assertEqual(len(pods()), 8)

    def test_are_valid_to_the_letter_in_every_version(self):
        for name, document in documents():
            for version in VERSIONS:
                with self.subTest(name, version=version):
                    kubernetes_validate.validate(document, version, strict=True)

    def test_use_words_that_kubernetes_knows(self):
        for name, document in documents():
            for path, value in values(document):
                with self.subTest(name, path=".".join(path)):
                    if path[-1] in ENUMS:
                        self.assertIn(value, ENUMS[path[-1]])
                    for place, words in PLACED_ENUMS:
                        if path[-2:] == place:
                            self.assertIn(value, words)
                    if path[-1] == "accessModes":
                        self.assertIn(value, ACCESS_MODES)

    def test_use_quantities_that_kubernetes_reads_and_limits_that_are_no_less_than_requests(self):
        for name, document in documents():
            for path, value in values(document):
                if "resources" in path or path[-1] == "sizeLimit":
                    with self.subTest(name, path=".".join(path)):
                        amount(value)
        for name, _, _, container in each_container():
            for resource, wanted in container["resources"]["requests"].items():
                with self.subTest(name, resource=resource):
                    self.assertGreaterEqual(amount(container["resources"]["limits"][resource]), amount(wanted))

    def test_name_no_registry_and_one_placeholder_for_the_image(self):
        for name, _, _, container in each_container():
            with self.subTest(name):
                self.assertIn(container["image"], ("shardkit:VERSION", "my-training:1"))
        samples = [page for page in SAMPLES.rglob("*.*") if "__pycache__" not in page.parts]
        for page in [*samples, *(CHECKOUT / "docs").rglob("*.md"), CHECKOUT / "README.md"]:
            with self.subTest(page.relative_to(CHECKOUT)):
                self.assertLessEqual(set(re.findall(r"\bshardkit:(?!/)[\w.-]+", page.read_text())), {"shardkit:VERSION"})

    def test_run_programs_that_the_image_contains(self):
        for name, _, _, container in each_container():
            if container["image"] == "shardkit:VERSION":
                with self.subTest(name):
                    self.assertIn(container["command"][0], ("shardctl", "iobench"))


    def test_name_in_their_first_comment_what_must_exist_or_make_it(self):
        made = {(name.partition(":")[0], document["kind"], document["metadata"]["name"]) for name, document in documents()}
        kinds = {("serviceAccountName",): "ServiceAccount", ("secretKeyRef", "name"): "Secret",
                 ("persistentVolumeClaim", "claimName"): "PersistentVolumeClaim", ("configMap", "name"): "ConfigMap"}
        for name, document in documents():
            comment = re.match(r"(#.*\n)+", (FOLDER / name.partition(":")[0]).read_text())[0]
            for path, value in values(document):
                for place, kind in kinds.items():
                    if path[-len(place):] == place and (name.partition(":")[0], kind, value) not in made:
                        with self.subTest(name, kind=kind):
                            self.assertRegex(comment, rf"\b{value}\b")


class Pods(unittest.TestCase):
    def test_run_as_a_named_user_without_privileges_on_a_root_file_system_that_is_only_read(self):
        for name, _, pod, container in each_container():
            with self.subTest(name):
                security = {**pod["securityContext"], **container["securityContext"]}
                self.assertIs(security["runAsNonRoot"], True)
                self.assertGreater(security["runAsUser"], 0)
                self.assertEqual(security["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertIs(security["allowPrivilegeEscalation"], False)
                self.assertIs(security["readOnlyRootFilesystem"], True)
                self.assertEqual(security["capabilities"], {"drop": ["ALL"]})
                self.assertIs(pod["automountServiceAccountToken"], False)

    def test_ask_for_what_they_use(self):
        for name, _, pod, container in each_container():
            mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
            on_disk = any("emptyDir" in volume and volume["emptyDir"].get("medium") != "Memory"
                          for volume in pod["volumes"] if volume["name"] in mounted)
            for kind in ("requests", "limits"):
                with self.subTest(name, kind=kind):
                    wanted = {"cpu", "memory"} | ({"ephemeral-storage"} if on_disk else set())
                    self.assertLessEqual(wanted, set(container["resources"][kind]))

    def test_mount_volumes_that_are_there_and_use_all_that_are_there(self):
        for name, _, pod in pods():
            with self.subTest(name):
                there = [volume["name"] for volume in pod["volumes"]]
                mounted = {mount["name"] for container in containers(pod) for mount in container.get("volumeMounts", [])}
                self.assertEqual(sorted(there), sorted(mounted))

    def test_that_only_read_the_data_cannot_write_it(self):
        for name, _, _, container in each_container():
            for mount in container.get("volumeMounts", []):
                if container["name"] in ("train", "warm") and mount["name"] in ("data", "cache"):
                    with self.subTest(name):
                        self.assertIs(mount["readOnly"], True)

    def test_bound_every_empty_dir(self):
        for name, _, pod in pods():
            for volume in pod["volumes"]:
                if "emptyDir" in volume:
                    with self.subTest(name, volume=volume["name"]):
                        self.assertGreater(amount(volume["emptyDir"]["sizeLimit"]), 0)

    def test_train_only_where_the_marker_of_the_stage_is(self):
        trained = 0
        for name, _, pod in pods():
            staged = [words[3] for container in containers(pod) for words in shardctl_lines(container) if words[1] == "stage"]
            for container in pod["containers"]:
                if container["name"] == "train":
                    with self.subTest(name):
                        self.assertIn(f"test -s {staged[0]}/.shardkit/staged.json &&", container["args"][0])
                    trained += 1
        self.assertEqual(trained, 3)


class Jobs(unittest.TestCase):
    def jobs(self):
        return [(name, document["spec"], pod) for name, document, pod in pods() if document["kind"] == "Job"]

    def test_are_not_retried_where_no_retry_helps(self):
        codes = exit_codes()
        for_good = {code for code, meaning in codes.items() if "wrong" in meaning or "permanently" in meaning}
        self.assertEqual(for_good, {2, 4})
        may_pass = {code for code, meaning in codes.items() if "retry" in meaning or "stopped" in meaning}
        self.assertLessEqual({1, 143}, may_pass)
        for name, job, pod in self.jobs():
            with self.subTest(name):
                self.assertEqual(pod["restartPolicy"], "Never")  # or podFailurePolicy is refused
                rules = [rule["onExitCodes"] for rule in job["podFailurePolicy"]["rules"] if rule["action"] == "FailJob"]
                self.assertEqual([rule["operator"] for rule in rules], ["In"])
                self.assertLessEqual(for_good, set(rules[0]["values"]))
                self.assertLessEqual(set(rules[0]["values"]), set(codes) - may_pass - {0})
                (container,) = (one for one in containers(pod) if one["name"] == rules[0]["containerName"])
                self.assertEqual(container["command"][0], "shardctl")

    def test_do_not_count_evictions_as_failures(self):
        for name, job, _ in self.jobs():
            with self.subTest(name):
                first = job["podFailurePolicy"]["rules"][0]
                self.assertEqual((first["action"], first["onPodConditions"][0]["type"]), ("Ignore", "DisruptionTarget"))

    def test_have_names_of_their_own(self):
        names = [document["metadata"]["name"] for _, document, _ in pods()]
        self.assertCountEqual(set(names), names)


if __name__ == "__main__":
    unittest.main()
