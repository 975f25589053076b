"""Our S3 client against a real radosgw: names, pages, multipart objects, versions, refusals."""

import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from radosgw import Radosgw  # noqa: E402
from s3_upload import Uploader  # noqa: E402

ODD_KEYS = [
    "plain", "with blank", " blank first", "blank last ", "plus+plus", "percent%41", "percent%", "100%25", "ünï/çødé", "😀",
    "a=b&c=d", "quote'and\"quote", "~tilde", "/leading", "//leading/twice", "double//slash", "folder/", "a/../b", "./here",
    "../up", "..", "question?mark", "hash#tag", "semi;colon", "at@colon:", "comma,", "star*(paren)!", "back\\slash",
    "<xml>&amp;&lt;", "]]>", "tab\there", "line\nfeed", "carriage\rreturn", "control\x01\x1f", "[brackets]{braces}",
    "pipe|caret^grave`", "$dollar", "+", "%2F", "x" * 1024, "ß" * 512,
]

PAGED = [f"page/é +%&=?<\r\n\x01/{i:05}" for i in range(1100)]


def setUpModule():
    unittest.addModuleCleanup(S3Test.server.stop)
    unittest.addModuleCleanup(S3Test.upload.connection.close)
    S3Test.server.start()
    for bucket in ("odd", "paged", "parts", "dotted.name", "versions"):
        S3Test.upload.request("PUT", bucket)


class S3Test(unittest.TestCase):
    server = Radosgw()
    upload = Uploader(server)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardkit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def probe(self, *arguments, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        keys = {"AWS_ACCESS_KEY_ID": self.server.access_key, "AWS_SECRET_ACCESS_KEY": self.server.secret_key,
                "AWS_ENDPOINT_URL_S3": self.server.endpoint, "HOME": str(self.folder)}
        finished = subprocess.run([os.environ["NET_PROBE"], *map(str, arguments)], capture_output=True, text=True,
                                  timeout=120, env={**clean, **keys, **environment})
        return json.loads(finished.stdout)

    def find(self, bucket, key):
        return self.probe("find", f"s3://{bucket}", key)

    def get(self, bucket, key, offset=0, length="all"):
        target = self.folder / "got"
        self.assertEqual(self.probe("get", f"s3://{bucket}", key, offset, length, target), {"fetched": "whole"}, key)
        return target.read_bytes()

    def listed(self, address):
        listing = self.probe("list", address)
        self.assertNotIn("error", listing)
        listing["keys"] = [urllib.parse.unquote(item["key"]) for item in listing["objects"]]
        return listing


class Names(S3Test):
    def test_objects_of_any_name_are_listed_found_and_read(self):
        for key in ODD_KEYS:
            self.upload.put("odd", key, key.encode() * 3)
        listing = self.listed("s3://odd")
        self.assertEqual(sorted(listing["keys"]), sorted(ODD_KEYS))
        for key, item in zip(listing["keys"], listing["objects"]):
            with self.subTest(key=key):
                content = key.encode() * 3
                found = self.find("odd", key)
                self.assertEqual(urllib.parse.unquote(found["key"]), key)
                self.assertEqual((found["size"], found["version"]), (len(content), item["version"]))
                self.assertEqual(self.get("odd", key), content)
                self.assertEqual(self.get("odd", key, 1, 2), content[1:3])

    def test_folders_may_have_odd_names_too(self):
        for key in ("a +%/1", "a +%/2", "a +%&/3", "b"):
            self.upload.put("dotted.name", key, b"x")
        self.assertEqual(self.listed("s3://dotted.name/a +%/")["keys"], ["1", "2"])
        names = sorted(urllib.parse.unquote(name) for name in self.listed("s3://dotted.name")["names"])
        self.assertEqual(names, ["a +%&/", "a +%/", "b"])

    def test_a_long_listing_comes_in_pages_whose_tokens_are_odd_keys(self):
        for key in PAGED:
            self.upload.put("paged", key, b"")
        listing = self.listed("s3://paged")
        self.assertEqual(listing["keys"], sorted(PAGED, key=str.encode))


class Bytes(S3Test):
    def test_a_multipart_object_reads_whole_and_across_its_parts(self):
        random.seed(5)
        parts = [random.randbytes(5 << 20), random.randbytes(5 << 20), random.randbytes(12345)]
        self.upload.put_parts("parts", "big", parts)
        content = b"".join(parts)
        found = self.find("parts", "big")
        self.assertEqual(found["size"], len(content))
        self.assertTrue(found["version"].endswith('-3"'), found)
        self.assertEqual(hashlib.sha256(self.get("parts", "big")).digest(), hashlib.sha256(content).digest())
        border = 5 << 20
        self.assertEqual(self.get("parts", "big", border - 10, 20), content[border - 10:border + 10])
        self.assertEqual(self.get("parts", "big", len(content) - 1, 1), content[-1:])

    def test_an_empty_object(self):
        self.upload.put("parts", "empty", b"")
        self.assertEqual(self.find("parts", "empty")["size"], 0)
        self.assertEqual(self.get("parts", "empty"), b"")

    def test_of_a_versioned_object_the_newest_is_read(self):
        enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
        self.upload.request("PUT", "versions", "", {"versioning": ""}, enabled)
        self.upload.put("versions", "key", b"old")
        self.upload.put("versions", "key", b"newer")
        self.upload.put("versions", "gone", b"x")
        self.upload.request("DELETE", "versions", "gone")
        self.assertEqual(self.listed("s3://versions")["keys"], ["key"])
        self.assertEqual(self.get("versions", "key"), b"newer")
        self.assertIsNone(self.find("versions", "gone"))


class Refusals(S3Test):
    def error(self, *arguments, **environment):
        return self.probe(*arguments, **environment)["error"]

    def test_what_is_not_there_is_distinguished_from_what_may_not_be_read(self):
        self.upload.put("parts", "private", b"secret")
        self.assertIsNone(self.find("parts", "absent"))
        self.assertEqual(self.error("list", "s3://no-such-bucket")["code"], "not_found")
        self.assertEqual(self.error("list", "s3://parts", NET_PROBE_ANONYMOUS="1")["code"], "denied")
        self.assertEqual(self.error("find", "s3://parts", "private", NET_PROBE_ANONYMOUS="1")["code"], "denied")
        wrong = self.error("find", "s3://parts", "private", AWS_SECRET_ACCESS_KEY="wrong-one")
        self.assertEqual(wrong["code"], "denied")
        self.assertIn("SignatureDoesNotMatch", wrong["text"])
        self.assertNotIn("wrong-one", wrong["text"])

    def test_what_is_public_needs_no_credentials(self):
        self.upload.put("parts", "public", b"for all", {"x-amz-acl": "public-read"})
        target = self.folder / "got"
        self.assertEqual(self.probe("get", "s3://parts", "public", 4, 3, target, NET_PROBE_ANONYMOUS="1"),
                         {"fetched": "whole"})
        self.assertEqual(target.read_bytes(), b"all")


if __name__ == "__main__":
    unittest.main()
