"""`kubectl apply -k` on the Kubernetes samples, as far as kubectl goes without a cluster: what would be applied."""

import copy
import shutil
import subprocess
import sys
import unittest

from kubernetes_test import VERSIONS
from manifests import FOLDER, containers, kubernetes_validate, option, shardctl_lines, values
import needs
from program import FolderTest
import yaml


def skip_unless_installed():
    """Kustomize is a part of kubectl; that of Debian 12 does not know components yet."""
    kubectl = needs.optional("kubectl")
    version = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True).stdout if kubectl else ""
    if "Kustomize Version: v5" not in version:
        print("SKIPPED: no kubectl with kustomize 5 (kubectl 1.27 or later)", file=sys.stderr)
        sys.exit(77)


def build(folder):
    """{(kind, name): document} of what `kubectl apply -k` would apply."""
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, timeout=60)
    if done.returncode or done.stderr:
        raise AssertionError(done.stderr)
    documents = list(yaml.safe_load_all(done.stdout))
    return {(document["kind"], document["metadata"]["name"]): document for document in documents}


def pods_of(documents):
    return [document["spec"]["template"]["spec"] for document in documents.values() if "template" in document.get("spec", {})]


class Kustomize(FolderTest):
    def setUp(self):
        super().setUp()
        self.samples = self.folder / "kubernetes"
        shutil.copytree(FOLDER, self.samples)
        self.base, self.site = build(self.samples / "base"), build(self.samples / "overlays/site")

    def test_makes_valid_documents_in_one_namespace(self):
        for documents in (self.base, self.site):
            self.assertCountEqual(documents, [("Namespace", "training"), ("ServiceAccount", "trainer"),
                                              ("DaemonSet", "prewarm"), ("Job", "train-cached")])
            for (kind, name), document in documents.items():
                self.assertEqual(document["metadata"].get("namespace"), None if kind == "Namespace" else "training")
                for version in VERSIONS:
                    with self.subTest(kind, name=name, version=version):
                        kubernetes_validate.validate(document, version, strict=True)

    def test_makes_all_that_its_pods_name(self):
        for documents in (self.base, self.site):
            for pod in pods_of(documents):
                self.assertIn(("ServiceAccount", pod["serviceAccountName"]), documents)
                named = {path[-2:] for path, _ in values(pod)} & {("persistentVolumeClaim", "claimName"),
                                                                  ("secretKeyRef", "name"), ("configMap", "name")}
                self.assertEqual(named, set())

    def test_allows_the_folder_of_the_host(self):
        labels = self.base["Namespace", "training"]["metadata"]["labels"]
        self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "privileged")

    def test_site_changes_labels_and_taints_of_all_pods_and_nothing_else_until_it_is_edited(self):
        self.assertEqual(len(pods_of(self.site)), 2)
        for pod in pods_of(self.site):
            self.assertEqual(pod["nodeSelector"], {"disk": "nvme", "node-pool": "training"})
            self.assertEqual([taint["key"] for taint in pod["tolerations"]], ["nvidia.com/gpu", "dedicated"])
        stripped = [copy.deepcopy(documents) for documents in (self.base, self.site)]
        for documents in stripped:
            for pod in pods_of(documents):
                del pod["nodeSelector"]
                pod.pop("tolerations", None)
        self.assertEqual(*stripped)

    def test_settings_of_the_cache_reach_all_pods(self):
        settings = self.samples / "components/cache/settings.yaml"
        text = settings.read_text()
        for old, new in (("s3://my-bucket/imagenet/train", "s3://other/set"), ("eu-central-1", "us-west-2"),
                         ("/mnt/nvme/shardkit", "/local/sets"), ("800GiB", "3TiB")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        settings.write_text(text)
        edited = pods_of(build(self.samples / "overlays/site"))
        self.assertEqual(len(edited), 2)
        for pod in edited:
            (stage,) = (container for container in containers(pod) if container["name"] == "stage")
            (words,) = shardctl_lines(stage)
            self.assertEqual((words[2], option(words, "--limit")), ("s3://other/set", "3TiB"))
            self.assertIn({"name": "AWS_REGION", "value": "us-west-2"}, stage["env"])
            (cache,) = (volume for volume in pod["volumes"] if volume["name"] == "cache")
            self.assertEqual(cache["hostPath"]["path"], "/local/sets")

    def test_images_of_the_site_reach_all_containers(self):
        kustomization = self.samples / "overlays/site/kustomization.yaml"
        kustomization.write_text(kustomization.read_text()
                                 .replace("newName: shardkit, newTag: VERSION", "newName: registry.local/shardkit, newTag: 1.0.0")
                                 .replace("newName: my-training, newTag: \"1\"", "newName: registry.local/train, newTag: \"7\""))
        images = {container["image"] for pod in pods_of(build(self.samples / "overlays/site")) for container in containers(pod)}
        self.assertEqual(images, {"registry.local/shardkit:1.0.0", "registry.local/train:7"})


if __name__ == "__main__":
    skip_unless_installed()
    unittest.main()
