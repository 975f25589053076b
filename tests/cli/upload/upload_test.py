"""shardctl upload to a real radosgw: sets and files, the same command after kills, what it refuses."""

import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from buckets import BucketTest  # noqa: E402
from program import PROGRAMS, tree  # noqa: E402
from radosgw import skip_unless_installed  # noqa: E402

PART = 5 << 20


def setUpModule():
    uploader = BucketTest.start_server("sets", "files", "versions")
    enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    uploader.request("PUT", "versions", "", {"versioning": ""}, enabled)
    uploader.connection.close()


class UploadTest(BucketTest):
    def uploaded(self, *args):
        return self.result("upload", *args)

    def refused(self, code, *args, env=None):
        return self.refusal(code, "upload", *args, env=env)

    def make_files(self, *sizes):
        folder = self.folder / "files"
        folder.mkdir()
        for number, size in enumerate(sizes):
            (folder / f"{number}.bin").write_bytes(random.randbytes(size))
        return folder


class Sets(UploadTest):
    def test_a_set_goes_to_a_bucket_and_comes_back(self):
        shards = self.make_shards()
        result = self.uploaded(shards, "s3://sets/train")
        self.assertEqual(result["verified_by"], "md5")
        self.assertEqual(result["bytes_sent"], result["bytes"])
        back = self.staged("s3://sets/train")
        self.assertEqual(back, tree(shards))
        again = self.uploaded(shards, "s3://sets/train")
        self.assertEqual((again["bytes_sent"], again["bytes_reused"]), (0, result["bytes"]))
        self.uploaded(shards, "s3://versions/train")


class Kills(UploadTest):
    def test_the_same_command_after_kills_at_random_times_ends_with_the_same_bytes(self):
        files = self.make_files(*[3 * PART + 12345] * 4, 1000, 0)
        kills = 0
        for _ in range(12):
            process = subprocess.Popen(self.command("upload", files, "s3://files/kills", "--part-size", "5MiB", "-j", "2"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env)
            time.sleep(random.uniform(0.05, 0.6))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.wait()
        self.assertGreater(kills, 0)
        result = self.uploaded(files, "s3://files/kills", "--part-size", "5MiB")
        self.assertEqual(result["bytes"], sum(path.stat().st_size for path in files.iterdir()))
        self.assertEqual(self.staged("s3://files/kills", "--manifest", "none"), tree(files))
        self.assertEqual(self.open_uploads("s3://files/kills"), 0)


class Refusals(UploadTest):
    def test_what_cannot_be_written_is_refused_before_the_first_byte(self):
        files = self.make_files(100)
        self.assertIn("NoSuchBucket", self.refused(4, files, "s3://no-such-bucket/x"))
        wrong = {**self.env, "AWS_SECRET_ACCESS_KEY": "wrong-one"}
        text = self.refused(4, files, "s3://files/x", env=wrong)
        self.assertIn("SignatureDoesNotMatch", text)
        self.assertNotIn("wrong-one", text)
        self.refused(2, files, "s3://")
        self.refused(2, files, str(self.folder / "here"))
        self.refused(2, "s3://files/y", "s3://files/x")
        self.refused(2, files, "s3://files/x", "--part-size", "1MiB")
        self.assertIn("1024 bytes", self.refused(2, files, "s3://files/" + "x" * 1020))

    def test_stage_names_upload_for_a_target_in_a_bucket(self):
        finished = subprocess.run([PROGRAMS / "shardctl", "stage", self.folder, "s3://sets/x"], capture_output=True,
                                  text=True, env=self.env)
        self.assertEqual(finished.returncode, 2)
        self.assertIn("shardctl upload", finished.stderr)


if __name__ == "__main__":
    skip_unless_installed()
    unittest.main()
