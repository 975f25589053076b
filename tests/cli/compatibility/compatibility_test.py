"""Sets, plans, staged folders and node caches that version 1.0 wrote, used by the programs of this build.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/compatibility/compatibility_test.py
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from fixtures import CompatibilityTest  # noqa: E402
from program import tree  # noqa: E402

INDEXES = ("--index", "dali,wids,energon")


class Converting(CompatibilityTest):
    def test_a_plan_gives_the_same_set(self):
        self.shardctl("convert", "src", "out", "--plan", "set.plan", *INDEXES)
        self.assert_same("out", "set")

    def test_a_plan_of_a_list_gives_the_same_set(self):
        self.shardctl("convert", "pool", "out", "--plan", "listed.plan")
        self.assert_same("out", "listed")

    def test_the_same_options_give_the_same_sets(self):
        self.shardctl("convert", "src", "out", "--samples", "3", *INDEXES)
        self.assert_same("out", "set")

    def test_a_split_is_recognized(self):
        before = tree(self.folder / "split")
        result = self.shardctl("convert", "src", "split", "--split", "train=0.7,val=0.3")
        self.assertEqual((result["shards_written"], result["shards_reused"]), (0, 2))
        self.assertEqual(tree(self.folder / "split"), before)

    def test_a_finished_set_is_recognized(self):
        result = self.shardctl("convert", "src", "set", "--samples", "3", *INDEXES)
        self.assertEqual((result["shards_written"], result["shards_reused"]), (0, 3))

    def test_a_killed_convert_goes_on(self):
        result = self.shardctl("convert", "src", "half-killed", "--samples", "3", *INDEXES)
        self.assertEqual((result["shards_written"], result["shards_reused"]), (2, 1))
        self.assert_same("half-killed", "set")

    def test_the_second_part_joins_the_first(self):
        self.assertEqual(self.program("shardctl", "merge", "half-part").returncode, 4)
        part = ("convert", "src", "half-part", "--plan", "set.plan", *INDEXES)
        self.assertEqual(self.shardctl(*part, "--part", "0/2")["shards_written"], 0)
        self.assertEqual(self.shardctl(*part, "--part", "1/2")["shards_written"], 1)
        self.assertEqual(self.shardctl("merge", "half-part")["parts"], 2)
        self.assert_same("half-part", "set")

    def test_another_option_is_refused(self):
        for target in ("half-killed", "half-part", "set"):
            with self.subTest(target):
                self.assert_refused("convert", "src", target, "--samples", "2", texts=["used --samples 3, but this one asks for --samples 2", "empty folder"])

    def test_another_source_is_refused(self):
        (self.folder / "src/n00000001/n00000001_1.JPEG").unlink()
        self.assert_refused("convert", "src", "half-killed", "--samples", "3", *INDEXES)


class Resharding(CompatibilityTest):
    OPTIONS = ("--shuffle", "7", "--samples", "4")

    def test_the_same_options_give_the_same_set(self):
        self.shardctl("reshard", "set", "out", *self.OPTIONS)
        self.assert_same("out", "resharded")

    def test_a_killed_reshard_goes_on(self):
        self.assertGreater(self.shardctl("reshard", "set", "half-reshard-killed", *self.OPTIONS)["shards_reused"], 0)
        self.assert_same("half-reshard-killed", "resharded")

    def test_the_first_part_joins_the_second(self):
        self.shardctl("reshard", "set", "half-reshard-part", *self.OPTIONS, "--part", "0/2")
        self.assertEqual(self.shardctl("merge", "half-reshard-part")["parts"], 2)
        self.assert_same("half-reshard-part", "resharded")

    def test_another_option_is_refused(self):
        for target in ("half-reshard-killed", "half-reshard-part", "resharded"):
            with self.subTest(target):
                other = ("reshard", "set", target, "--shuffle", "8", "--samples", "4")
                self.assert_refused(*other, texts=["used --shuffle 7, but this one asks for --shuffle 8", "empty folder"])


class Looking(CompatibilityTest):
    def test_sets_are_whole(self):
        for name, images in (("set", 9), ("split/train", 8), ("split/val", 1), ("resharded", 9), ("listed", 3)):
            with self.subTest(name):
                result = self.shardctl("verify", name, "--depth", "decode")
                self.assertEqual((result["errors"], result["images"]), (0, images))

    def test_a_set_is_held_against_its_source(self):
        self.assertEqual(self.shardctl("verify", "set", "--against", "src")["errors"], 0)

    def test_a_changed_byte_is_found_by_the_manifest(self):
        shard = self.folder / "set/shard-000001.tar"
        content = bytearray(shard.read_bytes())
        content[1000] ^= 1
        shard.write_bytes(content)
        self.assertGreater(self.shardctl("verify", "set", exit_code=3)["errors"], 0)

    def test_extract_restores_the_source(self):
        for name in ("set", "resharded"):
            with self.subTest(name):
                self.shardctl("extract", name, f"tree-{name}")
                self.assert_same(f"tree-{name}", "src")

    def test_indexes_of_other_readers_are_right(self):
        before = tree(self.folder / "set")
        self.shardctl("index", "set", "--dali", "--wids", "--energon")
        self.assertEqual(tree(self.folder / "set"), before)


class Staging(CompatibilityTest):
    def assert_holds(self, target, source):
        """That a folder holds what a stage brings of a set, and nothing else but the stage's own records."""
        there, expected = tree(self.folder / target), tree(self.folder / source)
        for name in (".shardkit/plan", *(name for name in list(expected) if name.endswith(".md5"))):
            expected.pop(name, None)
        self.assertEqual({name: content for name, content in there.items() if name in expected}, expected)
        left = {name for name in there if name not in expected}
        self.assertEqual({name for name in left if not name.startswith(".shardkit/")}, set())
        self.assertEqual({name for name in left if name.endswith((".index", ".partial", ".parts"))}, set())
        self.assertEqual(self.shardctl("cache", "check", target)["errors"], 0)

    def test_a_staged_folder_is_left_alone(self):
        def shards():
            return {name: content for name, content in tree(self.folder / "staged").items() if name.endswith(".tar")}

        before = shards()
        self.assert_recognized(self.shardctl("stage", "set", "staged", "--lease", "0"))
        self.assertEqual(shards(), before)
        self.assertEqual(self.shardctl("cache", "check", "staged")["errors"], 0)

    def test_a_killed_stage_goes_on(self):
        before = {path.name for path in (self.folder / "half-staged").glob("*.tar")}
        self.assertEqual(before, {f"shard-00000{i}.tar" for i in range(3)})
        result = self.shardctl("stage", "set", "half-staged", "--lease", "0")
        self.assertGreaterEqual(result["bytes_reused"], sum(p.stat().st_size for p in (self.folder / "set").glob("*.tar")))
        self.assert_holds("half-staged", "set")

    def test_a_stage_that_was_killed_inside_a_file_goes_on_there(self):
        result = self.shardctl("stage", "large", "half-staged-large", "--manifest", "none", "--lease", "0")
        self.assertGreater(result["bytes_reused"], 0)
        self.assertEqual(result["bytes_reused"] + result["bytes_fetched"], 64 << 20)
        self.assertEqual(tree(self.folder / "half-staged-large")["zeros.bin"], tree(self.folder / "large")["zeros.bin"])

    def test_another_set_is_refused_and_the_remedy_works(self):
        other = ("stage", "split/val", "staged", "--lease", "0")
        self.assert_refused(*other, texts=["another set", "shardctl cache gc staged --limit 0"])
        self.shardctl("cache", "gc", "staged", "--limit", "0")
        self.shardctl(*other)
        self.assert_holds("staged", "split/val")

    def test_another_set_takes_the_place_of_a_half_staged_one(self):
        self.shardctl("stage", "split/val", "half-staged", "--lease", "0")
        self.assert_holds("half-staged", "split/val")


class NodeCache(CompatibilityTest):
    def setUp(self):
        super().setUp()
        for lease in (self.folder / "cache/over/.shardkit/leases").glob("*.json"):  # over, whatever this machine's clock says
            record = json.loads(lease.read_text())
            record.update(taken_at="2020-01-01T00:00:00Z", expires_at="2020-01-01T00:00:01Z")
            del record["checksum"]  # it is of the other times
            lease.write_text(json.dumps(record))

    def sets(self):
        """The folders of `cache ls`, by name."""
        return {pathlib.Path(row["path"]).name: row for row in self.shardctl("cache", "ls", "cache")["folders"]}

    def test_sets_and_leases_are_listed(self):
        sets = self.sets()
        self.assertEqual(sorted(sets), ["free", "leased", "over"])
        self.assertEqual({row["state"] for row in sets.values()}, {"complete"})
        text = self.program("shardctl", "cache", "ls", "cache").stdout
        self.assertRegex(text, r"(?m)^  leased by job-1 until 2\d{3}-")
        self.assertRegex(text, r"(?m)^  formerly leased by job-2 until 2020-01-01")
        self.assertEqual(self.shardctl("cache", "check", "cache")["errors"], 0)

    def test_gc_evicts_all_but_the_leased_set(self):
        finished = self.program("shardctl", "cache", "gc", "cache", "--limit", "0")
        self.assert_error(finished, 5, "evicted 2 folders", "leased by job-1", "shardctl cache release")
        self.assertEqual(sorted(self.sets()), ["leased"])

    def test_a_released_set_is_evicted(self):
        self.assertEqual(self.shardctl("cache", "release", "cache", "--lease-id", "job-1")["released"], 1)
        self.shardctl("cache", "gc", "cache", "--limit", "0")
        self.assertEqual(self.sets(), {})

    def test_a_leased_set_is_not_replaced(self):
        finished = self.program("shardctl", "stage", "set", "cache/leased", "--cache", "cache", "--lease", "0")
        self.assert_error(finished, 5, "leased by job-1")
        self.assertEqual(self.shardctl("cache", "check", "cache/leased")["errors"], 0)

    def test_sets_are_recognized(self):
        for source, name, *options in (("split/val", "leased"), ("listed", "over"), ("pool", "free", "--manifest", "none")):
            with self.subTest(name):
                result = self.shardctl("stage", source, f"cache/{name}", "--cache", "cache", "--lease", "0", *options)
                self.assert_recognized(result)


if __name__ == "__main__":
    unittest.main()
