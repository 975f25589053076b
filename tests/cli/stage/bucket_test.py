"""shardctl stage from a real radosgw: sets and single objects, odd names by the thousand, refusals, kills, secrets."""

import concurrent.futures
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "net/support"))
from program import PROGRAMS, result_of, tree, wait_until  # noqa: E402
from radosgw import Radosgw  # noqa: E402
from s3_upload import Uploader  # noqa: E402
from staging import StageTest, staged  # noqa: E402

CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith(("SSL_", "CURL_", "AWS_"))}

ODD = ["plain", "with blank", " first", "last ", "plus+", "percent%41", "100%", "a=b&c=d", "hash#tag", "question?",
       "quote'", 'double"quote', "ünï/çødé", "😀", "~", "semi;colon", "at@", "star*", "back\\slash", "<xml>&amp;",
       "tab\there", "line\nfeed", "return\r", "control\x01", "[x]{0..3}", "pipe|", "$(dollar)", "%2F", ".hidden", "..dots", "-dash"]


def setUpModule():
    unittest.addModuleCleanup(BucketTest.server.stop)
    unittest.addModuleCleanup(BucketTest.close_uploaders)
    BucketTest.server.start()
    for bucket in ("sets", "many", "versions"):
        BucketTest.uploader().request("PUT", bucket)


class BucketTest(StageTest):
    server = Radosgw()
    local = threading.local()
    uploaders = []

    @classmethod
    def uploader(cls):
        """This thread's."""
        if not hasattr(cls.local, "uploader"):
            cls.local.uploader = Uploader(cls.server)
            cls.uploaders.append(cls.local.uploader)
        return cls.local.uploader

    @classmethod
    def close_uploaders(cls):
        for uploader in cls.uploaders:
            uploader.connection.close()

    @classmethod
    def upload(cls, bucket, prefix, folder):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                cls.uploader().put(bucket, f"{prefix}/{path.relative_to(folder)}", path.read_bytes())

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.env = {**CLEAN, "AWS_ACCESS_KEY_ID": self.server.access_key, "HOME": str(self.folder),
                    "AWS_SECRET_ACCESS_KEY": self.server.secret_key, "AWS_ENDPOINT_URL_S3": self.server.endpoint}

    def stage(self, *args, **options):
        finished = super().stage(*args, **{"env": self.env, **options})
        self.assert_nowhere(self.server.secret_key, finished, self.out)
        return finished

    def start_stage(self, *args):
        """A stage that is under way: bytes have come."""
        command = [str(PROGRAMS / "shardctl"), "stage", *map(str, args), "--json", "-"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self.addCleanup(process.kill)
        wait_until(lambda: any(path.stat().st_size > 0 for path in self.out.glob(".shardkit/staging/*.partial")), process)
        return process

    def ended(self, process):
        stdout, stderr = process.communicate(timeout=120)
        finished = subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
        self.assert_nowhere(self.server.secret_key, finished, self.out)
        return finished


class Sets(BucketTest):
    def test_a_set_with_its_manifest_is_brought_once_and_for_ranks(self):
        shards = self.make_shards()
        self.upload("sets", "train set/+1", shards)
        result = self.stage_result("s3://sets/train set/+1", self.out)
        self.assertEqual((staged(self.out), result["verified"]), (tree(shards), "checksum"))
        self.assertEqual(self.stage_result("s3://sets/train set/+1/", self.out)["bytes_fetched"], 0)
        self.stage_result("s3://sets/train set/+1", self.folder / "rank", "--rank", 1, "--world", 2)
        self.assertEqual(len(list((self.folder / "rank").glob("*.tar"))), 3)
        pattern = self.stage_result("s3://sets/train set/+1/shard-{000001..000002}.tar", self.folder / "two")
        self.assertEqual(pattern["verified"], "checksum")
        self.assertEqual(tree(self.folder / "two")["shard-000002.tar"], tree(shards)["shard-000002.tar"])

    def test_a_multipart_object_without_manifest_comes_by_ranges_across_its_parts(self):
        random.seed(7)
        parts = [random.randbytes(7_000_000) for _ in range(6)] + [b"last"]
        self.uploader().put_parts("sets", "parts/big.bin", parts)
        result = self.stage_result("s3://sets/parts", self.out)
        self.assertEqual((self.out / "big.bin").read_bytes(), b"".join(parts))
        self.assertEqual((result["verified"], result["bytes_fetched"]), ("size", 42_000_004))
        self.assertIn('-7"', (self.out / ".shardkit/stage.journal").read_text().replace("\\", ""))

    def test_an_object_that_is_overwritten_meanwhile_in_a_bucket_with_versions_is_the_new_one_whole(self):
        enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
        self.uploader().request("PUT", "versions", "", {"versioning": ""}, enabled)
        old, new = (os.urandom(40_000_000) for _ in range(2))
        self.uploader().put("versions", "x/big.bin", old)
        process = self.start_stage("s3://versions/x", self.out, "--concurrency", 1, "--bwlimit", "6MB")
        self.uploader().put("versions", "x/big.bin", new)
        finished = self.ended(process)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual((self.out / "big.bin").read_bytes(), new)
        self.assertEqual(result_of(finished)["result"]["retries"], 1)
        self.assertEqual(self.stage_result("s3://versions/x", self.out)["bytes_fetched"], 0)


class Names(BucketTest):
    def test_ten_thousand_small_objects_of_odd_names(self):
        pairs = itertools.islice(itertools.cycle(itertools.product(ODD, ODD)), 10_000)
        names = [f"{folder}/{name} {i}" for i, (folder, name) in enumerate(pairs)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: self.uploader().put("many", f"all/{name}", name.encode()), names))
        result = self.stage_result("s3://many/all", self.out)
        self.assertEqual(result["files"], len(names))
        wrong = [name for name in names if (self.out / name).read_bytes() != name.encode()]
        self.assertEqual(wrong, [])
        self.assertEqual(len(staged(self.out)), len(names))
        self.assertEqual(self.stage_result("s3://many/all", self.out)["bytes_fetched"], 0)

    def test_keys_that_cannot_be_files_are_refused_by_name_before_anything_is_made(self):
        for number, key in enumerate(("a//b", "a/../b", "./x", "/lead", "x" * 256, "z")):
            self.uploader().put("many", f"bad{number}/{key}", b"x")
        self.uploader().put("many", "bad5/z/below", b"x")
        for number, named in enumerate(("a//b", "a/../b", "./x", "/lead", "x" * 256, "'z'")):
            self.assert_error(self.stage(f"s3://many/bad{number}", self.out), 4, named, "cannot be files")
            self.assertFalse(self.out.exists())

    def test_objects_that_stand_for_folders_are_left_out(self):
        for key in ("", "sub/", "sub/x"):
            self.uploader().put("many", f"consoles/{key}", b"" if key.endswith("/") or not key else b"x")
        self.stage_result("s3://many/consoles", self.out)
        self.assertEqual(list(staged(self.out)), ["sub/x"])


class Refusals(BucketTest):
    def test_wrong_keys_are_exit_4_and_shown_nowhere(self):
        self.uploader().put("sets", "private/x", b"x")
        self.env["AWS_SECRET_ACCESS_KEY"] = "wrong-and-secret"
        finished = self.stage("s3://sets/private", self.out)
        self.assert_error(finished, 4, "SignatureDoesNotMatch", "keys")
        self.assert_nowhere("wrong-and-secret", finished, self.out)
        self.assert_error(self.stage("s3://sets/private", self.out, "--anonymous"), 4, "s3://sets")
        self.env["AWS_ACCESS_KEY_ID"] = "nobody"
        self.assert_error(self.stage("s3://sets/private", self.out), 4, "InvalidAccessKeyId")
        self.assertFalse(self.out.exists())

    def test_a_bucket_a_folder_and_an_object_that_are_not_there_are_exit_4(self):
        for address, named in (("s3://no-such-bucket", "s3://no-such-bucket"), ("s3://no-such-bucket/x", "NoSuchBucket"),
                               ("s3://sets/absent", "s3://sets/absent"), ("s3://sets/absent/", "s3://sets/absent"),
                               ("s3://sets/absent-{0..3}.tar", "s3://sets/absent-"),
                               ("s3://sets/absent.tar", "s3://sets/absent.tar"),
                               ("s3://sets/absent/manifest.json", "s3://sets/absent/manifest.json")):
            with self.subTest(address):
                self.assert_error(self.stage(address, self.out), 4, named)
                self.assertFalse(self.out.exists())


class Stops(BucketTest):
    def test_killed_or_stopped_in_the_middle_the_next_one_goes_on_inside_the_files(self):
        source = self.folder / "files"
        source.mkdir()
        for i in range(2):
            (source / f"{i}.bin").write_bytes(os.urandom(80_000_000))
        self.upload("sets", "stops", source)
        for how, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
            with self.subTest(how):
                process = self.start_stage("s3://sets/stops", self.out, "--bwlimit", "30MB", "--concurrency", 2)
                wait_until(lambda: list(self.out.glob(".shardkit/staging/*.parts")), process)  # what has come is durable
                process.send_signal(how)
                self.assertEqual(self.ended(process).returncode, code)
                self.assertFalse((self.out / ".shardkit/staged.json").exists())
                result = self.stage_result("s3://sets/stops", self.out)
                self.assertEqual(staged(self.out), tree(source))
                self.assertGreater(result["bytes_reused"], 0)
                self.assertEqual(result["bytes_reused"] + result["bytes_fetched"], result["bytes"])
                subprocess.run(["rm", "-rf", str(self.out)], check=True)


if __name__ == "__main__":
    unittest.main()
