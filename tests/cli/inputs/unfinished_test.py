"""Sets whose shards are not all there: every verb that reads shards gives one cause the same words, and verify finds it."""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import FolderTest, result_of, run  # noqa: E402

READING = (("stat",), ("ls",), ("cat", "c0/i0.jpg"), ("index",), ("extract", "out"), ("reshard", "out"))


class IncompleteSets(FolderTest):
    def setUp(self):
        super().setUp()
        self.ok("synth", "photos", "--classes", 2, "--per-class", 6)

    def go(self, *words):
        return run("shardctl", *words, cwd=self.folder)

    def ok(self, *words):
        finished = self.go(*words)
        self.assertEqual(finished.returncode, 0, f"{words}: {finished.stderr}")

    def empty(self, name):
        for tar in (self.folder / name).glob("*.tar"):
            tar.unlink()

    def refused_by_all(self, name, words):
        for verb, *operands in READING:
            with self.subTest(verb, name=name):
                finished = self.go(verb, name, *operands)
                self.assertEqual(finished.returncode, 4, finished.stderr)
                self.assertIn(words, finished.stderr)
        self.assertFalse((self.folder / "out").exists())

    def findings(self, *names):
        finished = self.go("verify", *names, "--json", "-")
        self.assertEqual(finished.returncode, 3, finished.stderr)
        result = result_of(finished)["result"]
        return sorted(problem["code"] for problem in result["problems"]), result["remedies"]

    def test_a_set_that_lost_all_shards_misses_each_of_them(self):
        self.ok("convert", "photos", "set", "--samples", 4)
        self.empty("set")
        words = ("3 listed shards of 'set' are missing, the first is 'shard-000000.tar': run the same command that wrote the "
                 "set again, which writes them again")
        self.refused_by_all("set", words)
        for depth in ((), ("--depth", "structure"), ("--depth", "decode")):
            codes, remedies = self.findings("set", *depth)
            self.assertEqual(codes, ["missing_shard"] * 3)
            self.assertEqual(remedies[0], f"# {words}")
        for verb in ("read", "run"):
            finished = run("iobench", verb, "set", cwd=self.folder)
            self.assertEqual(finished.returncode, 4, finished.stderr)
            self.assertIn(words, finished.stderr)
        self.ok("convert", "photos", "set", "--samples", 4)
        self.ok("verify", "set")

    def test_a_staged_set_that_lost_all_shards_is_staged_again_by_what_verify_advises(self):
        self.ok("convert", "photos", "set", "--samples", 4)
        self.ok("stage", "set", "node", "--lease", "0")
        self.empty("node")
        codes, remedies = self.findings("node")
        self.assertEqual(codes, ["missing_shard"] * 3)
        words = "3 listed shards of 'node' are missing, the first is 'shard-000000.tar': run the same stage again"
        self.assertEqual(remedies[0], f"# {words}")
        self.refused_by_all("node", words)
        self.ok("stage", "set", "node", "--lease", "0")
        self.ok("verify", "node")

    def test_cache_check_prints_the_stage_of_a_set_that_lost_all_shards(self):
        self.ok("convert", "photos", "set", "--samples", 4)
        self.ok("stage", "set", "node", "--lease", "0")
        self.empty("node")
        checked = result_of(self.go("cache", "check", "node", "--repair", "--json", "-"))["result"]
        self.assertTrue(checked["remedies"])
        for command in checked["remedies"]:
            self.ok(*command.split("  #")[0].split()[1:])
        self.ok("verify", "node")

    def test_a_convert_that_has_not_finished_is_refused_with_and_without_a_shard(self):
        self.ok("convert", "photos", "half", "--samples", 4)
        (self.folder / "half/manifest.json").unlink()
        (self.folder / "half/shard-000001.tar").unlink()
        words = ("the convert into 'half' has not finished ({} missing): run the same convert again, which continues it, or "
                 "name the shards")
        self.refused_by_all("half", words.format("1 shard is"))
        self.assertEqual(self.findings("half"), (["set_unfinished"], [f"# {words.format('1 shard is')}"]))
        self.ok("stat", "half/*.tar")
        self.empty("half")
        self.refused_by_all("half", words.format("3 shards are"))
        self.assertEqual(self.findings("half"), (["set_unfinished"], [f"# {words.format('3 shards are')}"]))
        self.ok("convert", "photos", "half", "--samples", 4)
        self.ok("verify", "half")

    def test_parts_that_have_not_run_are_named(self):
        self.ok("convert", "photos", "half", "--samples", 4, "--part", "0/3")
        words = ("parts 1-2 of 'half' are missing: `shardctl parts half --missing` lists them: run these parts again, then "
                 "`shardctl merge half`")
        self.refused_by_all("half", words)
        self.assertEqual(self.findings("half"), (["set_unfinished"], [f"# {words}"]))
        self.ok("stat", "half/*.tar")
        self.assertEqual(self.go("parts", "half", "--missing").stdout, "1-2\n")
        for part in (1, 2):
            self.ok("convert", "photos", "half", "--samples", 4, "--part", f"{part}/3")
        self.ok("merge", "half")
        self.ok("verify", "half")

    def test_a_convert_that_was_killed_before_its_plan_is_refused(self):
        self.ok("convert", "photos", "sets/train", "--samples", 4)
        for name in ("begun", "sets/val"):
            (self.folder / name / ".shardkit").mkdir(parents=True)
            (self.folder / name / ".shardkit/0123456789abcdef.run").write_text("{}")
        self.refused_by_all("begun", "the convert into 'begun' has not finished: run the same convert again, which continues it")
        for name in ("begun", "sets"):
            self.assertEqual(self.findings(name)[0], ["set_unfinished"])
            staged = self.go("stage", name, "node", "--lease", "0")
            self.assertEqual(staged.returncode, 4, staged.stderr)
            self.assertIn("has not finished", staged.stderr)

    def test_parts_that_are_not_joined_are_refused_also_by_stage(self):
        for part in range(2):
            self.ok("convert", "photos", "parts", "--samples", 4, "--part", f"{part}/2")
        words = "all shards of 'parts' are there, its manifest is not written: `shardctl merge parts` writes it"
        self.refused_by_all("parts", words)
        self.assertEqual(self.findings("parts"), (["set_unfinished"], [f"# {words}"]))
        staged = self.go("stage", "parts", "node", "--lease", "0")
        self.assertEqual(staged.returncode, 4, staged.stderr)
        self.assertIn("are there, its manifest is not written", staged.stderr)
        self.assertFalse((self.folder / "node").exists())
        self.ok("merge", "parts")
        self.ok("stage", "parts", "node", "--lease", "0")
        self.ok("verify", "node")

    def test_an_upload_that_has_not_finished_is_refused(self):
        self.ok("convert", "photos", "up", "--samples", 4)
        (self.folder / "up/manifest.json").unlink()
        (self.folder / "up/.shardkit/plan").unlink()
        (self.folder / "up/.shardkit/uploads").mkdir()
        (self.folder / "up/.shardkit/uploads/upload.json").write_text("{}")
        words = "the upload into 'up' has not finished: run the same upload again, which continues it"
        self.refused_by_all("up", words)
        self.empty("up")
        self.refused_by_all("up", words)

    def test_shards_that_were_staged_by_name_are_a_part(self):
        self.ok("convert", "photos", "set", "--samples", 4)
        (self.folder / "names.txt").write_text("set/shard-000000.tar\nset/shard-000002.tar\n")
        for number, sources in enumerate((["set/shard-{000000..000001}.tar"], ["names.txt"],
                                          ["set/shard-000001.tar", "set/shard-000002.tar"])):
            self.ok("stage", *sources, f"node{number}", "--lease", "0")
            self.ok("verify", f"node{number}")
            (self.folder / f"node{number}/shard-000002.tar").unlink(missing_ok=True)
        self.assertEqual(self.findings("node1")[0], ["missing_shard"])

    def test_an_empty_manifest_is_not_taken_for_none(self):
        for name in ("set", "sets/train"):
            self.ok("convert", "photos", name, "--samples", 4)
            (self.folder / name / "manifest.json").write_bytes(b"")
        for name in ("set", "sets"):
            staged = self.go("stage", name, "node", "--lease", "0")
            self.assertEqual(staged.returncode, 4, staged.stderr)
            self.assertIn("manifest.json", staged.stderr)

    def test_a_set_without_shards_is_one_of_several(self):
        self.ok("convert", "photos", "whole", "--samples", 4)
        self.ok("convert", "photos", "lost", "--samples", 4)
        self.empty("lost")
        self.assertEqual(self.findings("whole", "lost")[0], ["missing_shard"] * 3)
        self.ok("convert", "photos", "split", "--split", "train=0.5,val=0.5", "--samples", 4, "--part", "0/2")
        for name in ("split/train", "split/val"):
            self.empty(name)
        self.assertEqual(self.findings("split")[0], ["set_unfinished"] * 2)

    def test_a_folder_of_something_else_has_no_shards(self):
        shutil.copytree(self.folder / "photos", self.folder / "other")
        (self.folder / "other/.shardkit").mkdir()
        self.refused_by_all("other", "folder 'other' contains images and no *.tar file")


if __name__ == "__main__":
    unittest.main(verbosity=2)
