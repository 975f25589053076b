"""iobench read of what is broken, absurd or refused: each ends with its exit code and says what to do."""

import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, can_mount, has_uring, result_of, run, warning_codes, strace  # noqa: E402

MIB = 1 << 20


class ReadFaults(FolderTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "data.bin"
        self.file.write_bytes(os.urandom(4 * MIB))

    def read_under(self, before, *args):
        command = [*before, PROGRAMS / "iobench", "read", self.file, *args, "--json", "-", "--quiet"]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)

    def error_under(self, before, exit_code, *args):
        finished = self.read_under(before, *args)
        self.assertEqual(finished.returncode, exit_code, finished.stdout + finished.stderr)
        return result_of(finished)["error"]

    def refused_uring(self, errno, call="io_uring_setup"):
        return self.error_under(strace("-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={errno}"), 4,
                                "--engine", "uring")

    def test_io_uring_refused_by_a_filter_names_the_cause_and_the_remedy(self):
        error = self.refused_uring("EPERM")
        self.assertEqual(error["code"], "unsupported")
        for words in ("engine 'uring'", "--engine pread"):
            self.assertIn(words, error["text"])
        self.assertRegex(error["text"], "seccomp|io_uring_disabled")

    def test_io_uring_that_the_kernel_has_not_names_the_cause(self):
        for errno, words in (("ENOSYS", "no io_uring"), ("ENOMEM", "ulimit -l"), ("EMFILE", "io_uring_setup failed: "),
                             ("EMFILE", "(errno 24)")):
            with self.subTest(errno):
                self.assertIn(words, self.refused_uring(errno)["text"])

    @unittest.skipUnless(has_uring(), "io_uring is not available")
    def test_io_uring_that_does_not_say_what_it_can_do_is_not_taken_for_an_old_kernel(self):
        for errno, words in (("EPERM", "seccomp"), ("EACCES", "(EACCES)"), ("ENOSYS", "(ENOSYS)"),
                             ("EBUSY", "(errno 16)"), ("EINVAL", "older than Linux 5.6")):
            with self.subTest(errno):
                text = self.refused_uring(errno, "io_uring_register")["text"]
                self.assertIn(words, text)
                self.assertEqual("older than" in text, errno == "EINVAL")
                self.assertEqual("io_uring_register" in text, errno != "EINVAL")

    def test_a_refused_engine_is_found_out_before_caches_are_dropped(self):
        self.file.read_bytes()
        os.sync()
        trace = self.folder / "trace"
        self.read_under(strace("-o", trace, "-e", "trace=io_uring_setup,fadvise64", "-e",
                               "inject=io_uring_setup:error=EPERM"), "--engine", "uring", "--cache", "cold")
        self.assertNotIn("fadvise64", trace.read_text())

    def test_a_limit_of_locked_memory_is_a_warning(self):
        if os.geteuid() != 0 or not has_uring():
            self.skipTest("needs root, to give up CAP_IPC_LOCK, and io_uring")
        finished = self.read_under(["setpriv", "--bounding-set=-ipc_lock", "prlimit", "--memlock=65536:65536"],
                                   "--engine", "uring", "--threads", 2)
        envelope = result_of(finished)
        self.assertEqual(finished.returncode, 0, finished.stdout)
        self.assertEqual(envelope["result"]["bytes"], 4 * MIB)
        self.assertEqual(warning_codes(envelope), ["plain_buffers"])
        self.assertIn("ulimit -l", envelope["warnings"][0]["text"])

    def test_a_read_error_names_file_and_offset(self):
        # The first read of each thread is of its own part; with one thread the third read is of the third block.
        error = self.error_under(strace("-o", "/dev/null", "-P", self.file, "-e", "trace=pread64", "-e",
                                        "inject=pread64:error=EIO:when=3"), 1, "--threads", 1, "--block", "64KiB")
        self.assertEqual((error["code"], error["path"], error["offset"]), ("io", str(self.file), 128 * 1024))
        self.assertIn("Input/output error", error["text"])

    def test_short_reads_are_finished_and_counted(self):
        finished = self.read_under(strace("-o", "/dev/null", "-P", self.file, "-e", "trace=pread64", "-e",
                                          "inject=pread64:retval=4096:when=2"), "--threads", 1, "--block", "64KiB")
        result = result_of(finished)["result"]
        self.assertEqual((result["bytes"], result["operations"], result["kernel_reads"]), (4 * MIB, 64, 65))

    def test_a_file_that_shrinks_while_it_is_read_is_an_error(self):
        for engine in ("pread", "uring") if has_uring() else ("pread",):
            with self.subTest(engine):
                self.file.write_bytes(os.urandom(4 * MIB))
                reader = subprocess.Popen(
                    [PROGRAMS / "iobench", "read", self.file, "--engine", engine, "--cache", "warm", "--min-time", "60s",
                     "--threads", "2", "--json", "-", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.wait_until_reading(reader)
                os.truncate(self.file, 1 * MIB + 10)
                out, err = reader.communicate(timeout=60)
                self.assertEqual(reader.returncode, 1, out + err)
                error = result_of(subprocess.CompletedProcess([], 0, out, err))["error"]
                self.assertEqual((error["code"], error["path"]), ("io", str(self.file)))
                self.assertIn("it changed while being read", error["text"])

    def wait_until_reading(self, process):
        """Until its threads have read for a while."""
        for _ in range(2000):
            tasks = os.listdir(f"/proc/{process.pid}/task")
            # Two readers, a watcher of the rate and the main thread at least, well after caches were warmed.
            if len(tasks) >= 4 and self.seconds_of(process) > 0.3:
                return
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        self.fail("it never read")

    @staticmethod
    def seconds_of(process):
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_what_is_no_file_is_refused(self):
        pipe, empty = self.folder / "pipe", self.folder / "empty"
        os.mkfifo(pipe)
        empty.mkdir()
        for engine in ("pread", "mmap"):
            for path, code, words in ((pipe, 2, "pipe"), ("/dev/zero", 2, "device"), ("/proc/self/status", 4, "/proc"),
                                      (empty, 4, "is empty"), (self.folder / "none", 4, "none")):
                with self.subTest(f"{engine} {path}"):
                    self.assert_error(run("iobench", "read", path, "--engine", engine), code, words)
        self.assert_error(run("iobench", "read", self.file, "--mode", "imagefolder"), 2, "not a folder")
        self.assert_error(run("iobench", "read", empty, "--mode", "imagefolder"), 4, "no files")

    def test_absurd_options_are_usage_errors(self):
        for args in (["--threads", 0], ["--threads", 10**9], ["--block", 2**40], ["--block", 0], ["--depth", 0],
                     ["--engine", "uring", "--depth", 10**9], ["--depth", 8], ["--repeat", 0], ["--repeat", 3],
                     ["--min-time", 0], ["--min-time", "2s", "--budget", "1s"], ["--sample-bytes", 0],
                     ["--mode", "random", "--block", "4KiB", "--sample-bytes", 100]):
            with self.subTest(" ".join(map(str, args))):
                self.assert_error(run("iobench", "read", self.file, *args), 2, "--")
        self.assert_error(run("iobench", "read", self.file, "--engine", "uring", "--threads", 4096, "--block", "1GiB"), 5,
                          "more than half of the available memory")
        self.assert_error(run("iobench", "read", self.file, "--engine", "posixaio"), 2, "pread, mmap or uring")
        self.assert_error(run("iobench", "read", self.file, "--engine", "mmap", "--direct"), 4, "page cache")
        self.assert_error(run("iobench", "read", self.file, "--mode", "random", "--block", "8MiB"), 4, "none of 1 file given contains")

    def test_holes_and_tmpfs_are_refused_where_the_disk_is_to_be_measured(self):
        hole = self.folder / "hole.bin"
        with open(hole, "wb") as file:
            file.truncate(MIB)
        for args in (["--cache", "cold"], ["--direct"]):
            self.assert_error(run("iobench", "read", hole, *args), 4, "never written")
        self.assertIn("never written", run("iobench", "read", hole).stderr)

    @unittest.skipUnless(can_mount() and os.geteuid() == 0, "needs root and mounts")
    def test_an_overlay_is_labeled_and_never_read_directly(self):
        script = (f"mkdir -p {self.folder}/l {self.folder}/u {self.folder}/w {self.folder}/m && cp {self.file} {self.folder}/l && "
                  f"mount -t overlay none -o lowerdir={self.folder}/l,upperdir={self.folder}/u,workdir={self.folder}/w "
                  f"{self.folder}/m || exit 77; {PROGRAMS}/iobench read {self.folder}/m/data.bin --quiet --json - ")
        plain = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
        if plain.returncode == 77:
            self.skipTest("overlay cannot be mounted here")
        self.assertEqual(result_of(plain)["result"]["storage"]["storage_class"], "overlay")
        direct = subprocess.run(["unshare", "-m", "sh", "-c", script + "--direct"], capture_output=True, text=True)
        # Kernels that tell an overlay's alignment let it through; others refuse it by name.
        self.assertIn(direct.returncode, (0, 4), direct.stderr)


if __name__ == "__main__":
    unittest.main()
