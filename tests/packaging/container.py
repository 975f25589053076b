"""A container as restricted as a pod of Kubernetes' level "restricted", with runc.

Non-root, read-only root, no capabilities, no io_uring, no network, 128 MiB of memory, half a CPU, 64 MiB of /dev/shm.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
import needs  # noqa: E402

MEMORY = 128 << 20
USER = 1000


def tmpfs(at, size, *options):
    return {"destination": at, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", f"size={size}m", *options]}


def config(rootfs, data, name, command, network):
    """The config.json of the OCI runtime specification, for a command in `rootfs` with `data` at /data. `network`: this
    host's."""
    return {
        "ociVersion": "1.0.2",
        "hostname": "task",
        "root": {"path": str(rootfs), "readonly": True},
        "process": {
            "terminal": False,
            "user": {"uid": USER, "gid": USER},
            "args": list(map(str, command)),
            "cwd": "/scratch",
            "env": ["PATH=/usr/local/bin", "HOME=/scratch", "TMPDIR=/scratch"],
            "noNewPrivileges": True,
            "capabilities": {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}],
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
            {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["nosuid", "noexec", "nodev", "ro"]},
            tmpfs("/dev", 1, "strictatime", "mode=755"),
            tmpfs("/dev/shm", 64, "noexec", "mode=1777"),
            tmpfs("/tmp", 32, "mode=1777"),
            tmpfs("/scratch", 64, f"uid={USER}", f"gid={USER}", "mode=700"),
            {"destination": "/data", "type": "bind", "source": str(data), "options": ["rbind", "rw", "nosuid", "nodev"]},
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", *([] if network else ["network"]))],
            "cgroupsPath": f"/{name}",
            "resources": {
                "memory": {"limit": MEMORY, "swap": MEMORY},
                "cpu": {"quota": 50_000, "period": 100_000},
                "pids": {"limit": 64},
            },
            "seccomp": {
                "defaultAction": "SCMP_ACT_ALLOW",
                "syscalls": [{"names": ["io_uring_setup", "io_uring_enter", "io_uring_register"], "action": "SCMP_ACT_ERRNO",
                              "errnoRet": 1}],
            },
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/sysrq-trigger"],
            "readonlyPaths": ["/proc/sys", "/proc/bus"],
        },
    }


def need_runc():
    """Skips the test if containers cannot be run here."""
    needs.programs("runc", "umoci")
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("SKIPPED: runc needs root with the right to mount")


class Container:
    """Runs commands in an image that was unpacked to `folder`/rootfs, with `data` at /data. One at a time."""

    def __init__(self, folder, data):
        self.folder = folder
        self.data = data
        self.name = f"shardkit-test-{os.getpid()}"

    def command(self, *command, network=False):
        """The command line that runs it."""
        content = config(self.folder / "rootfs", self.data, self.name, command, network)
        (self.folder / "config.json").write_text(json.dumps(content))
        return ["runc", "run", "--bundle", str(self.folder), self.name]

    def run(self, *command, **options):
        return subprocess.run(self.command(*command, **options), capture_output=True, text=True, timeout=120)

    def stop(self):
        """Sends SIGTERM to the command."""
        subprocess.run(["runc", "kill", self.name, "TERM"], check=True)
