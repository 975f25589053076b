"""shardctl reshard as a program: kills, compressed inputs, other programs' tars, bombs, full disks."""

import gzip
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import SOAK, FolderTest, can_mount, fake_jpeg, killed_runs, result_of, run, tree  # noqa: E402
from tars import write_tar  # noqa: E402


def members(folder):
    """Every (key, extension, bytes) of the shards in a folder, sorted."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, extension = member.name.partition(".")
                found.append((key, extension, tar.extractfile(member).read()))
    return sorted(found)


class ReshardTest(FolderTest):
    def samples(self, count, prefix="s"):
        random.seed(count)
        return [
            (f"{prefix}{i:04}.{extension}",
             fake_jpeg(random.randbytes(random.randrange(3000))) if extension == "jpg" else b"%d" % (i % 5))
            for i in range(count)
            for extension in ("cls", "jpg")
        ]

    def expected(self, files):
        return sorted((name.partition(".")[0], name.partition(".")[2], content) for name, content in files)

    def reshard(self, *args):
        done = run("shardctl", "reshard", *args, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return result_of(done)["result"]


class OtherPrograms(ReshardTest):
    def test_pax_gnu_ustar_and_compressed_inputs_give_the_same_samples(self):
        files = self.samples(60)
        for name, mode, form in [
            ("pax.tar", "w", tarfile.PAX_FORMAT),
            ("gnu.tar", "w", tarfile.GNU_FORMAT),
            ("ustar.tar", "w", tarfile.USTAR_FORMAT),
            ("packed.tar.gz", "w:gz", tarfile.PAX_FORMAT),
            ("packed.tgz", "w:gz", tarfile.PAX_FORMAT),
            ("packed.tar.xz", "w:xz", tarfile.GNU_FORMAT),
            ("packed.tar.bz2", "w:bz2", tarfile.USTAR_FORMAT),
        ]:
            with self.subTest(name):
                write_tar(self.folder / name, files, mode, form)
                out = self.folder / f"out-{name}"
                result = self.reshard(self.folder / name, out, "--samples", "25")
                self.assertEqual(result["shards"], 3)
                self.assertEqual(members(out), self.expected(files))
                self.assertEqual(run("shardctl", "verify", out, "--strict").returncode, 0)
                self.assertEqual([p.name for p in (out / ".shardkit").glob(".*")], [])  # nothing unpacked is left

    def test_a_folder_may_hold_plain_and_compressed_tars(self):
        files = self.samples(30)
        shards = self.folder / "shards"
        shards.mkdir()
        for name, mode, part in [("a.tar.gz", "w:gz", files[:20]), ("b.tar", "w", files[20:40]), ("c.tar.xz", "w:xz", files[40:])]:
            write_tar(shards / name, part, mode)
        self.assertEqual(self.reshard(shards, self.folder / "out")["inputs"], 3)
        self.assertEqual(members(self.folder / "out"), self.expected(files))

        commands = [("verify", shards), ("stat", shards), ("ls", shards), ("cat", shards, "s0010.cls"),
                    ("extract", shards, self.folder / "tree"), ("index", shards)]
        for command in commands:  # what is read in place passes them over, and says so
            with self.subTest(command[0]):
                done = run("shardctl", *command)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"skipped; `shardctl reshard {shards} OUT`", done.stderr)
        (shards / "b.tar").unlink()
        for verb, *operands in commands:
            with self.subTest(verb, listed=True):
                done = run("shardctl", verb, *operands)
                self.assertEqual(done.returncode, 3 if verb == "verify" else 4, done.stderr)
                self.assertIn("missing_shard" if verb == "verify" else "1 listed shard of", done.stdout + done.stderr)
                self.assertIn("b.tar", done.stdout + done.stderr)
        (shards / "manifest.json").unlink()
        shutil.rmtree(shards / ".shardkit")
        for command in commands:
            with self.subTest(command[0]):
                self.assert_error(run("shardctl", *command), 4, "only compressed tars", f"shardctl reshard {shards} OUT")

    def test_zstd(self):
        files = self.samples(10)
        write_tar(self.folder / "x.tar", files)
        subprocess.run(["zstd", "-q", self.folder / "x.tar", "-o", self.folder / "x.tar.zst"], check=True)
        self.reshard(self.folder / "x.tar.zst", self.folder / "out")
        self.assertEqual(members(self.folder / "out"), self.expected(files))

    def test_a_folder_packed_by_gnu_tar_with_hard_links(self):
        source = self.folder / "files"
        source.mkdir()
        for name, content in self.samples(5):
            (source / name).write_bytes(content)
        os.link(source / "s0000.jpg", source / "t0000.jpg")
        subprocess.run(["tar", "-C", source, "--sort=name", "-cf", self.folder / "x.tar", "."], check=True)
        result = self.reshard(self.folder / "x.tar", self.folder / "out")
        self.assertEqual(result["renamed"], 6)  # "./" in front of each
        found = {(key, extension): content for key, extension, content in members(self.folder / "out")}
        self.assertEqual(found[("t0000", "jpg")], found[("s0000", "jpg")])


class Kills(ReshardTest):
    def test_killed_at_any_step_the_next_run_ends_with_the_same_bytes(self):
        for part in range(3):
            write_tar(self.folder / f"x-{part}.tar", self.samples(200, f"p{part}-"))
        with gzip.open(self.folder / "y.tar.gz", "wb", 1) as packed, open(self.folder / "x-2.tar", "rb") as plain:
            shutil.copyfileobj(plain, packed)
        (self.folder / "x-2.tar").unlink()
        args = [self.folder / "x-0.tar", self.folder / "x-1.tar", self.folder / "y.tar.gz"]
        options = ["--shuffle", "1", "--samples", "20", "--threads", "2", "--quiet"]
        self.assertEqual(run("shardctl", "reshard", *args, self.folder / "expected", *options).returncode, 0)
        expected = tree(self.folder / "expected")
        out = self.folder / "out"
        for _ in killed_runs(30 if SOAK else 8, 6, lambda: shutil.rmtree(out), "reshard", *args, out, *options):
            for name, content in tree(out).items() if out.exists() else []:
                if not pathlib.Path(name).name.startswith(".") and not name.endswith(".run"):
                    self.assertEqual(content, expected[name], name)
        self.assertEqual(run("shardctl", "reshard", *args, out, *options).returncode, 0)
        self.assertEqual(tree(out), expected)


class BadInput(ReshardTest):
    def refused(self, exit_code, *texts, args=()):
        done = run("shardctl", "reshard", *(args or [self.folder / "x.tar.gz"]), self.folder / "out")
        self.assert_error(done, exit_code, *texts)
        self.assertFalse((self.folder / "out/manifest.json").exists())
        self.assertEqual([p for p in (self.folder / "out").rglob("*") if p.is_file()], [])

    def test_a_gzip_bomb_of_zeros_is_no_tar(self):
        with gzip.open(self.folder / "x.tar.gz", "wb", 9) as bomb:
            for _ in range(256):
                bomb.write(bytes(1 << 20))
        self.refused(4, "x.tar.gz", "unpacks to zeros")

    def test_a_gzip_bomb_that_a_header_announces_is_refused_before_it_unpacks(self):
        header = tarfile.TarInfo("a.jpg")
        header.size = 7 << 30
        with gzip.open(self.folder / "x.tar.gz", "wb", 1) as bomb:
            bomb.write(header.tobuf())
            for _ in range(64):
                bomb.write(bytes(1 << 20))
        self.refused(4, "x.tar.gz", "'a.jpg' at byte 0", "has size 7.00 GiB", "unpack it yourself")

    def test_a_gzip_bomb_behind_a_header_stops_at_what_the_disk_has(self):
        if not can_mount():
            self.skipTest("mounting needs root or user namespaces")
        header = tarfile.TarInfo("a.jpg")
        header.size = 50 << 20
        with gzip.open(self.folder / "x.tar.gz", "wb", 1) as bomb:
            bomb.write(header.tobuf())
            for _ in range(50):
                bomb.write(bytes(1 << 20))
        disk = self.folder / "disk"
        disk.mkdir()
        from program import PROGRAMS

        script = (
            f"mount -t tmpfs -o size=40m none {disk} && {PROGRAMS}/shardctl reshard {self.folder}/x.tar.gz {disk}/out;"
            f" code=$?; find {disk} -type f; exit $code"
        )
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=120)
        self.assert_error(done, 5, "x.tar.gz", "byte 0", "free")
        self.assertEqual(done.stdout, "")

    def test_the_room_for_all_sets_is_checked_before_the_first_shard(self):
        if not can_mount():
            self.skipTest("mounting needs root or user namespaces")
        from program import PROGRAMS

        files = [(f"s{i:03}.jpg", os.urandom(100_000)) for i in range(120)]  # 12 MB, packed and unpacked alike
        write_tar(self.folder / "x.tar", files)
        write_tar(self.folder / "y.tar.gz", files[:60], "w:gz")
        disk = self.folder / "disk"
        disk.mkdir()
        beside = ["the shards need 5", "in addition to the 5", "of unpacked inputs"]
        for operand, megabytes, option, texts in [
            ("x.tar", 9, "", ["the shards need 11"]),  # one of the two sets alone would fit
            ("x.tar", 9, "--dry-run", ["the shards need 11"]),
            ("y.tar.gz", 10, "", beside),
            ("y.tar.gz", 10, "--dry-run", beside),
            ("y.tar.gz", 4, "", ["1 compressed input cannot be unpacked"]),
        ]:
            script = (
                f"mount -t tmpfs -o size={megabytes}m none {disk} && {PROGRAMS}/shardctl reshard {self.folder}/{operand} "
                f"{disk}/out --split a=0.5,b=0.5 {option}; code=$?; find {disk} -name '*.tar*'; exit $code"
            )
            done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=120)
            with self.subTest(operand, megabytes=megabytes, option=option):
                self.assert_error(done, 5, "free", *texts)
                self.assertEqual(done.stdout, "")

    def test_truncated_gzip_is_refused_with_its_name(self):
        write_tar(self.folder / "x.tar.gz", self.samples(50), "w:gz")
        content = (self.folder / "x.tar.gz").read_bytes()
        (self.folder / "x.tar.gz").write_bytes(content[: len(content) // 2])
        self.refused(4, "x.tar.gz", "past byte")


class WholeSets(FolderTest):
    """A set that lacks shards is not taken for a whole one."""

    def setUp(self):
        super().setUp()
        self.source, self.shards = self.make_tree(classes=2, per_class=6), self.folder / "shards"

    def assert_refused(self, text):
        for verb in ("reshard", "extract"):
            finished = run("shardctl", verb, self.shards, self.folder / f"out {verb}")
            self.assertEqual(finished.returncode, 4, finished.stderr)
            self.assertIn(text, finished.stderr)
            named = [str(path) for path in self.shards.glob("*.tar")]
            finished = run("shardctl", verb, *named, self.folder / f"out {verb}")
            self.assertEqual(finished.returncode, 0, finished.stderr)

    def test_a_shard_that_the_manifest_lists_is_gone(self):
        self.assertEqual(run("shardctl", "convert", self.source, self.shards, "--samples", 3).returncode, 0)
        (self.shards / "shard-000001.tar").unlink()
        self.assert_refused("the first is 'shard-000001.tar'")
        salvaged = run("shardctl", "reshard", self.shards, self.folder / "rest", "--salvage")
        self.assertEqual(salvaged.returncode, 0, salvaged.stderr)
        self.assertIn("shard-000001.tar", salvaged.stderr)

    def test_a_convert_that_has_not_ended(self):
        finished = run("shardctl", "convert", self.source, self.shards, "--samples", 3, "--part", "0/2")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assert_refused("part 1 of")
        verified = run("shardctl", "verify", self.shards)
        self.assertEqual(verified.returncode, 3, verified.stdout)
        self.assertIn("set_unfinished", verified.stdout)


if __name__ == "__main__":
    unittest.main()
