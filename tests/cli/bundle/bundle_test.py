"""scripts/bundle: what it packs runs somewhere else, without libraries, settings or programs of the host."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import CHECKOUT, PROGRAMS, FolderTest  # noqa: E402


def packed(target):
    build = PROGRAMS.resolve().parent
    if shutil.which("strip") is None or not (build / "CMakeCache.txt").exists():
        raise unittest.SkipTest("SKIPPED: neither strip nor a build folder here")
    if b"__asan_init" in (PROGRAMS / "iobench").read_bytes() or b"__tsan_init" in (PROGRAMS / "iobench").read_bytes():
        raise unittest.SkipTest("SKIPPED: programs with sanitizers are not for other machines")
    done = subprocess.run([CHECKOUT / "scripts/bundle", "--build", build, "--output", target], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)


# A driver that needs what drivers need, and whose GPUs wait for the fabric manager.
DRIVER = """
static int not_ready(void) { return 802; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuInit(unsigned flags) { return not_ready(); }
int cuGetProcAddress_v2(const char* name, void** to, int version, unsigned long long flags, int* status) {
  *to = __builtin_strcmp(name, "cuDriverGetVersion") == 0    ? (void*)cuDriverGetVersion
        : __builtin_strcmp(name, "cuGetProcAddress") == 0 ? (void*)cuGetProcAddress_v2
                                                          : (void*)not_ready;
  return 0;
}
"""


class Bundle(FolderTest):
    @classmethod
    def setUpClass(cls):
        unpacked = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-test-"))
        cls.addClassCleanup(shutil.rmtree, unpacked, ignore_errors=True)
        archive = unpacked / "shardkit.tar.gz"
        packed(archive)
        with tarfile.open(archive) as tar:
            cls.names = tar.getnames()
            tar.extractall(unpacked)
        cls.root = unpacked / "some where else"
        shutil.move(unpacked / cls.names[0], cls.root)

    def run_here(self, program, *arguments, **options):
        return subprocess.run([self.root / "bin" / program, *map(str, arguments)], env={"PATH": "/nonexistent"},
                              capture_output=True, text=True, timeout=120, **options)

    def libraries_in_use(self):
        """Files that the program maps, as its loader says."""
        listed = subprocess.run([self.root / "lib/loader/iobench", "--library-path", self.root / "lib", "--list",
                                 self.root / "libexec/iobench"], capture_output=True, text=True, check=True)
        return [line.split("=> ")[1].rpartition(" (")[0] for line in listed.stdout.splitlines() if "=>" in line]

    def test_it_runs_from_anywhere(self):
        for program in ("shardctl", "iobench"):
            done = self.run_here(program, "--version")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(program), done.stdout)
        link = self.folder / "iobench"
        link.symlink_to(self.root / "bin/iobench")
        done = subprocess.run([link, "--version"], env={}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        relative = subprocess.run(["./bin/iobench", "--version"], env={}, cwd=self.root, capture_output=True, text=True)
        self.assertEqual(relative.returncode, 0, relative.stderr)

    def test_the_main_job_runs_and_arguments_and_exit_codes_pass_through(self):
        photos, shards = self.folder / "photos", self.folder / "sh ards"
        for arguments in (("synth", photos, "--classes", 2, "--per-class", 3), ("convert", photos, shards),
                          ("verify", shards, "--depth", "decode")):
            done = self.run_here("shardctl", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.run_here("shardctl", "verify", self.folder / "absent").returncode, 4)
        self.assertEqual(self.run_here("iobench", "--no-such-option").returncode, 2)

    def test_no_library_of_the_host_is_used(self):
        self.assertEqual([path for path in self.libraries_in_use() if not path.startswith(str(self.root))], [])

    def test_it_holds_manuals_completion_and_licenses(self):
        names = {name.partition("/")[2] for name in self.names}
        for wanted in ("share/man/man1/shardctl-convert.1", "share/bash-completion/completions/iobench",
                       "share/doc/shardkit/LICENSE", "share/doc/shardkit/docs/tutorial.md",
                       "share/doc/shardkit/docs/schema/gate.json", "share/doc/shardkit/samples/slurm/prolog.sh"):
            self.assertIn(wanted, names)
        licenses = list((self.root / "share/doc/shardkit/licenses").iterdir())
        self.assertGreater(len(licenses), 5)

    def test_help_names_the_page_in_the_bundle(self):
        (page,) = re.findall(r"^More: (.+)$", self.run_here("iobench", "run", "--help").stdout, re.M)
        self.assertEqual(pathlib.Path(page), self.root / "share/doc/shardkit/docs/how-to/reading-a-verdict.md")
        self.assertTrue(pathlib.Path(page).exists())

    def test_check_gpu_finds_the_programs_beside_itself(self):
        done = subprocess.run([sys.executable, self.root / "bin/check-gpu"], env={}, cwd=self.folder, capture_output=True,
                              text=True, timeout=120)
        if done.returncode != 4:
            self.skipTest("SKIPPED: a GPU is here")
        self.assertIn("no GPU is available", done.stderr)

    def test_a_bundle_that_was_torn_apart_says_so(self):
        alone = self.folder / "alone" / "iobench"
        alone.parent.mkdir()
        shutil.copy(self.root / "bin/iobench", alone)
        done = subprocess.run([alone, "--version"], env={}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 127)
        self.assertIn("in one folder", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: chroot needs root")
    def test_it_runs_where_there_is_nothing_else(self):
        empty = self.folder / "empty"
        shutil.copytree(self.root, empty / "opt/shardkit")
        (empty / "tmp").mkdir()
        inside = subprocess.run(["chroot", empty, "/opt/shardkit/bin/shardctl", "--version"], capture_output=True, text=True)
        self.assertEqual(inside.returncode, 0, inside.stderr)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("cc"), "SKIPPED: chroot needs root, the driver a compiler")
    def test_the_hosts_driver_is_loaded_with_the_c_library_of_the_bundle(self):
        # Nothing of the host is here but its driver: what that needs must come from the bundle.
        host = self.folder / "host"
        shutil.copytree(self.root, host / "opt/shardkit")
        for folder in ("usr/lib", "tmp", "dev"):
            (host / folder).mkdir(parents=True)
        (host / "dev/nvidiactl").touch()
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", host / "usr/lib/libcuda.so.1", "-Wl,--no-as-needed",
                        "-l:libdl.so.2", "-l:libpthread.so.0", "-l:librt.so.1", "-lm"], input=DRIVER, text=True, check=True)
        inside = ["chroot", host, "/opt/shardkit/bin/iobench"]
        copied = subprocess.run([*inside, "transfer", "--bytes", "4KiB"], capture_output=True, text=True)
        if "built without CUDA" in copied.stderr:
            self.skipTest("SKIPPED: built without CUDA")
        self.assertIn("returned 802", copied.stderr)
        self.assertIn("nvidia-fabricmanager", copied.stderr)
        watched = subprocess.run([*inside, "watch", "--count", "1", "--json", "-"], capture_output=True, text=True)
        self.assertIn("NVIDIA_DRIVER_CAPABILITIES=compute,utility", watched.stdout + watched.stderr)


if __name__ == "__main__":
    unittest.main()
