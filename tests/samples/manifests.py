"""The Kubernetes samples as the tests look at them: documents, pods, containers, command lines, quantities."""

import re
import shlex

from commands import SAMPLES
from program import need

need("kubernetes_validate")
import kubernetes_validate  # noqa: E402
import yaml  # noqa: E402

FOLDER = SAMPLES / "kubernetes"
UNITS = {"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def amount(quantity):
    """A Kubernetes quantity as a number; ValueError for what is none."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-zA-Z]*)", str(quantity))
    if not match or match[2] not in UNITS:
        raise ValueError(f"{quantity!r} is no quantity")
    return float(match[1]) * UNITS[match[2]]


def size(text):
    """What shardctl makes of 200GiB."""
    return amount(text.removesuffix("B"))


def values(node, path=()):
    """(path of field names, value) for every leaf."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from values(value, (*path, name))
    elif isinstance(node, list):
        for value in node:
            yield from values(value, path)
    else:
        yield path, node


def files():
    """All manifests; those of kustomize itself have no schema here, and kubectl reads them (kubernetes_kustomize_test.py)."""
    return [path for path in sorted(FOLDER.rglob("*.yaml")) if path.name != "kustomization.yaml"]


def documents():
    """(name for messages, document)."""
    return [(f"{path.relative_to(FOLDER)}: {document['kind']} {document['metadata']['name']}", document)
            for path in files() for document in yaml.safe_load_all(path.read_text())]


def pods():
    """(name for messages, the workload's document, spec of its pods)."""
    return [(name, document, document["spec"]["template"]["spec"]) for name, document in documents()
            if "template" in document.get("spec", {})]


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


def each_container():
    """(name for messages, the workload's document, spec of its pods, container)."""
    return [(f"{name}: {container['name']}", document, pod, container) for name, document, pod in pods()
            for container in containers(pod)]


def shardctl_lines(container):
    """[[shardctl, VERB, ...]] of a container: run by itself, or by a shell."""
    words = container.get("command", []) + container.get("args", [])
    if words[:1] == ["shardctl"]:
        return [words]
    return [shlex.split(line) for line in re.findall(r"shardctl [^;&|'\n]+", " ".join(words))]


def option(words, name):
    return next((word.split("=", 1)[1] for word in words if word.startswith(name + "=")), None)


def each_command():
    """(name for messages, spec of the pods, container, words) of every command line of shardctl."""
    return [(name, pod, container, words) for name, _, pod, container in each_container()
            for words in shardctl_lines(container)]
