"""Verbs of both programs on shards behind a web server give what they give of the same folder."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from nginx import Nginx  # noqa: E402
from program import PROGRAMS, FolderTest, result_of, run, tree  # noqa: E402

CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith(("SSL_", "CURL_", "AWS_"))}


class UrlTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.images = self.make_tree()
        self.shards = self.folder / "shards"
        self.ok("shardctl", "convert", self.images, self.shards, "--samples", 40)
        server = Nginx(self.folder / "nginx", self.folder)
        self.addCleanup(server.stop)
        self.url = f"{server.url}/shards"
        self.server = server

    def go(self, program, *args, **options):
        return run(program, *args, **{"env": CLEAN, **options})

    def ok(self, *args, **options):
        finished = self.go(*args, **options)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished

    def test_a_set_is_listed_checked_and_summed_up(self):
        self.assertEqual(self.ok("shardctl", "ls", self.url).stdout, self.ok("shardctl", "ls", self.shards).stdout)
        remote, local = (result_of(self.ok("shardctl", "stat", set, "--json", "-")) for set in (self.url, self.shards))
        self.assertEqual(remote["result"], local["result"])
        result = result_of(self.ok("shardctl", "verify", self.url, "--json", "-"))["result"]
        self.assertEqual((result["depth"], result["errors"]), ("checksum", 0))
        self.ok("shardctl", "verify", f"{self.url}/manifest.json", "--against", self.images)

    def test_a_member_is_written_to_standard_output(self):
        name = "class_0/img_001.jpg"
        command = [str(PROGRAMS / "shardctl"), "cat"]
        local = subprocess.run([*command, self.shards, name], capture_output=True, env=CLEAN)
        remote = subprocess.run([*command, self.url, name], capture_output=True, env=CLEAN)
        self.assertEqual((remote.returncode, remote.stdout), (0, local.stdout))

    def test_shards_become_a_tree_other_shards_and_indexes(self):
        for to, source in (("here", self.shards), ("there", self.url)):
            self.ok("shardctl", "extract", source, self.folder / f"tree-{to}")
            self.ok("shardctl", "reshard", source, self.folder / f"again-{to}", "--shuffle", 3)
        self.assertEqual(tree(self.folder / "tree-there"), tree(self.folder / "tree-here"))
        self.assertEqual((self.folder / "again-there/shard-000000.tar").read_bytes(),
                         (self.folder / "again-here/shard-000000.tar").read_bytes())
        self.ok("shardctl", "index", self.url, "--output", self.folder / "indexes", "--dali", "--wids")
        self.assertTrue((self.folder / "indexes/shardindex.json").exists())
        refused = self.go("shardctl", "index", self.url)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--output DIR", refused.stderr)

    def test_a_compressed_tar_is_resharded(self):
        first = sorted(self.shards.glob("*.tar"))[0]
        subprocess.run(["gzip", "-k", first], check=True)
        self.ok("shardctl", "reshard", f"{self.url}/{first.name}.gz", self.folder / "plain")
        self.assertEqual(self.ok("shardctl", "ls", self.folder / "plain").stdout.split(),
                         self.ok("shardctl", "ls", first).stdout.split())

    def test_a_list_may_come_from_standard_input_and_names_may_have_wildcards(self):
        whole = self.ok("shardctl", "ls", self.shards).stdout
        names = "\n".join(f"{self.url}/{path.name}" for path in sorted(self.shards.glob("*.tar")))
        self.assertEqual(self.ok("shardctl", "ls", "-", input=names).stdout, whole)
        self.assertEqual(self.ok("shardctl", "ls", f"{self.shards}/shard-*.tar").stdout, whole)

    def test_files_that_options_name_may_be_at_a_url(self):
        (self.folder / "rows.csv").write_text("path,label\n" + "".join(
            f"{path.relative_to(self.images)},{path.parent.name}\n" for path in sorted(self.images.rglob("*.jpg"))))
        (self.folder / "classes.txt").write_text(
            "".join(f"{path.name}\n" for path in sorted(self.images.iterdir(), reverse=True) if path.is_dir()))
        for to, root in (("a", self.folder), ("b", self.server.url)):
            self.ok("shardctl", "convert", self.images, self.folder / to, "--list", f"{root}/rows.csv",
                    "--label-column", "label", "--class-map", f"{root}/classes.txt", "--metadata", f"{root}/rows.csv")
        self.assertEqual((self.folder / "b/shard-000000.tar").read_bytes(),
                         (self.folder / "a/shard-000000.tar").read_bytes())

    def test_images_behind_http_are_converted_by_a_list_or_a_plan(self):
        rows = self.folder / "rows.csv"
        rows.write_text("path,label\n" + "".join(
            f"{path.relative_to(self.images)},{path.parent.name}\n" for path in sorted(self.images.rglob("*.jpg"))))
        listed = ["--list", rows, "--label-column", "label"]
        away = f"{self.server.url}/{self.images.name}"
        self.ok("shardctl", "convert", self.images, self.folder / "here", *listed, "--samples", 40)
        self.ok("shardctl", "convert", away, self.folder / "there", *listed, "--samples", 40)
        self.ok("shardctl", "plan", away, "-o", self.folder / "plan", *listed, "--samples", 40)
        self.ok("shardctl", "convert", away, self.folder / "planned", "--plan", f"{self.server.url}/plan")
        for name in ("manifest.json", "shard-000000.tar", "shard-000002.tar", ".shardkit/shard-000001.tar.index"):
            for to in ("there", "planned"):
                self.assertEqual((self.folder / to / name).read_bytes(), (self.folder / "here" / name).read_bytes())
        self.ok("shardctl", "verify", self.folder / "here", "--against", away, *listed)
        for verb in (["plan", away, "-o", self.folder / "p"], ["convert", away, self.folder / "no"],
                     ["verify", self.folder / "shards", "--against", away]):
            self.assert_error(self.go("shardctl", *verb), 2, "no listing", "--list FILE")
        (self.images / "class_0/img_001.jpg").write_bytes(b"another")
        self.assert_error(self.go("shardctl", "convert", away, self.folder / "late", "--plan", self.folder / "plan"),
                          4, "/class_0/img_001.jpg' has changed since the plan was made")

    def test_a_set_is_held_against_a_manifest_at_a_url(self):
        staged = self.folder / "staged"
        self.ok("shardctl", "stage", self.url, staged, "--manifest", f"{self.url}/manifest.json")
        self.assertEqual((staged / "shard-000000.tar").read_bytes(), (self.shards / "shard-000000.tar").read_bytes())
        refused = self.go("shardctl", "stage", self.url, self.folder / "x", "--manifest", f"{self.url}/none.json?s=hidden")
        self.assert_error(refused, 4, "/none.json?...")
        self.assertNotIn("hidden", refused.stderr)

    def test_images_are_decoded_and_fed_from_a_url(self):
        self.ok("shardctl", "synth", self.folder / "photos", "--classes", 2, "--per-class", 6)
        self.ok("shardctl", "convert", self.folder / "photos", self.folder / "jpegs", "--samples", 4)
        url = f"{self.server.url}/jpegs"
        for source in (url, f"{url}/manifest.json", f"{url}/shard-{{000000..000002}}.tar"):
            decoded = result_of(self.ok("iobench", "decode", source, "--min-time", "0.1", "--json", "-"))["result"]
            self.assertEqual((decoded["images"], decoded["failures"]["total"]), (12, 0))
        fed = result_of(self.ok("iobench", "pipeline", url, "--batch", 4, "--json", "-"))["result"]
        self.assertGreater(fed["samples_per_second"], 0)
        self.assertEqual(fed["cache"]["residency_before_ratio"], None)
        for verb in ("pipeline", "run"):
            self.assert_error(self.go("iobench", verb, url, "--cache", "cold"), 2, "page cache")
        judged = result_of(self.ok("iobench", "run", url, "--budget", 8, "--json", "-"))["result"]
        self.assertEqual(judged["read"]["store"]["location"], url)
        self.assertGreater(judged["read"]["samples_per_second"], 0)
        self.assertGreater(judged["decode"]["samples_per_second"], 0)
        self.assertEqual([row["stage"] for row in judged["stages"]][:2], ["read", "decode"])

    def test_what_looks_at_this_machine_takes_no_url(self):
        secret = self.url.replace("://", "://me:hidden@") + "?sig=hidden"
        for verb in ("env", "watch", "sweep"):
            refused = self.go("iobench", verb, secret)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertNotIn("hidden", refused.stderr)
            self.assertIn("iobench read", refused.stderr)

    def test_a_wrong_url_ends_with_4_and_names_it(self):
        for verb in ("ls", "stat", "verify"):
            refused = self.go("shardctl", verb, f"{self.server.url}/none/x-{{0..1}}.tar?sig=hidden")
            self.assertEqual(refused.returncode, 4, refused.stderr)
            self.assertIn("/none/x-0.tar?...", refused.stderr)
            self.assertNotIn("hidden", refused.stderr)


if __name__ == "__main__":
    unittest.main()
