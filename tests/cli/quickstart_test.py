"""scripts/quickstart: what it says before it acts, from source and from a wheel."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from program import CHECKOUT, PROGRAMS, run


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def wheel_of_programs(folder):
    """A wheel whose programs start those of this build."""
    file = folder / "shardkit-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        for name in ("shardctl", "iobench"):
            script = zipfile.ZipInfo(f"shardkit-1.0.0.data/scripts/{name}")
            script.external_attr = 0o100755 << 16  # a file to execute, as pip reads it
            wheel.writestr(script, f'#!/bin/sh\nexec "{PROGRAMS / name}" "$@"\n')
        wheel.writestr("shardkit-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: shardkit\nVersion: 1.0.0\n")
        wheel.writestr("shardkit-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
        wheel.writestr("shardkit-1.0.0.dist-info/RECORD", "")
    return file


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardkit-quickstart-")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def quickstart(self, *args, checkout=CHECKOUT, path=None):
        environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"])
        return subprocess.run([checkout / "scripts/quickstart", *map(str, args)], cwd=self.work, env=environment, timeout=280,
                              capture_output=True, text=True)

    def assert_in_order(self, text, *parts):
        at = 0
        for part in parts:
            self.assertIn(part, text[at:], text)
            at = text.index(part, at) + len(part)

    def test_a_wheel_is_installed_and_does_the_main_job(self):
        self.assertEqual(run("shardctl", "synth", self.work / "photos", "--classes", 2, "--per-class", 10).returncode, 0)
        done = self.quickstart("--wheel", wheel_of_programs(self.work), "--data", "photos", "--dir", "try")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_in_order(done.stdout, "== Plan", "- install shardkit-1.0.0-py3-none-any.whl in", "== Install",
                             "20 samples -> 1 shard", "sound: 1 shard", "is the bottleneck", "== Next", "iobench run", "rm -r")
        self.assertNotIn("sudo", done.stdout)
        self.assertEqual(len(list((self.work / "try").glob("photos-*/run.json"))), 1)
        self.assertEqual(len(list((self.work / "try").glob("photos-*/staged/*.tar"))), 1)

    def from_source(self, is_installed, *options):
        """In a checkout where only the scripts are real: the commands that they run print their names."""
        checkout, commands = self.work / "checkout", self.work / "commands"
        (checkout / "scripts").mkdir(parents=True, exist_ok=True)
        for name in ("quickstart", "common.sh", "install-deps"):
            if not (checkout / "scripts" / name).exists():
                (checkout / "scripts" / name).symlink_to(CHECKOUT / "scripts" / name)
        executable(commands / "apt-get", 'echo "ran apt-get $*"\n')
        use_cpu = 'import time\nwhile time.process_time() < 3: pass'
        executable(commands / "cmake", f'echo "ran cmake $*" | tee -a "{self.work}/cmake.log"\n'
                   f"case $* in *shardkit_core) exec python3 -c '{use_cpu}' ;; esac\n")
        executable(commands / "sudo", 'echo "ran sudo"\n"$@"\n')
        executable(commands / "dpkg-query", is_installed)
        for name in ("shardctl", "iobench"):
            executable(checkout / "build/release/apps" / name, f'echo "ran {name} $*"\n')
        (checkout / "build/release").mkdir(exist_ok=True)
        return self.quickstart(*options, checkout=checkout, path=commands)

    def test_what_is_missing_is_named_before_it_is_installed(self):
        done = self.from_source('[ "$3" = g++ ] || printf installed\n')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        how = "as root" if os.geteuid() == 0 else "with sudo"
        self.assert_in_order(done.stdout, "== Plan", f"packages to install, {how}: g++\n", "- build both programs in", "- shard, check",
                             "ran apt-get update", "ran apt-get install", "shardkit_core took", "the rest takes about", "ran shardctl synth",
                             "ran iobench run", "== Next", "sudo cmake --install")

    @unittest.skipIf(pathlib.Path("/dev/nvidiactl").exists(), "SKIPPED: a GPU is here")
    def test_kernels_for_gpus_are_left_out_unless_wanted(self):
        for option, kernels in ((), "OFF"), (("--with-cuda",), "ON"):
            with self.subTest(option):
                self.from_source("printf installed\n", *option)
                commands = (self.work / "cmake.log").read_text().splitlines()[-3:]
                self.assertIn(f"-DSHARDKIT_CUDA={kernels}", commands[0])
                self.assertTrue(commands[2].endswith("--target shardctl iobench"), commands)

    def test_nothing_is_installed_where_nothing_is_missing(self):
        done = self.from_source("printf installed\n")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("ran apt-get", done.stdout)
        self.assertNotIn("ran sudo", done.stdout)

    def test_operands_that_do_not_exist_are_refused(self):
        for option in ("--data", "--wheel"):
            done = self.quickstart(option, "missing")
            self.assertEqual((done.returncode, done.stdout), (4, ""))
            self.assertIn(f"{option}: ", done.stderr)
            self.assertFalse((self.work / "shardkit-quickstart").exists())


if __name__ == "__main__":
    unittest.main()
