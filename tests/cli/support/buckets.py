"""Tests of verbs that write to a bucket, on a real radosgw."""

import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "net/support"))
from program import PROGRAMS, result_of  # noqa: E402
from radosgw import Radosgw  # noqa: E402
from s3_upload import Uploader  # noqa: E402
from staging import StageTest, staged  # noqa: E402

CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith(("SSL_", "CURL_", "AWS_"))}


class BucketTest(StageTest):
    server = Radosgw()

    @classmethod
    def start_server(cls, *buckets):
        unittest.addModuleCleanup(cls.server.stop)
        cls.server.start()
        uploader = Uploader(cls.server)
        for bucket in buckets:
            uploader.request("PUT", bucket)
        return uploader

    def setUp(self):
        super().setUp()
        self.env = {**CLEAN, "AWS_ACCESS_KEY_ID": self.server.access_key, "HOME": str(self.folder),
                    "AWS_SECRET_ACCESS_KEY": self.server.secret_key, "AWS_ENDPOINT_URL_S3": self.server.endpoint}

    def command(self, verb, *args):
        return [str(PROGRAMS / "shardctl"), verb, *map(str, args), "--json", "-"]

    def shardctl(self, verb, *args, env=None):
        return subprocess.run(self.command(verb, *args), capture_output=True, text=True, env=env or self.env,
                              timeout=300)

    def result(self, verb, *args):
        """The result of a command that has to succeed."""
        finished = self.shardctl(verb, *args)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]

    def refusal(self, code, verb, *args, env=None):
        finished = self.shardctl(verb, *args, env=env)
        self.assertEqual(finished.returncode, code, finished.stderr)
        return finished.stderr

    def staged(self, address, *args):
        """The files below an address, as stage brings them here."""
        target = self.folder / f"staged-{time.monotonic_ns()}"
        self.result("stage", address, target, *args)
        return staged(target)

    def open_uploads(self, address):
        """As the server lists them, not as our client does."""
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        uploader = Uploader(self.server)
        text = uploader.request("GET", bucket, "", {"uploads": "", "prefix": prefix})[1]
        uploader.connection.close()
        return text.count(b"<UploadId>")
