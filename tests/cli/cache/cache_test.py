"""shardctl cache as a process, over folders that shardctl stage filled: sharing, room, leases, damage, read-only mounts."""

import io
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, can_mount, result_of, run, strace, wait_until  # noqa: E402

MIB = 1 << 20


class CacheTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        for name in "abc":
            source = self.folder / "src" / name
            source.mkdir(parents=True)
            (source / "1.bin").write_bytes(os.urandom(MIB))
            (source / "2.bin").write_bytes(os.urandom(MIB))

    def command(self, name, *options):
        return ["stage", self.folder / "src" / name, self.cache / name, "--manifest", "none", "--json", "-", *options]

    def stage(self, name, *options):
        return run("shardctl", *self.command(name, *options))

    def stage_well(self, name, *options):
        finished = self.stage(name, *options)
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def verb(self, name, *options):
        return run("shardctl", "cache", name, self.cache, *options)

    def listed(self):
        """The folders of `cache ls`, by name."""
        finished = self.verb("ls", "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return {pathlib.Path(row["path"]).name: row for row in result_of(finished)["result"]["folders"]}

    def ends_of_held_leases(self, name):
        return sorted(lease["expires_at"] for lease in self.listed()[name]["leases"] if lease["held"])

    def age(self, name, seconds):
        then = time.time() - seconds
        os.utime(self.cache / name / ".shardkit/staged.json", (then, then))


class Listing(CacheTest):
    def test_metrics_count_leases_hits_age_and_evictions(self):
        for _ in range(3):
            self.stage_well("a", "--lease-id", "job-1")
        self.stage_well("b", "--lease", "0")
        self.age("b", 5000)
        self.assertEqual(self.verb("gc", "--limit", "2MiB").returncode, 0)
        self.stage_well("b", "--lease", "0")
        self.age("b", 5000)
        metrics = self.folder / "cache.prom"
        self.assertEqual(self.verb("ls", "--prometheus", metrics).returncode, 0)
        series = re.findall(r'(?m)^shardkit_cache_ls_(\w+){.*?(?:,path="(.*)")?} (.*)$', metrics.read_text())
        found = {(name, path): value for name, path, value in series}
        of = lambda name, number: float(found[f"folders_{name}", f"{self.cache}/{number}"])
        self.assertEqual((of("hits", "a"), of("live_leases", "a"), of("hits", "b"), of("live_leases", "b")), (2, 1, 0, 0))
        self.assertLess(of("age_seconds", "a"), 1000)
        self.assertGreaterEqual(of("age_seconds", "b"), 5000)
        self.assertEqual(found["evictions", ""], "1")

    def test_text_has_a_line_for_each_set_with_its_leases_and_totals(self):
        self.stage_well("a", "--lease-id", "job-7")
        self.stage_well("b", "--lease", "0")
        finished = self.verb("ls", "--long")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stdout, rf"(?m)^{self.cache}/a +complete +2 files +2(\.00)? MiB +used \d{{4}}-")
        self.assertRegex(finished.stdout, r"(?m)^  leased by job-7 until \d{4}-\d\d-\d\dT")
        self.assertRegex(finished.stdout, r"(?m)^ +1(\.00)? MiB.* 2\.bin$")
        self.assertRegex(finished.stdout.splitlines()[0], r"^2 staged folders, 4 files, 4(\.00)? MiB, 2(\.00)? MiB of it")

    def test_a_read_only_mount_can_be_listed_warmed_and_checked(self):
        if not can_mount():
            self.skipTest("cannot mount here: not root and no user namespaces")
        self.stage_well("a")
        shardctl = PROGRAMS / "shardctl"
        script = (f"mount --bind {self.cache} {self.cache} && mount -o remount,ro,bind {self.cache} && "
                  f"{shardctl} cache ls {self.cache} && {shardctl} cache warm {self.cache} && "
                  f"{shardctl} cache check {self.cache} && "
                  f"{shardctl} stage {self.folder}/src/a {self.cache}/a --manifest none --lease 0 && "
                  f"{shardctl} stage {self.folder}/src/a {self.cache}/a --manifest none")
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assert_error(finished, 0, "the set is complete", "--lease 0")

    def test_names_cannot_steer_the_terminal(self):
        finished = run("shardctl", "stage", self.folder / "src/a", self.cache / "\x1b[31mred", "--manifest", "none")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("red", self.verb("ls").stdout)
        self.assertNotIn("\x1b", self.verb("ls").stdout)


class Room(CacheTest):
    LIMIT = ("--limit", "4MiB", "--lease", "0")

    def limited(self, name):
        return self.stage(name, "--cache", self.cache, *self.LIMIT)

    def test_a_set_that_is_being_staged_is_not_evicted_and_counts_whole(self):
        self.stage_well("a", "--lease", "0")
        held = strace("-o", "/dev/null", "-P", self.folder / "src/b/1.bin", "-e", "trace=copy_file_range,pread64", "-e",
                      "inject=copy_file_range,pread64:delay_enter=600000000")
        command = self.command("b", "--cache", self.cache, "--lease-id", "job-b")
        process = subprocess.Popen([*held, str(PROGRAMS / "shardctl"), *map(str, command)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        journal = self.cache / "b/.shardkit/stage.journal"
        wait_until(lambda: journal.exists() and str(2 * MIB) in journal.read_text(), process)
        self.assertEqual(self.listed()["b"]["state"], "in_progress")
        refused = self.stage("c", "--cache", self.cache, "--limit", "3MiB")
        self.assert_error(refused, 5, "is being staged, leased by job-b until")
        self.assertEqual(self.limited("c").returncode, 0)
        self.assertEqual(sorted(self.listed()), ["b", "c"])

    def test_several_that_want_room_at_once_keep_to_the_limit(self):
        processes = [subprocess.Popen([str(PROGRAMS / "shardctl"),
                                       *map(str, self.command(name, "--cache", self.cache, "--limit", "4MiB"))],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for name in "abc"]
        codes = sorted(process.wait(timeout=60) for process in processes)
        self.assertEqual(codes, [0, 0, 5])
        complete = [name for name, row in self.listed().items() if row["state"] == "complete"]
        self.assertEqual(len(complete), 2)

    def test_a_disk_that_is_too_small_evicts_with_a_cache_alone(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        self.cache.mkdir()
        stages = " && ".join(
            f"{PROGRAMS}/shardctl stage {self.folder}/src/{name} {self.cache}/{name} --manifest none --lease 0 "
            f"--cache {self.cache} --quiet" for name in "abc")
        script = f"mount -t tmpfs -o size=5m none {self.cache} && {stages} && ls {self.cache}/*/1.bin | wc -l"
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(finished.stdout.split()[-1], "2")

    def test_a_quota_that_is_used_up_is_exit_5_and_protects_nothing(self):
        (self.folder / "src/a/2.bin").write_bytes(os.urandom(8 * MIB))  # large enough to be reserved
        for calls in ("pwrite64,copy_file_range", "fallocate", "fdatasync"):
            with self.subTest(calls):
                full = strace("-f", "-o", "/dev/null", "-e", f"trace={calls}", "-e",
                              f"inject={calls}:error=EDQUOT")
                finished = subprocess.run([*full, str(PROGRAMS / "shardctl"), *map(str, self.command("a"))],
                                          capture_output=True, text=True, timeout=60)
                self.assertEqual(finished.returncode, 5, finished.stderr)
                # Not even a set may be there if nothing could be made durable.
                self.assertEqual(sum(row["live_leases"] for row in self.listed().values()), 0)
                self.assertEqual(self.verb("gc", "--limit", "0").returncode, 0)

    def test_a_killed_stage_of_an_unknown_job_reserves_nothing_and_one_of_a_job_what_it_comes_back_for(self):
        (self.folder / "src/a/1.bin").write_bytes(os.urandom(2 * MIB))
        for options, reads, reserved in (((), 0, False), ((), 1, False), (("--lease-id", "job-1"), 0, True)):
            with self.subTest(options, reads=reads):
                # It dies when it reads the set, after so many MiB.
                dying = strace("-f", "-o", "/dev/null", "-P", str(self.folder / "src/a/1.bin"), "-e",
                               f"inject=pread64,copy_file_range:signal=KILL:when={reads + 1}")
                subprocess.run([*dying, str(PROGRAMS / "shardctl"), *map(str, self.command("a", *options))],
                               timeout=60, capture_output=True)
                self.assertTrue((self.cache / "a/.shardkit/stage.journal").exists())
                # Nothing of it is there if it copied no byte and no job comes back for it.
                states = {name: row["state"] for name, row in self.listed().items()}
                self.assertEqual(states, {"a": "partial"} if reads or options else {})
                finished = self.stage("b", "--cache", self.cache, "--limit", "3MiB", "--lease", "0")
                self.assertEqual(finished.returncode, 5 if reserved else 0, finished.stderr)
                self.verb("gc", "--limit", "0")


class Collecting(CacheTest):
    def test_a_killed_gc_is_finished_by_the_next(self):
        self.stage_well("a", "--lease", "0")
        dying = strace("-o", "/dev/null", "-e", "trace=unlinkat", "-e", "inject=unlinkat:signal=KILL:when=2")
        subprocess.run([*dying, str(PROGRAMS / "shardctl"), "cache", "gc", str(self.cache), "--limit", "0"], timeout=60,
                       capture_output=True)
        self.assertEqual(self.listed()["a"]["state"], "partial")
        self.assertEqual(self.verb("gc", "--limit", "0").returncode, 0)
        self.assertEqual(self.listed(), {})


class Checking(CacheTest):
    def damage(self):
        path = self.cache / "a/2.bin"
        content = bytearray(path.read_bytes())
        content[4711] ^= 1
        path.write_bytes(content)

    def test_a_flipped_bit_is_exit_3_and_repair_and_stage_mend_it(self):
        self.stage_well("a", "--lease", "0")
        self.assertEqual(self.verb("check").returncode, 0)
        self.damage()
        self.assertEqual(self.verb("check", "--depth", "structure").returncode, 0)
        finished = self.verb("check", "--json", "-")
        self.assertEqual(finished.returncode, 3, finished.stderr)
        (problem,) = result_of(finished)["result"]["problems"]
        self.assertEqual((problem["code"], problem["shard"]), ("wrong_bytes", "a/2.bin"))
        self.assertEqual(self.verb("check", "--repair").returncode, 3)
        finished = self.stage("a")
        self.assertEqual(result_of(finished)["result"]["bytes_fetched"], MIB)
        self.assertEqual(self.verb("check").returncode, 0)

    def test_repair_of_a_leased_set_leaves_its_files_until_the_next_stage_replaces_them(self):
        """Also if the disk lost bits, so that no modification time says so, and under leases of this job and of others."""
        for ids in (("job-1", "job-1"), ("job-1", "job-2")):
            with self.subTest(ids):
                self.stage_well("a", "--lease-id", ids[0])
                path = self.cache / "a/2.bin"
                times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
                self.damage()
                os.utime(path, ns=times)
                self.assertEqual(result_of(self.stage("a", "--lease-id", ids[1]))["result"]["bytes_fetched"], 0)
                with path.open("rb") as reader:
                    finished = self.verb("check", "--repair", "--json", "-")
                    self.assertEqual(finished.returncode, 3, finished.stderr)
                    self.assertEqual(result_of(finished)["result"]["discarded"], 1)
                    self.assertTrue(path.exists())
                    self.assertEqual(self.listed()["a"]["state"], "partial")
                    self.assertEqual(result_of(self.stage("a", "--lease-id", ids[1]))["result"]["bytes_fetched"], MIB)
                    self.assertEqual(len(reader.read()), MIB)
                self.assertEqual(path.read_bytes(), (self.folder / "src/a/2.bin").read_bytes())
                self.assertEqual(self.verb("check").returncode, 0)

    def test_pipes_are_named_and_nobody_waits_for_a_writer(self):
        self.stage_well("a", "--lease", "0")
        self.stage_well("b", "--lease", "0")
        for name in ("a/2.bin", "b/.shardkit/stage.journal"):
            (self.cache / name).unlink()
            os.mkfifo(self.cache / name)
        os.mkfifo(self.cache / "a/9.tar")
        finished = self.verb("check", "--json", "-")
        self.assertEqual(finished.returncode, 3)
        problems = {(row["code"], row["shard"]) for row in result_of(finished)["result"]["problems"]}
        self.assertLessEqual({("special_file", "a/2.bin"), ("unreadable", "b"), ("stray", "a/9.tar")}, problems)
        self.assertEqual(self.verb("ls", "--long").returncode, 0)
        self.assertEqual(self.verb("warm").returncode, 0)
        self.stage_well("a", "--lease", "0")
        self.assertEqual((self.cache / "a/2.bin").read_bytes(), (self.folder / "src/a/2.bin").read_bytes())

    def test_a_missing_file_is_brought_by_the_next_stage(self):
        self.stage_well("a")
        (self.cache / "a/1.bin").unlink()
        finished = self.verb("check", "--depth", "structure")
        self.assertEqual(finished.returncode, 3)
        self.assertIn("shardctl stage", finished.stdout)
        self.stage_well("a")
        self.assertEqual(self.verb("check").returncode, 0)


class RelativePaths(FolderTest):
    def test_a_new_folder_of_the_cache_is_named_from_inside_it(self):
        cache = self.folder / "cache"
        cache.mkdir()
        (self.folder / "set").mkdir()
        (self.folder / "set/a.tar").write_bytes(b"\0" * 10240)
        staged = run("shardctl", "stage", "../set", "new", "--cache", ".", "--lease", "0", cwd=cache)
        self.assertEqual(staged.returncode, 0, staged.stderr)
        outside = run("shardctl", "stage", "../set", "../other", "--cache", ".", "--lease", "0", cwd=cache)
        self.assertEqual(outside.returncode, 2, outside.stderr)


class Advice(FolderTest):
    """The commands of `cache check` copy the files that were staged, and no others."""

    def setUp(self):
        super().setUp()
        self.source = self.folder / "a set"
        self.source.mkdir()
        for name in "abcd":
            with tarfile.open(self.source / f"{name}.tar", "w") as tar:
                for key in range(3):
                    info = tarfile.TarInfo(f"{name}{key}.txt")
                    info.size = 1
                    tar.addfile(info, io.BytesIO(b"x"))
        (self.folder / "list.txt").write_text("a set/a.tar\na set/c.tar\n")

    def choices(self):
        """Operands and options that choose files, for a set with a manifest and one without."""
        source = self.source.name
        yield "operands", [f"{source}/a.tar", f"{source}/c.tar"], []
        yield "a pattern", [f"{source}/[ac].tar"], []
        yield "a list", ["list.txt"], []
        yield "--include", [source], ["--include", "[ac].tar"]
        yield "--exclude", [source], ["--exclude", "b*", "--exclude", "a*"]
        yield "--rank", [source], ["--rank", "1", "--world", "2"]
        yield "all", [source], []
        yield "all by size", [source], ["--manifest", "none"]

    def shardctl(self, *words, code=0):
        finished = run("shardctl", *words, cwd=self.folder)
        self.assertEqual(finished.returncode, code, finished.stderr)
        return finished

    @staticmethod
    def staged_in(folder):
        return {path.name: path.read_bytes() for path in folder.glob("*.tar")}

    def follow_advice(self, target, code=3):
        remedies = result_of(self.shardctl("cache", "check", target, "--json", "-", code=code))["result"]["remedies"]
        self.assertTrue(remedies)
        for command in remedies:
            self.assertFalse(command.startswith("#"), command)
            words = shlex.split(command, comments=True)
            finished = run(*words, cwd="/")
            self.assertIn(finished.returncode, (0, 3), finished.stderr)
        self.shardctl("cache", "check", target)

    def test_a_damaged_copy_of_a_part_is_repaired_as_a_part(self):
        for indexed in (False, True):
            if indexed:
                self.shardctl("index", self.source)
            for what, sources, options in self.choices():
                with self.subTest(what, indexed=indexed):
                    target = self.folder / f"{what} {indexed}"
                    self.shardctl("stage", *sources, target, "--lease", "0", *options)
                    whole = self.staged_in(target)
                    sorted(target.glob("*.tar"))[0].unlink()
                    self.follow_advice(target)
                    self.assertEqual(self.staged_in(target), whole)

    def test_a_copy_that_was_interrupted_or_lost_its_marker_is_continued_as_what_it_was(self):
        self.shardctl("index", self.source)
        for what, sources, options in self.choices():
            with self.subTest(what):
                target = self.folder / what
                self.shardctl("stage", *sources, target, "--lease", "0", *options)
                whole = self.staged_in(target)
                (target / ".shardkit/staged.json").unlink()
                sorted(target.glob("*.tar"))[0].unlink()
                self.follow_advice(target)
                self.assertEqual(self.staged_in(target), whole)

    def test_two_parts_in_one_folder_are_both_continued(self):
        self.shardctl("index", self.source)
        target = self.folder / "node"
        for name in "ac":
            self.shardctl("stage", self.source, target, "--lease", "0", "--include", f"{name}.tar")
        (target / "a.tar").unlink()
        (target / "c.tar").unlink()
        self.follow_advice(target)
        self.assertEqual(set(self.staged_in(target)), {"a.tar", "c.tar"})

    def test_what_nobody_recorded_is_not_advised_as_a_command(self):
        self.shardctl("stage", self.source, self.folder / "node", "--lease", "0", "--include", "a.tar")
        journal = self.folder / "node/.shardkit/stage.journal"
        journal.write_text("".join(line for line in journal.read_text().splitlines(True) if not line.startswith("part")))
        (self.folder / "node/.shardkit/staged.json").unlink()
        finished = self.shardctl("cache", "check", self.folder / "node", "--json", "-", code=3)
        (remedy,) = result_of(finished)["result"]["remedies"]
        self.assertRegex(remedy, "^# run the command again that staged .*: all or a part of ")


class Addresses(CacheTest):
    def test_every_verb_refuses_an_address_in_the_same_words(self):
        for verb in ("ls", "warm", "gc", "check", "release", "hold", "rm"):
            for address in ("s3://bucket/cache", "https://node/cache"):
                with self.subTest(verb, address=address):
                    finished = run("shardctl", "cache", verb, address)
                    self.assertEqual(finished.returncode, 2, finished.stderr)
                    self.assertIn(f"'{address}' is an address; give a folder on this machine", finished.stderr)

    def test_ids_with_control_characters_are_refused(self):
        self.cache.mkdir()
        for words in (("stage", self.folder / "src/a", self.cache / "a"), ("cache", "release", self.cache),
                      ("cache", "hold", self.cache / "a")):
            finished = run("shardctl", *words, "--lease-id", "job\n7")
            self.assertEqual(finished.returncode, 2, finished.stderr)
            self.assertNotIn("job\n7", finished.stderr)


class Releasing(CacheTest):
    PLAIN = {key: value for key, value in os.environ.items() if not key.startswith(("POD_", "SLURM_", "KUBERNETES_"))}

    def test_the_pod_or_the_job_is_the_default_owner(self):
        for environment, owner in (({"POD_NAMESPACE": "a", "POD_NAME": "train-0"}, "a/train-0"), ({"SLURM_JOB_ID": "7"}, "slurm-7"),
                                   ({"POD_UID": "0c5e", "POD_NAME": "train-0"}, "0c5e")):
            environment = {**self.PLAIN, **environment}
            finished = run("shardctl", *self.command("a"), env=environment)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertEqual([lease["owner"] for lease in self.listed()["a"]["leases"]], [owner])
            finished = run("shardctl", "cache", "release", self.cache / "a", "--json", "-", env=environment)
            self.assertEqual(result_of(finished)["result"]["released"], 1)

    def test_pods_and_jobs_that_share_a_name_do_not_share_a_lease(self):
        pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "node-1"}
        for one, other in (({"POD_UID": "u1", "POD_NAME": "train-0"}, {"POD_UID": "u2", "POD_NAME": "train-0"}),
                           ({"POD_NAMESPACE": "a", "POD_NAME": "train-0"}, {"POD_NAMESPACE": "b", "POD_NAME": "train-0"}),
                           ({"POD_UID": "u1", "SLURM_JOB_ID": "7"}, {"POD_UID": "u1", "SLURM_JOB_ID": "8"}),
                           ({"POD_UID": "u1", "SLURM_JOB_ID": "7"}, {"POD_UID": "u2", "SLURM_JOB_ID": "7"})):
            with self.subTest(one=one, other=other):
                for environment in (one, other, one):  # staging again counts once
                    self.assertEqual(run("shardctl", *self.command("a"), env={**self.PLAIN, **pod, **environment}).returncode, 0)
                self.assertEqual(self.listed()["a"]["live_leases"], 2)
                release = ("cache", "release", self.cache / "a", "--json", "-")
                released = run("shardctl", *release, env={**self.PLAIN, **pod, **one})
                self.assertEqual(result_of(released)["result"]["released"], 1)
                self.assert_error(self.verb("gc", "--limit", "0"), 5, "leased by")
                run("shardctl", *release, env={**self.PLAIN, **pod, **other})
                self.assertEqual(self.listed()["a"]["live_leases"], 0)

    def test_two_jobs_of_one_user_do_not_end_or_evict_each_others_sets(self):
        ids = []
        for _ in range(2):
            finished = run("shardctl", *self.command("a"), env=self.PLAIN)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            ids.append(result_of(finished)["result"]["lease_id"])
        self.assertNotEqual(*ids)
        without_id = run("shardctl", "cache", "release", self.cache, env=self.PLAIN)
        self.assert_error(without_id, 0, "give --lease-id", "is leased by lease-")
        self.assertEqual(self.listed()["a"]["live_leases"], 2)
        replacing = ["stage", self.folder / "src/b", self.cache / "a", "--manifest", "none", "--limit", "1GB"]
        self.assert_error(run("shardctl", *replacing, env=self.PLAIN), 5, "leased by lease-")
        self.assertEqual(self.verb("release", "--lease-id", ids[0]).returncode, 0)
        self.assert_error(self.verb("gc", "--limit", "0"), 5, f"leased by {ids[1]}")
        self.assertEqual(self.verb("release", "--lease-id", ids[1]).returncode, 0)
        self.assertEqual(self.verb("gc", "--limit", "0").returncode, 0)

    def test_a_set_is_held_until_sigterm_and_can_then_be_removed(self):
        self.stage_well("a", "--lease-id", "job-1")
        holders = []
        for _ in range(2):
            holders.append(subprocess.Popen([PROGRAMS / "shardctl", "cache", "hold", self.cache / "a", "--lease", "9s",
                                             "--lease-id", "job-1"], stdout=subprocess.PIPE, text=True))
            self.addCleanup(holders[-1].kill)
            self.assertIn("job-1", holders[-1].stdout.readline())
        self.assertEqual([lease["held"] for lease in self.listed()["a"]["leases"]].count(True), 2)
        self.assertEqual(self.listed()["a"]["live_leases"], 3)
        ends = self.ends_of_held_leases("a")
        status = (pathlib.Path("/proc") / str(holders[0].pid) / "status").read_text()
        self.assertLess(int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]), 8 << 10)
        wait_until(lambda: self.ends_of_held_leases("a")[0] > ends[-1])  # both were renewed
        self.assertEqual(self.listed()["a"]["live_leases"], 3)
        for left, holder in zip((2, 0), holders):
            self.assert_error(run("shardctl", "cache", "rm", self.cache / "a"), 1, "leased by job-1")
            holder.terminate()
            self.assertEqual(holder.wait(timeout=60), 0)
            holder.stdout.close()
            self.assertEqual(self.listed()["a"]["live_leases"], left)
        self.assertEqual(run("shardctl", "cache", "rm", self.cache / "a").returncode, 0)
        self.assertEqual(self.listed(), {})

    def test_a_hold_whose_lease_another_command_ended_says_so(self):
        self.stage_well("a", "--lease", "0")
        for end_early in (True, False):
            holder = subprocess.Popen([PROGRAMS / "shardctl", "cache", "hold", self.cache / "a", "--lease", "6s"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(holder.kill)
            holder.stdout.readline()
            self.assertEqual(self.verb("release", "--all").returncode, 0)
            if end_early:
                holder.terminate()
            stderr = holder.communicate(timeout=60)[1]
            self.assertEqual(holder.returncode, 4, stderr)
            self.assertIn("another command ended the lease of this process", stderr)

    def test_a_killed_hold_protects_its_set_no_longer_than_its_lease(self):
        self.stage_well("a", "--lease", "0")
        holder = subprocess.Popen([PROGRAMS / "shardctl", "cache", "hold", self.cache / "a", "--lease", "5s"],
                                  stdout=subprocess.PIPE)
        self.addCleanup(holder.stdout.close)
        holder.stdout.readline()
        holder.kill()
        holder.wait()
        self.assertEqual([lease["held"] for lease in self.listed()["a"]["leases"]], [False])
        refused = self.verb("gc", "--limit", "0")
        self.assert_error(refused, 5, "is leased by")
        self.assertNotIn("renews", refused.stderr)
        wait_until(lambda: self.verb("gc", "--limit", "0").returncode == 0)


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: only root can be several users; sharing a cache is NOT tested")
class Sharing(CacheTest):
    """Two users of one group, and one who shuts the others out."""

    ANNA, BERT, GROUP = 5001, 5002, 5000

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.cache.mkdir()
        os.chown(self.cache, 0, self.GROUP)
        self.cache.chmod(0o2775)

    def run_as(self, user, *arguments, umask=0o002):
        return run("shardctl", *arguments, user=user, group=self.GROUP, extra_groups=[], umask=umask)

    def stage_as(self, user, name, *options, umask=0o002):
        finished = self.run_as(user, *self.command(name, *options), umask=umask)
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def verb_as(self, user, name, *options):
        return self.run_as(user, "cache", name, self.cache, *options)

    def test_users_of_one_group_share_sets_room_and_leases(self):
        limit = ("--cache", self.cache, "--limit", "4MiB")
        self.stage_as(self.ANNA, "a", *limit, "--lease-id", "anna")
        self.stage_as(self.BERT, "a", *limit, "--lease-id", "bert")
        self.stage_as(self.BERT, "b", *limit, "--lease", "0")
        self.assertEqual({lease["owner"] for lease in self.listed()["a"]["leases"]}, {"anna", "bert"})
        (self.cache / "a/1.bin").unlink()
        self.assertEqual(self.verb_as(self.BERT, "release", "--all").returncode, 0)
        self.assertEqual(self.verb_as(self.BERT, "check", "--repair", "--depth", "structure").returncode, 3)
        self.stage_as(self.BERT, "a", *limit, "--lease", "0")
        self.age("a", 100)
        self.stage_as(self.ANNA, "c", *limit, "--lease", "0")
        self.assertEqual(sorted(self.listed()), ["b", "c"])
        self.assertEqual(self.run_as(self.ANNA, "cache", "rm", self.cache / "b").returncode, 0)
        self.assertEqual(self.verb_as(self.ANNA, "gc", "--limit", "0").returncode, 0)
        self.assertEqual(self.listed(), {})

    def test_a_set_that_another_user_shut_is_passed_over_and_named(self):
        self.stage_as(self.ANNA, "a", "--lease", "0", umask=0o077)
        self.stage_as(self.BERT, "b", "--lease", "0")
        finished = self.verb_as(self.BERT, "ls", "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        states = {pathlib.Path(row["path"]).name: row["state"] for row in result_of(finished)["result"]["folders"]}
        self.assertEqual(states, {"a": "unreadable", "b": "complete"})
        self.assertIn("listed without", finished.stderr)
        finished = self.verb_as(self.BERT, "check")
        self.assertEqual(finished.returncode, 3)  # what could not be looked at has not passed
        self.assertIn("not checked", finished.stdout)
        for verb in (("warm",), ("gc", "--limit", "0")):
            finished = self.verb_as(self.BERT, *verb)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertIn("was skipped", finished.stderr)
        self.assertFalse((self.cache / "b/1.bin").exists())
        self.assertTrue((self.cache / "a/1.bin").exists())
        self.stage_as(self.BERT, "b", "--cache", self.cache, "--limit", "2MiB", "--lease", "0")

    def test_a_set_that_may_be_read_only_does_not_keep_others_from_making_room(self):
        finished = self.run_as(self.ANNA, *self.command("a", "--lease", "0"), umask=0o022)
        self.assert_error(finished, 0, "shared by a group, but with umask 022")
        finished = self.run_as(self.BERT, *self.command("b", "--lease", "0"))
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        self.age("a", 200)
        limit = ("--cache", self.cache, "--lease", "0", "--limit")
        self.stage_as(self.BERT, "c", *limit, "4MiB")
        self.assertTrue((self.cache / "a/1.bin").exists())
        self.assertFalse((self.cache / "b/1.bin").exists())
        self.assert_error(self.run_as(self.BERT, *self.command("b", *limit, "3MiB")), 5, "is not accessible to this user")

    def test_leases_that_may_not_be_removed_are_named_after_the_others_have_ended(self):
        self.stage_as(self.ANNA, "a", "--lease-id", "anna", umask=0o022)
        self.stage_as(self.BERT, "b", "--lease-id", "bert")
        self.assert_error(self.verb_as(self.BERT, "release", "--all"), 4, "1 lease ended", "a/.shardkit/leases")
        self.assertEqual([len(self.listed()[name]["leases"]) for name in "ab"], [1, 0])

    def test_repairs_that_this_user_may_not_make_are_advised_to_others(self):
        self.stage_as(self.ANNA, "a", "--lease", "0", umask=0o022)
        (self.cache / "a/2.bin").write_bytes(b"damaged")
        for user, start in ((self.ANNA, "  # marks"), (self.BERT, "  # as a user who may write there: marks")):
            finished = self.verb_as(user, "check", "--json", "-")
            commands = result_of(finished)["result"]["remedies"]
            self.assertEqual(len(commands), 2, commands)
            self.assertIn(start, commands[0])


if __name__ == "__main__":
    unittest.main()
