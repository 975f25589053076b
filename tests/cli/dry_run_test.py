"""--dry-run of convert, reshard and stage: nothing is written, and what is said comes true."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FolderTest, result_of, run, tree  # noqa: E402

NOBODY = 65534


class DryRun(FolderTest):
    def setUp(self):
        super().setUp()
        self.make_tree(classes=2, per_class=10)

    def call(self, *args, code=0):
        finished = run("shardctl", *args, "--json", "-", cwd=self.folder)
        self.assertEqual(finished.returncode, code, finished.stderr)
        return result_of(finished)["result"]

    def dry_run(self, *args):
        before = tree(self.folder)
        folders = {path for path in self.folder.rglob("*")}
        planned = self.call(*args, "--dry-run")["dry_run"]
        self.assertEqual(tree(self.folder), before)
        self.assertEqual({path for path in self.folder.rglob("*")}, folders)
        return planned

    def assert_comes_true(self, target, *args):
        planned = self.dry_run(*args)
        done = self.call(*args)
        self.assertIsNone(done["dry_run"])
        shards = list((self.folder / target).rglob("*.tar"))
        self.assertEqual((planned["shards"], planned["bytes"]), (len(shards), sum(path.stat().st_size for path in shards)))
        self.assertGreater(planned["free_bytes"], planned["bytes"])
        again = self.dry_run(*args)
        self.assertEqual((again["shards"], again["bytes"]), (0, 0))

    def test_convert(self):
        self.assert_comes_true("one", "convert", "src", "one", "--samples", 3)
        self.assert_comes_true("sets", "convert", "src", "sets", "--split", "train=0.5,val=0.5")
        self.call("plan", "src", "-o", "some.plan", "--samples", 4)
        self.assert_comes_true("two", "convert", "src", "two", "--plan", "some.plan")

    def test_convert_counts_the_files_of_other_readers(self):
        for kinds in (("dali",), ("dali", "wids")):
            target = "-".join(kinds)
            args = ("convert", "src", target, "--samples", 5, "--index", ",".join(kinds))
            expected = self.dry_run(*args)
            self.call(*args)
            written = [name for name in tree(self.folder / target) if not name.endswith((".md5", "plan"))]
            self.assertEqual(expected["files"], len(written), written)

    def test_convert_goes_on(self):
        self.call("convert", "src", "out", "--samples", 5)
        for path in (self.folder / "out").glob("*00[13].tar"):
            path.unlink()
        self.assertEqual(self.dry_run("convert", "src", "out", "--samples", 5)["shards"], 2)
        refused = run("shardctl", "convert", "src", "out", "--samples", 6, "--dry-run", cwd=self.folder)
        self.assertEqual(refused.returncode, 4)
        self.assertIn("the earlier run used --samples 5, but this one asks for --samples 6", refused.stderr)

    def test_reshard(self):
        self.call("convert", "src", "shards", "--samples", 3)
        self.assert_comes_true("out", "reshard", "shards", "out", "--shuffle", 1)
        self.assert_comes_true("halves", "reshard", "shards", "halves", "--split", "a=0.5,b=0.5")

    def test_stage(self):
        self.call("convert", "src", "shards", "--samples", 5)
        planned = self.dry_run("stage", "shards", "copy")
        done = self.call("stage", "shards", "copy")
        self.assertEqual((planned["files"], planned["bytes"], planned["shards"]), (done["files"], done["bytes_fetched"], 4))
        next((self.folder / "copy").glob("*.tar")).unlink()
        self.assertEqual(self.dry_run("stage", "shards", "copy")["shards"], 1)

    def test_stage_of_another_set_into_a_staged_folder(self):
        for name, samples in (("one", 5), ("two", 4)):
            self.call("convert", "src", name, "--samples", samples)
        self.call("stage", "one", "node")
        refused = run("shardctl", "stage", "two", "node", "--dry-run", cwd=self.folder)
        again = run("shardctl", "stage", "two", "node", cwd=self.folder)
        self.assertEqual((refused.returncode, refused.stderr), (again.returncode, again.stderr))
        self.assertNotEqual(refused.returncode, 0)

    def test_what_would_fail_fails(self):
        for args, code in ((("convert", "gone", "out"), 4), (("reshard", "gone", "out"), 4), (("stage", "gone", "out"), 4),
                           (("convert", "src", "out", "--samples", 0), 2)):
            with self.subTest(args):
                self.assertEqual(run("shardctl", *args, "--dry-run", cwd=self.folder).returncode, code)
                self.assertFalse((self.folder / "out").exists())

    @unittest.skipIf(os.geteuid() != 0, "needs root to become another user")
    def test_a_target_that_cannot_be_written_fails(self):
        self.call("convert", "src", "shards")
        self.folder.chmod(0o755)
        (self.folder / "shards/.shardkit").chmod(0o755)
        for verb, source in (("convert", "src"), ("reshard", "shards"), ("stage", "shards")):
            with self.subTest(verb):
                refused = run("shardctl", verb, source, "out", "--dry-run", cwd=self.folder, user=NOBODY, group=NOBODY,
                              extra_groups=[])
                self.assertEqual(refused.returncode, 4, refused.stderr)
                self.assertIn("cannot write to '", refused.stderr)


if __name__ == "__main__":
    unittest.main()
