"""shardctl stat as a user and a script see it."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import FolderTest, result_of, run  # noqa: E402
from tars import write_tar  # noqa: E402


class Stat(FolderTest):
    def setUp(self):
        super().setUp()
        self.shards = self.folder / "shards"
        source = self.make_tree(classes=3, per_class=20)
        self.assertEqual(run("shardctl", "convert", source, self.shards, "--samples", 20).returncode, 0)

    def stat(self, *args):
        finished = run("shardctl", "stat", *args, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]

    def test_says_counts_sizes_classes_and_the_buffer(self):
        result = self.stat(self.shards)
        self.assertEqual((result["shards"], result["shards_by_index"], result["samples"], result["members"]),
                         (3, 3, 60, 120))
        self.assertEqual(result["bytes"], sum(path.stat().st_size for path in self.shards.glob("*.tar")))
        self.assertEqual([(row["name"], row["samples"]) for row in result["classes"]],
                         [(f"class_{i}", 20) for i in range(3)])
        self.assertEqual(result["class_balance"]["largest_to_smallest_ratio"], 1)
        self.assertEqual(sum(step["values"] for step in result["sample_size_bytes"]["histogram"]), 60)
        self.assertEqual(result["samples_per_shard"]["median"], 20)
        self.assertEqual(result["shuffle_buffer_samples"], 60)
        self.assertTrue(result["mixed"])

    def test_reads_headers_where_there_are_no_indexes_and_finds_the_same(self):
        with_index = self.stat(self.shards)
        for index in (self.shards / ".shardkit").glob("*.index"):
            index.unlink()
        by_headers = self.stat(self.shards)
        self.assertEqual(by_headers.pop("shards_by_index"), 0)
        with_index.pop("shards_by_index")
        self.assertEqual(by_headers, with_index)

    def test_takes_foreign_shards_with_pax_headers_and_text_labels(self):
        foreign = self.folder / "foreign.tar"
        write_tar(foreign, (("a.jpg", b"i"), ("a.cls", b"dog"), ("b.jpg", b"ii"), ("b.cls", b"4")))
        result = self.stat(foreign)
        self.assertEqual((result["samples"], result["unlabelled"]), (2, 1))
        self.assertEqual(result["classes"], [{"label": 4, "name": "", "samples": 1}])

    def test_the_report_shows_the_buffer_and_the_classes(self):
        finished = run("shardctl", "stat", self.shards)
        self.assertEqual(finished.returncode, 0)
        for words in ("shuffle buffer  60 samples", "class_2", "3.0 classes in a shard"):
            self.assertIn(words, finished.stdout)

    def test_what_is_missing_or_no_tar_is_exit_4(self):
        self.assert_error(run("shardctl", "stat", self.folder / "nowhere"), 4, "nowhere")
        (self.folder / "zip.tar").write_bytes(b"\x1f\x8b\x08" + bytes(600))
        self.assert_error(run("shardctl", "stat", self.folder / "zip.tar"), 4, "zip.tar", "gzip")


if __name__ == "__main__":
    unittest.main()
