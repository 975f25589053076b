"""iobench env as a platform engineer and a script see it, on whatever machine this runs."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, can_mount, result_of, run  # noqa: E402


class Env(FolderTest):
    def env(self, *args, code=0):
        finished = run("iobench", "env", *args, "--json", "-")
        self.assertEqual(finished.returncode, code, finished.stderr)
        return result_of(finished)["result"]

    def test_tells_of_the_machine_and_of_what_the_data_lies_on(self):
        result = self.env(self.folder)
        self.assertEqual(result["path"], str(self.folder.resolve()))
        self.assertGreaterEqual(result["usable_threads"], 1)
        self.assertGreater(result["memory"]["total_bytes"], 0)
        self.assertTrue(result["storage"]["file_system"])
        self.assertGreater(result["file_system_size_bytes"], 0)
        self.assertIn(result["kernel"]["io_uring"].split()[0], ("works", "not", "refused", "disabled"))
        self.assertEqual(result["cpu"]["affinity"], len(os.sched_getaffinity(0)))

    def test_looks_at_the_machine_alone_without_a_path(self):
        result = self.env()
        self.assertEqual(result["path"], "")
        self.assertEqual(result["storage"]["storage_class"], "unknown")

    def test_findings_come_first_and_are_advice_unless_strict(self):
        tmpfs = self.env("/dev/shm")
        self.assertIn("data_in_memory", [finding["code"] for finding in tmpfs["findings"]])
        for finding in tmpfs["findings"]:
            self.assertTrue(all(finding[name] for name in ("measured", "normal", "remedy", "text")), finding)
        self.env("/dev/shm", "--strict", code=3)
        report = run("iobench", "env", "/dev/shm").stdout
        self.assertRegex(report, r"\A([0-9]+ errors?, )?[0-9]+ warning")
        self.assertLess(report.index("warning: the data is on tmpfs"), report.index("\ncpu "))

    def test_a_loader_that_does_not_fit_is_an_error(self):
        options = ("--gpus", "8", "--workers", "100", "--batch", "100000")
        result = self.env(*options)
        self.assertEqual(result["errors"], 1)
        self.assertEqual(result["findings"][0]["code"], "dev_shm_too_small")
        self.env(*options, "--strict", code=3)

    def test_bad_operands_are_distinguished(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for operand, code, text in ((self.folder / "absent", 4, "No such file"), (fifo, 2, "FIFO"),
                                    ("/dev/null", 2, "character device"), ("s3://bucket/x", 2, "iobench read")):
            finished = run("iobench", "env", operand)
            self.assertEqual(finished.returncode, code, finished.stderr)
            self.assertIn(text, finished.stderr)
            self.assertEqual(finished.stdout, "")

    def test_without_a_driver_of_gpus_a_line_says_why_and_all_else_is_reported(self):
        result = self.env()
        if result["gpu_monitor"]["missing"] is None:
            self.skipTest("SKIPPED: a driver of GPUs is here")
        self.assertRegex(result["gpu_monitor"]["missing"], r"\A[^\n]+\Z")
        self.assertEqual(result["gpu_monitor"]["gpus"], [])

    def test_gpus_are_described_by_their_driver(self):
        fake = os.environ.get("SHARDKIT_FAKE_NVML")
        if not fake:
            self.skipTest("SKIPPED: this build has no NVML")
        finished = run("iobench", "env", "--json", "-", env={**os.environ, "LD_LIBRARY_PATH": fake})
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = result_of(finished)["result"]
        first, second = result["gpu_monitor"]["gpus"]
        self.assertEqual(first["sm_clock_hertz"], 1_200_000_000)
        self.assertEqual(first["clock_limits"], ["sw_power_cap", "sw_thermal_slowdown"])
        self.assertIsNone(second["sm_clock_hertz"])
        self.assertEqual(result["gpu_devices"][0]["pcie"]["lanes"], 8)
        self.assertEqual([finding["code"] for finding in result["findings"] if finding["severity"] == "warning" and
                          finding["code"].startswith("gpu")], ["gpu_pcie_width", "gpu_slowdown"])

    def test_proc_holds_no_data(self):
        self.assertIn("pseudo_file_system", [finding["code"] for finding in self.env("/proc")["findings"]])

    def test_an_ordinary_user_gets_an_answer_too(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("not the superuser: the other tests are this one")
        finished = run("iobench", "env", "/", "--json", "-", user=65534, group=65534, extra_groups=[])
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertFalse(result_of(finished)["result"]["kernel"]["root"])

    def test_a_machine_that_hides_itself_is_described_as_far_as_it_can_be_seen(self):
        if not can_mount():
            raise unittest.SkipTest("may not mount")
        if "libasan" in subprocess.run(["ldd", PROGRAMS / "iobench"], capture_output=True, text=True, check=False).stdout:
            raise unittest.SkipTest("SKIPPED: AddressSanitizer reports faults that are none where it finds no /proc")
        finished = subprocess.run(
            ["unshare", "-m", "sh", "-c",
             f"mount -t tmpfs none /sys && mount -t tmpfs none /proc && exec {PROGRAMS}/iobench env / --json -"],
            capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = result_of(finished)["result"]
        self.assertEqual(result["hidden"], ["/proc", "/sys"])
        codes = [finding["code"] for finding in result["findings"]]
        self.assertEqual([code for code in codes if code in ("machine_hidden", "storage_unknown")],
                         ["machine_hidden", "storage_unknown"])
        self.assertEqual(result["storage"]["storage_class"], "unknown")


# Mounts at random places, with names that /proc/self/mountinfo escapes, some of them above or beside others that they hide.
# Then what the kernel and findmnt, by its id, say of the mount of each folder, and what iobench says.
RANDOM_MOUNTS = r"""
import ctypes, json, os, pathlib, random, subprocess, sys
iobench, root, seed = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
names = ["a", "b c", "tab\tx", "back\\\\slash", "\\\\040", "new\nline", "#x", "\u00fc", "a,b", "x=y"]
libc = ctypes.CDLL(None, use_errno=True)
folders = [root]
def mount(source, target, kind, flags=0):
    if libc.mount(source.encode(), os.fsencode(target), kind.encode(), flags, None) != 0:
        raise OSError(ctypes.get_errno(), os.fsdecode(os.fsencode(target)))
for _ in range(12):
    folder = chance.choice([f for f in folders if f.exists()]) / chance.choice(names)
    folder.mkdir(exist_ok=True)
    folders.append(folder)
    for _ in range(chance.choice([0, 1, 1, 2])):
        if chance.random() < 0.3:
            mount(str(chance.choice([f for f in folders if f.exists()])), folder, "", 4096)
        else:
            mount(chance.choice(["tmpfs", "a b", "none", "x\\\\y"]), folder, "tmpfs")
table = {row["id"]: row for row in json.loads(subprocess.check_output(
    ["findmnt", "--json", "--list", "--kernel", "-o", "ID,TARGET,FSTYPE,SOURCE"]))["filesystems"]}
seen = 0
for folder in {f for f in folders if f.exists()}:
    opened = os.open(folder, os.O_PATH)
    lines = dict(line.split(":\t") for line in open(f"/proc/self/fdinfo/{opened}").read().splitlines())
    os.close(opened)
    row = table[int(lines["mnt_id"])]
    ours = json.loads(subprocess.check_output([iobench, "env", folder, "--json", "-"]))["result"]["storage"]
    assert ours["mount_point"] == row["target"], (ours, row)
    assert ours["file_system"] == row["fstype"], (ours, row)
    assert row["source"].split("[")[0] == ours["source"], (ours, row)
    seen += 1
print(seen)
"""


@unittest.skipUnless(can_mount(), "may not mount")
class Mounts(FolderTest):
    def test_mounts_are_those_of_the_kernel_and_of_findmnt(self):
        seen = 0
        for seed in range(12):
            root = self.folder / str(seed)
            root.mkdir()
            with self.subTest(seed=seed):
                words = ["unshare", "-m", "--propagation", "private", sys.executable, "-c", RANDOM_MOUNTS, PROGRAMS / "iobench",
                         root, str(seed)]
                finished = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
                self.assertEqual(finished.returncode, 0, finished.stderr)
                seen += int(finished.stdout)
        self.assertGreater(seen, 50)


if __name__ == "__main__":
    unittest.main()
