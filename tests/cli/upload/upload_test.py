"""shardctl upload to a real radosgw: sets and files, names, the same command after kills, what it refuses.

The names follow from a fixed seed. With SHARDKIT_SOAK there are 500."""

import functools
import http.server
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from buckets import BucketTest  # noqa: E402
from program import PROGRAMS, SOAK, run, tree  # noqa: E402
from tars import write_tar  # noqa: E402

PART = 5 << 20
# What a shell, a URL, S3, a pattern, an option or a list would read as something else.
AWKWARD = ["a", "Z", "0", "*", "?", "[", "]", "[a]", "{", "}", "{0..2}", "{a,b}", " ", "\t", "%", "%2F", "%20", "+", "#",
           "&", "=", "~", "\u00e9", "e\u0301", "\u65e5\u672c", "\U0001f600", "'", '"', "`", "$", "\\", "..", "-", "--json",
           "|", ";", ":", "::", "@", "^", "!", "(", ")", "<", ">", ",", "_", ".tar", ".json", "s3:", "http:", "x" * 60]


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


def awkward_names(count):
    choices = random.Random(int(os.environ.get("SHARDKIT_SEED", "52")))
    names = set()
    while len(names) < count:
        name = "".join(choices.choice(AWKWARD) for _ in range(choices.randint(1, 6))) + ".tar"
        if not name.startswith(".") and len(name.encode()) < 200:
            names.add(name)
    return sorted(names)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Names(UploadTest):
    def setUp(self):
        super().setUp()
        self.files = self.folder / "names"
        self.files.mkdir()
        self.names = awkward_names(500 if SOAK else 40)
        for number, name in enumerate(self.names):
            write_tar(self.files / name, [(f"{number}.cls", b"1")])

    def assert_each_is_itself(self, address_of, **options):
        """The member of each file is listed, and none of another file."""
        for number, name in enumerate(self.names):
            with self.subTest(name=name):
                listed = run("shardctl", "ls", "--", address_of(name), env=self.env, **options)
                self.assertEqual(listed.returncode, 0, listed.stderr)
                self.assertEqual(listed.stdout.count(".cls"), 1, listed.stdout)
                self.assertIn(f"{number}.cls", listed.stdout)

    def test_a_file_of_any_name_is_what_its_name_means_by_path_key_and_url(self):
        self.uploaded(self.files, "s3://files/names")
        self.assertEqual(self.staged("s3://files/names", "--manifest", "none"), tree(self.files))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=self.files))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.assert_each_is_itself(lambda name: name, cwd=self.files)
        self.assert_each_is_itself(lambda name: self.files / name)
        self.assert_each_is_itself(lambda name: f"s3://files/names/{name}")
        self.assert_each_is_itself(lambda name: f"http://127.0.0.1:{server.server_port}/{urllib.parse.quote(name)}")


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
    unittest.main()
