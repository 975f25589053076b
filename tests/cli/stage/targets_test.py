"""shardctl stage into folders that are full, read-only, limited, shared with other users, or on another machine."""

import os
import pathlib
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, can_mount, result_of, run  # noqa: E402
from staging import StageTest  # noqa: E402

ANOTHER_USER = 5009


class Targets(StageTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        self.source.mkdir()
        (self.source / "x.bin").write_bytes(os.urandom(3_000_000))
        self.out = self.folder / "out"

    def mounted(self, script):
        """Runs a script that mounts file systems which nobody else sees."""
        if not can_mount():
            self.skipTest("cannot mount here: not root and no user namespaces")
        stage = f"{PROGRAMS}/shardctl stage {self.source} {self.out} --manifest none"
        return subprocess.run(["unshare", "-m", "sh", "-c", script.format(out=self.out, stage=stage)],
                              capture_output=True, text=True, timeout=60)

    def test_a_complete_set_on_a_full_disk_is_complete_without_a_new_lease(self):
        self.out.mkdir()
        finished = self.mounted("mount -t tmpfs -o size=4m none {out} && {stage} --quiet --lease 0 > /dev/null && "
                                "head -c 4m /dev/zero > {out}/other; {stage} --json -")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = result_of(finished)
        self.assertEqual((result["result"]["bytes_fetched"], result["result"]["lease_id"]), (0, None))
        self.assertEqual([warning["code"] for warning in result["warnings"]], ["not_leased"])

    def test_sets_of_several_sources_are_checked_in_any_order(self):
        def shardctl(*args):
            self.assertEqual(run("shardctl", *args, cwd=self.folder).returncode, 0, args)

        shardctl("synth", "photos", "--classes", 2, "--per-class", 10)
        shardctl("convert", "photos", "b/below", "--samples", 5)
        shardctl("convert", "photos", "a/other", "--samples", 5)
        a, b = self.folder / "a", self.folder / "b"
        for number, sources in enumerate([(a, b), (b, a)]):
            result = self.stage_result(*sources, self.folder / f"copy-{number}")
            self.assertEqual(result["verified"], "checksum", sources)
        shard = sorted(a.glob("other/*.tar"))[1]
        shard.chmod(0o644)
        damaged = bytearray(shard.read_bytes())
        damaged[5000] ^= 1
        shard.write_bytes(damaged)
        for number, sources in enumerate([(a, b), (b, a)]):
            finished = self.stage(*sources, self.folder / f"damaged-{number}")
            self.assertEqual(finished.returncode, 4, sources)
            self.assertFalse((self.folder / f"damaged-{number}" / "other" / shard.name).exists())

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: only root can be several users")
    def test_a_set_that_root_staged_is_complete_for_others(self):
        self.folder.chmod(0o755)
        self.source.chmod(0o755)
        self.stage_result(self.source, self.out, "--manifest", "none", umask=0o022)
        other = {"user": ANOTHER_USER, "group": ANOTHER_USER, "extra_groups": []}
        finished = self.stage(self.source, self.out, "--manifest", "none", **other)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual([warning["code"] for warning in result_of(finished)["warnings"]], ["not_leased"])
        for verb in ("ls", "check", "warm"):
            self.assertEqual(run("shardctl", "cache", verb, self.out, **other).returncode, 0)
        shut = self.folder / "shut"
        self.stage_result(self.source, shut, "--manifest", "none", umask=0o077)
        listed = run("shardctl", "cache", "ls", shut, **other)
        self.assert_error(listed, 0, "may not read", "Permission denied")
        self.assertIn("unreadable", listed.stdout)
        for command in (["stage", self.source, shut, "--manifest", "none"], ["cache", "gc", shut, "--limit", "0"]):
            self.assert_error(run("shardctl", *command, **other), 4, "Permission denied")

    def test_a_limit_of_file_sizes_is_exit_5_and_names_the_remedy(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))

        finished = self.stage(self.source, self.out, "--manifest", "none", preexec_fn=limit)
        self.assert_error(finished, 5, "File too large", "ulimit -f unlimited")
        again = f"ulimit -f unlimited && {PROGRAMS}/shardctl stage {self.source} {self.out} --manifest none"
        subprocess.run(["sh", "-c", again], check=True, preexec_fn=limit, timeout=60, capture_output=True)
        self.assertEqual((self.out / "x.bin").read_bytes(), (self.source / "x.bin").read_bytes())

    def mounted_as(self, kind, source, options=""):
        """A stage in a system that says that the target is such a mount."""
        self.out.mkdir(exist_ok=True)
        device = self.out.stat().st_dev
        lines = ("1 0 8:1 / / rw - ext4 /dev/sda rw\\n"
                 f"2 1 {os.major(device)}:{os.minor(device)} / {self.out} rw - {kind} {source} rw\\n")
        return self.mounted(f"mount -t tmpfs none /proc && mkdir /proc/self && "
                            f"printf '{lines}' > /proc/self/mountinfo && {{stage}} {options} --lease 0 --json -")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_an_index_that_this_user_may_not_read_is_left_out(self):
        shards = self.make_shards(per_class=20)
        (shards / ".shardkit/shard-000000.tar.index").chmod(0o600)
        self.folder.chmod(0o777)
        finished = self.stage(shards, self.out, user=ANOTHER_USER)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual([warning["code"] for warning in result_of(finished)["warnings"]], ["indexes_missing"])

    def test_a_pattern_that_matches_nothing_is_a_warning(self):
        finished = self.stage(self.source, self.out, "--manifest", "none", "--exclude", "val")
        self.assertEqual([warning["code"] for warning in result_of(finished)["warnings"]], ["pattern_unused"])

    def test_a_missing_file_of_a_list_does_not_stop_the_others(self):
        wanted = self.folder / "list.txt"
        wanted.write_text("source/x.bin\nsource/absent.bin\n")
        finished = self.stage(wanted, self.out, "--manifest", "none")
        self.assertEqual(finished.returncode, 4, finished.stderr)
        result = result_of(finished)["result"]
        self.assertEqual([(file["path"], file["code"]) for file in result["failed_files"]], [("absent.bin", "not_found")])
        self.assertEqual(finished.stderr.count("is missing"), 1, finished.stderr)
        self.assertTrue((self.out / "x.bin").exists())
        self.assertFalse((self.out / ".shardkit/staged.json").exists())

    def test_a_network_file_system_of_fuse_is_a_warning_and_nothing_is_evicted_there(self):
        for kind, source in (("fuse.rclone", "remote:"), ("fuse.juicefs", "JuiceFS:x"), ("fuse.ceph-fuse", "ceph-fuse"),
                             ("fuse.glusterfs", "host:/v"), ("fuse.s3fs", "s3fs"), ("fuse.sshfs", "me@host:/"),
                             ("fuse", "mountpoint-s3")):
            finished = self.mounted_as(kind, source)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            warnings = result_of(finished)["warnings"]
            self.assertEqual([warning["code"] for warning in warnings], ["network_target"], kind)
            self.assertIn(f"({kind})", warnings[0]["text"])
            for option in (f"--cache {self.folder}", "--limit 1GB"):
                self.assert_error(self.mounted_as(kind, source, option), 4, "is on a network file system")

    def test_a_local_file_system_is_used_nfs_is_refused_and_of_others_there_is_a_warning(self):
        unknown = ["unknown_file_system"]
        for kinds, codes in (("fuse.fuse-overlayfs ext4 xfs", []), ("virtiofs 9p fuseblk fuse.mergerfs", unknown),
                             ("hf3fs fuse.cubefs fuse.cfs gfs2 ocfs2 panfs dvs", unknown), ("fuse.daos", ["network_target"])):
            for kind in kinds.split():
                finished = self.mounted_as(kind, "x")
                warnings = result_of(finished)["warnings"]
                self.assertEqual((finished.returncode, [warning["code"] for warning in warnings]), (0, codes), finished.stderr)
        self.assert_error(self.mounted_as("nfs4", "host:/x"), 4, "is on a network file system (nfs4)")


if __name__ == "__main__":
    unittest.main()
