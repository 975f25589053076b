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


if __name__ == "__main__":
    unittest.main()
