"""Sets that convert, reshard, merge and index make in a bucket of a real radosgw: the bytes of the same set on disk.

The moments of kills follow from a fixed seed. With SHARDKIT_SOAK there are 100."""

import hashlib
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from buckets import BucketTest  # noqa: E402
from program import SOAK, tree  # noqa: E402
from s3_upload import Uploader  # noqa: E402


def setUpModule():
    BucketTest.start_server("sets").connection.close()


class SetTest(BucketTest):
    def setUp(self):
        super().setUp()
        self.src = self.make_tree(classes=3, per_class=40, size=600_000)

    def made_here(self, folder):
        """The files of a set on disk that stage copies: without its plan and MD5s."""
        return {name: content for name, content in tree(folder).items() if name != ".shardkit/plan" and not name.endswith(".md5")}

    def on_disk(self, *options):
        here = self.folder / "here"
        self.result("convert", self.src, here, "--samples", "40", *options)
        return self.made_here(here)


class Sets(SetTest):
    def test_convert_and_verify(self):
        result = self.result("convert", self.src, "s3://sets/whole/", "--samples", "40", "--index", "wids")
        self.assertEqual(result["manifest"], "s3://sets/whole/manifest.json")
        self.assertEqual(self.staged("s3://sets/whole"), self.on_disk("--index", "wids"))
        self.result("verify", "s3://sets/whole", "--depth", "checksum")
        again = self.result("convert", self.src, "s3://sets/whole", "--samples", "40", "--index", "wids")
        self.assertEqual((again["shards_written"], again["shards_reused"]), (0, 3))
        self.assertEqual(self.open_uploads("s3://sets/whole"), 0)
        for target in ("s3://sets/whole", "s3://sets/whole/new", "s3://sets"):
            self.refusal(2, "reshard", "s3://sets/whole", target)

    def test_a_plan_and_its_parts_need_no_shared_folder(self):
        self.result("plan", self.src, "-o", "s3://sets/plans/train", "--samples", "40")
        again = ("plan", self.src, "-o", "s3://sets/plans/train")
        self.assertIn("other bytes", self.refusal(4, *again, "--samples", "30"))
        self.result(*again, "--samples", "40")
        parted = ("convert", self.src, "s3://sets/parts", "--plan", "s3://sets/plans/train", "--part")
        self.result(*parted, "0/2")
        words = ("part 1 of 's3://sets/parts' is missing: `shardctl parts s3://sets/parts --missing` lists them: run these parts "
                 "again, then `shardctl merge s3://sets/parts`")
        self.assertIn(words, self.refusal(4, "merge", "s3://sets/parts"))
        self.assertEqual(self.result("parts", "s3://sets/parts")["missing_tasks"], "1")
        self.assertIn(words, self.refusal(4, "stage", "s3://sets/parts", self.folder / "early"))
        for verb, *operands in (("stat",), ("ls",), ("index",), ("reshard", self.folder / "early")):
            self.assertIn(words, self.refusal(4, verb, "s3://sets/parts", *operands))
        self.result(*parted, "1/2")
        self.assertIn("its manifest is not written: `shardctl merge s3://sets/parts`", self.refusal(4, "stat", "s3://sets/parts"))
        self.result("merge", "s3://sets/parts")
        self.assertEqual(self.staged("s3://sets/parts"), self.on_disk())

    def test_split_reshard_and_index(self):
        self.result("convert", self.src, "s3://sets/split", "--samples", "20", "--split", "train=0.8", "--split", "val=0.2")
        self.result("reshard", "s3://sets/split/train", "s3://sets/again", "--samples", "30")
        self.result("index", "s3://sets/again", "--wids")
        here = self.folder / "again"
        self.result("reshard", "s3://sets/split/train", here, "--samples", "30")
        self.result("index", here, "--wids")
        self.assertEqual(self.staged("s3://sets/again"), self.made_here(here))
        self.assertIn("s3://sets/again", self.refusal(4, "reshard", here, "s3://sets/again", "--samples", "7"))

    def test_a_set_that_lost_bytes_or_its_manifest_is_repaired_by_its_commands(self):
        convert = ("convert", self.src, "s3://sets/lost", "--samples", "40")
        self.result(*convert)
        expected = self.on_disk()
        self.replace("lost/shard-000001.tar", b"half of it")
        words = "1 listed shard of 's3://sets/lost' is damaged, the first is 'shard-000001.tar': run the same command that wrote"
        for verb, *operands in (("index",), ("reshard", self.folder / "out"), ("stage", self.folder / "out")):
            self.assertIn(words, self.refusal(4, verb, "s3://sets/lost", *operands))
        self.assertFalse((self.folder / "out").exists())
        again = self.result(*convert)
        self.assertEqual((again["shards_written"], again["shards_reused"]), (1, 2))
        self.assertEqual(self.staged("s3://sets/lost"), expected)
        self.replace("lost/manifest.json", b"{")
        self.assertIn("is damaged", advice := self.refusal(4, "stat", "s3://sets/lost"))
        self.assertIn("`shardctl merge s3://sets/lost` writes it from the plans and indexes", advice)
        self.result("merge", "s3://sets/lost")
        self.assertEqual(self.staged("s3://sets/lost"), expected)

    def test_a_shard_of_something_else_is_not_replaced(self):
        content = b"of somebody else"
        self.replace("others/shard-000001.tar", content)
        self.assertIn("has tars without a manifest", self.refusal(4, "convert", self.src, "s3://sets/others", "--samples", "40"))
        self.assertEqual(self.staged("s3://sets/others", "--manifest", "none"),
                         {"shard-000001.tar": hashlib.sha256(content).hexdigest()})

    def replace(self, key, content):
        uploader = Uploader(self.server)
        uploader.request("PUT", "sets", key, body=content)
        uploader.connection.close()

    def test_a_dry_run_writes_nothing(self):
        dry = self.result("convert", self.src, "s3://sets/dry", "--samples", "40", "--dry-run")["dry_run"]
        self.assertEqual((dry["shards"], dry["free_bytes"]), (3, None))
        self.refusal(4, "ls", "s3://sets/dry")


class Kills(SetTest):
    def seconds_of(self, *words):
        began = time.monotonic()
        self.result(*words)
        return time.monotonic() - began

    def test_the_same_command_after_kills_at_random_times_makes_the_set_of_the_disk(self):
        moments = random.Random(17)
        expected = self.on_disk()
        whole = min(self.seconds_of("convert", self.src, f"s3://sets/not-killed-{i}", "--samples", "40") for i in range(3))
        kills = targets = 0
        while kills < (100 if SOAK else 8):
            targets += 1
            target = f"s3://sets/kills-{targets}"
            options = (self.src, target, "--samples", "40")
            killed = True
            while killed:
                process = subprocess.Popen(self.command("convert", *options), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, env=self.env)
                time.sleep(moments.uniform(0.02, 1.5 * whole))
                killed = process.poll() is None
                process.send_signal(signal.SIGKILL)
                kills += killed
                process.wait()
            self.result("convert", *options)
            self.assertEqual(self.staged(target), expected)
            self.assertEqual(self.open_uploads(target), 0)


class Refusals(SetTest):
    def test_targets_that_cannot_be_written_are_refused_before_the_first_byte(self):
        self.assertIn("NoSuchBucket", self.refusal(4, "convert", self.src, "s3://no-such-bucket/x"))
        wrong = {**self.env, "AWS_SECRET_ACCESS_KEY": "wrong-one"}
        self.assertIn("SignatureDoesNotMatch", self.refusal(4, "convert", self.src, "s3://sets/x", env=wrong))
        self.refusal(2, "convert", self.src, "s3://")
        self.refusal(2, "convert", self.src, "https://host/x")
        self.assertIn("--append", self.refusal(2, "convert", self.src, "s3://sets/x", "--append"))
        for prefix in ("s[1]", "s{a,b}", "x.tar", "a//b", "q?x"):
            self.assertIn("choose a prefix", self.refusal(2, "convert", self.src, f"s3://sets/{prefix}"))
        for output in ("s3://sets", "s3://sets/", "s3://sets/x/"):
            self.assertIn("names no object", self.refusal(2, "plan", self.src, "-o", output))
        self.assertIn("1024 bytes", self.refusal(2, "convert", self.src, "s3://sets/" + "x" * 1000))


if __name__ == "__main__":
    unittest.main()
