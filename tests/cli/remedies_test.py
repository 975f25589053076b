"""What messages advise, run word for word: the commands of remedies have to work, with names that a shell would change.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/remedies_test.py
"""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import PROGRAMS, FolderTest, fake_jpeg, result_of, run, tree  # noqa: E402
from tars import write_tar  # noqa: E402

AWKWARD = "it's $HOME {a,b} & more"


class RemedyTest(FolderTest):
    def call(self, *args):
        return run(*args, cwd=self.folder)

    def shardctl(self, *args):
        """The result of a command that ends well."""
        finished = self.call("shardctl", *args, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]

    def shell(self, command):
        """A printed command, typed as it is."""
        environment = {**os.environ, "PATH": f"{PROGRAMS.resolve()}:{os.environ['PATH']}"}
        return subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=120)

    def advised(self, finished, exit_code):
        """The commands between back quotes in a message."""
        self.assertEqual(finished.returncode, exit_code, finished.stderr)
        commands = re.findall(r"`([^`]+)`", " ".join(finished.stderr.split()))
        self.assertTrue(commands, finished.stderr)
        return commands

    def follow(self, command):
        finished = self.shell(command)
        self.assertEqual(finished.returncode, 0, f"{command}\n{finished.stderr}")

    def flip(self, path, offset=1541):  # within the first image of a shard
        content = bytearray(path.read_bytes())
        content[offset] ^= 1
        path.chmod(0o644)
        path.write_bytes(content)

    def serve(self, folder):
        """The URL of a web server of these files."""
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/"

    def write_tar(self, name, files, mode="w"):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_tar(self.folder / name, files, mode=mode, form=tarfile.USTAR_FORMAT)


class LeavingOut(RemedyTest):
    """Images that convert left out, with reasons that do not depend on how the source was named."""

    def setUp(self):
        super().setUp()
        self.make_tree("photos", classes=2, per_class=6)
        (self.folder / "photos/class_0/broken.jpg").symlink_to("nowhere")

    def convert(self, source, target, *options):
        return self.shardctl("convert", source, target, "--on-bad", "skip", *options)

    def records(self, target):
        """Plan, manifest and indexes."""
        return {name: (self.folder / target / name).read_text(errors="replace") for name in tree(self.folder / target)
                if not name.endswith(".tar")}

    def test_images_that_convert_left_out_are_not_missing(self):
        (self.folder / "rows.csv").write_text("path,note\n" + "".join(
            f"class_{c}/img_{i:03}.jpg,n\n" for c in range(2) for i in range(5)))
        (self.folder / "photos/class_1/img_005.jpg").write_bytes(b"")
        for number, options in enumerate((("--validate", "none"), ("--metadata", "rows.csv"))):
            with self.subTest(options):
                left_out = self.convert("photos", f"o{number}", *options)["skipped"]
                self.assertGreaterEqual(left_out, 1)
                finished = self.call("shardctl", "verify", f"o{number}", "--against", "photos", "--json", "-")
                found = {problem["code"] for problem in result_of(finished)["result"]["problems"]}
                # The empty image is left out only for lack of its row.
                self.assertEqual(found, {"image_truncated", "empty_member"} if "none" in options else set())

    def test_images_that_fail_validation_are_not_missing(self):
        self.shardctl("synth", "pictures", "--classes", "2", "--per-class", "4")
        (self.folder / "pictures/n00000000/bad.jpg").write_bytes(b"no image")
        for depth in ("header", "decode"):
            with self.subTest(depth):
                self.assertEqual(self.convert("pictures", depth, "--validate", depth)["skipped"], 1)
                self.assertEqual(self.shardctl("verify", depth, "--against", "pictures")["errors"], 0)

    def test_an_image_that_no_index_names_is_missing(self):
        self.convert("photos", "out")
        shutil.copy(self.folder / "photos/class_0/img_001.jpg", self.folder / "photos/class_0/new.jpg")
        finished = self.call("shardctl", "verify", "out", "--against", "photos", "--json", "-")
        self.assertEqual([(one["code"], one["key"]) for one in result_of(finished)["result"]["problems"]],
                         [("missing_from_shards", "class_0/new.jpg")])

    def test_one_source_by_several_names_is_one_plan(self):
        (self.folder / "photos/class_1/bad.jpg").write_bytes(b"no image")
        options = ("--validate", "header")
        self.shardctl("synth", "photos2", "--classes", "2", "--per-class", "4")
        (self.folder / "photos2/n00000001/bad.jpg").write_bytes(b"no image")
        (self.folder / "photos2/n00000001/broken.jpg").symlink_to("nowhere")
        first = self.convert("photos2", "out", *options)
        before = self.records("out")
        again = self.convert(self.folder / "photos2", "out", *options)
        self.assertEqual((again["shards_written"], again["plan_hash"]), (0, first["plan_hash"]))
        self.convert(f"{self.folder}/./photos2/", "other", *options)
        self.assertEqual(self.records("other"), before)
        for name, text in before.items():
            self.assertNotIn(str(self.folder), text, name)
            self.assertNotIn("photos2", text, name)
            self.assertNotIn("--on-bad", text, name)


class BadFiles(RemedyTest):
    """What convert advises about bad files works on the same target."""

    def setUp(self):
        super().setUp()
        self.source, self.target = f"src {AWKWARD}", f"out {AWKWARD}"
        self.make_tree(self.source)
        self.bad = [f"class_{c}/img_{i:03}.jpg" for c in range(3) for i in (2, 3, 5, 7, 11)]
        self.good = {name: (self.folder / self.source / name).read_bytes() for name in self.bad}
        for name in self.bad:
            (self.folder / self.source / name).write_text("<html>")
        self.command = ("convert", self.source, self.target, "--samples", "10")
        self.refused = self.call("shardctl", *self.command)
        self.before = {path.name: path.stat().st_ino for path in (self.folder / self.target).glob("*.tar")}

    def assert_finished(self, samples):
        """That the same command finds all done, with the shards that were finished before."""
        for name, inode in self.before.items():
            self.assertEqual((self.folder / self.target / name).stat().st_ino, inode)
        self.assertEqual(self.shardctl("verify", self.target, "--against", self.source)["errors"], 0)
        self.assertEqual(self.shardctl("stat", self.target)["samples"], samples)

    def test_row_max_bad(self):
        (command,) = self.advised(self.refused, 4)
        self.assertIn("--max-bad 15", command)
        self.follow(command)
        self.assert_finished(75)

    def test_correcting_them(self):
        self.assertIn("correct or delete these files and run the same command again", self.refused.stderr)
        for name in self.bad:
            (self.folder / self.source / name).write_bytes(self.good[name])
        self.shardctl(*self.command)
        self.assert_finished(90)

    def test_deleting_them(self):
        for name in self.bad:
            (self.folder / self.source / name).unlink()
        self.shardctl(*self.command)
        self.assert_finished(75)

    def test_row_leave_out(self):
        for name in self.bad[:5]:
            (self.folder / self.source / name).write_bytes(self.good[name])
        for name in self.bad[5:10]:
            (self.folder / self.source / name).unlink()
        (command,) = self.advised(self.call("shardctl", *self.command), 4)
        self.assertNotIn("--max-bad", command)
        self.follow(command)
        self.assert_finished(80)

    def test_more_than_may_be_left_out(self):
        refused = self.call("shardctl", *self.command, "--on-bad", "skip")
        self.follow(self.advised(refused, 4)[0])
        self.assert_finished(75)

    def test_a_plan_says_what_to_add(self):
        for number in range(12):
            (self.folder / self.source / f"class_0/link{number}.jpg").symlink_to("nowhere")
        for options in ((), ("--on-bad", "skip")):
            refused = self.call("shardctl", "plan", self.source, "-o", "plan", *options)
            self.assert_error(refused, 4, "link11.jpg", "--on-bad skip --max-bad 12")
        self.shardctl("plan", self.source, "-o", "plan", "--on-bad", "skip", "--max-bad", "12")


class Caching(RemedyTest):
    """Damage in staged folders, and leases in the way."""

    def setUp(self):
        super().setUp()
        self.source = self.folder / f"src {AWKWARD}"
        self.target = self.folder / f"dst {AWKWARD}"
        self.make_tree()
        self.shardctl("convert", "src", self.source, "--samples", "30")

    def damage(self):
        self.flip(next(self.target.glob("*.tar")), 1000)

    def remedies(self):
        finished = self.call("shardctl", "cache", "check", self.target, "--json", "-")
        self.assertEqual(finished.returncode, 3, finished.stderr)
        return result_of(finished)["result"]["remedies"]

    def test_wrong_bytes_are_gone_after_the_commands_in_their_order(self):
        for options in ((), ("--owner", "an other's $job"), ("--lease", "0"), ("--manifest", "none")):
            with self.subTest(options):
                shutil.rmtree(self.target, ignore_errors=True)
                self.shardctl("stage", self.source, self.target, *options)
                self.damage()
                commands = self.remedies()
                self.assertEqual([command.split("#")[0].split()[1] for command in commands][-2:], ["cache", "stage"])
                for command in commands:
                    self.assertIn(self.shell(command).returncode, (0, 3), command)
                self.shardctl("cache", "check", self.target)
                for shard in self.source.glob("*.tar"):
                    self.assertEqual(shard.read_bytes(), (self.target / shard.name).read_bytes())

    def test_a_part_of_a_set_is_not_staged_whole(self):
        self.shardctl("stage", self.source, self.target, "--rank", "0", "--world", "2")
        self.damage()
        self.assertIn("ranks 0-0 of 2", self.remedies()[-1])
        for command in self.remedies():
            self.assertIn(self.shell(command).returncode, (0, 3), command)
        self.shardctl("stage", self.source, self.target, "--rank", "0", "--world", "2")
        self.shardctl("cache", "check", self.target)

    def test_a_lease_of_another_ends_by_the_command_that_the_message_names(self):
        cache = self.folder / "cache"
        self.shardctl("stage", self.source, cache / "first", "--owner", "job 1")
        collect = ("shardctl", "cache", "gc", cache, "--limit", "0")
        self.follow(self.advised(self.call(*collect), 5)[0])
        self.assertEqual(self.call(*collect).returncode, 0)
        self.shardctl("stage", self.source, cache / "first", "--owner", "job 1")
        second = ("shardctl", "stage", self.source, cache / "second", "--cache", cache, "--limit", "500KB")
        self.follow(self.advised(self.call(*second), 5)[0])
        self.assertEqual(self.call(*second).returncode, 0)

    def test_another_set_takes_the_place_of_one_that_a_job_leases(self):
        self.shardctl("convert", "src", "others", "--samples", "20")
        for id, exit_code in (("job 1", 4), ("job 2", 5)):
            with self.subTest(id):
                self.shardctl("stage", self.source, self.target, "--lease-id", "job 1")
                refused = self.call("shardctl", "stage", "others", self.target, "--lease-id", id)
                for command in self.advised(refused, exit_code):
                    self.follow(command)
                self.shardctl("stage", "others", self.target, "--lease", "0")
                self.shardctl("cache", "rm", self.target)

    def test_a_copy_without_dot_files_is_staged_and_says_the_same_twice(self):
        plain = self.folder / "plain"
        shutil.copytree(self.source, plain, ignore=shutil.ignore_patterns(".shardkit"))
        finished = self.call("shardctl", "stage", plain, self.target, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("lacks or denies 3 files", finished.stderr)
        again = self.shardctl("stage", plain, self.target)
        self.assertEqual([result_of(finished)["result"][name] for name in ("files", "bytes")],
                         [again[name] for name in ("files", "bytes")])
        self.assertEqual(again["bytes_reused"], sum(path.stat().st_size for path in plain.glob("*.tar")))
        self.shardctl("verify", self.target)

    def test_files_and_bytes_are_those_of_the_set_each_time(self):
        self.shardctl("index", self.source, "--dali", "--wids")
        first, second = (self.shardctl("stage", self.source, self.target) for _ in range(2))
        self.assertEqual((first["files"], first["bytes"]), (second["files"], second["bytes"]))
        self.assertEqual(second["bytes_fetched"], 0)

    def test_a_folder_that_is_called_like_a_shard_is_no_shard(self):
        (self.folder / "tree/x.tar").mkdir(parents=True)
        (self.folder / "tree/x.tar/1.jpg").write_bytes(b"1")
        finished = self.call("shardctl", "stage", "tree", "copy")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertNotIn("does not belong to the set", finished.stderr)

    def test_a_web_folder_with_a_manifest_is_staged_without_manifest_none(self):
        url = self.serve(self.source)
        finished = self.call("shardctl", "stage", url, self.target, "--manifest", "none")
        self.assert_error(finished, 2, "--manifest none", "manifest.json")
        self.assertNotIn("Put a manifest.json", finished.stderr)


    def test_a_source_that_lost_bytes_or_a_shard_is_shown_by_verify_and_salvaged_by_reshard(self):
        faults = {"changed": self.flip, "cut": lambda path: (path.chmod(0o644), os.truncate(path, 5000)),
                  "missing": pathlib.Path.unlink}
        for name, damage in faults.items():
            with self.subTest(name):
                source = self.folder / f"{name} {AWKWARD}"
                self.shardctl("convert", "src", source, "--samples", "5")
                shard = next(source.glob("*.tar"))
                damage(shard)
                refused = self.call("shardctl", "stage", source, f"{name} refused")
                verify, salvage = self.advised(refused, 4)
                self.assertIn(shard.name, refused.stderr)
                self.assertEqual(self.shell(verify).returncode, 3)
                self.follow(salvage.replace("OUT", f"'{name} sound'"))
                self.shardctl("stage", f"{name} sound", f"{name} staged")

    def test_a_folder_of_shards_is_not_converted_but_checked_indexed_or_resharded(self):
        for name, verbs in (("set", ["verify", "reshard"]), ("tars", ["verify", "index", "reshard"])):
            folder = self.folder / f"{name} {AWKWARD}"
            folder.mkdir()
            for path in (*self.source.glob("*.tar"), *(self.source.glob("*.json") if name == "set" else ())):
                shutil.copy(path, folder)
            commands = self.advised(self.call("shardctl", "convert", folder, "again"), 4)
            self.assertEqual([command.split()[1] for command in commands], verbs)
            for command in commands:
                self.follow(command.replace("OUT", f"'{name} again'"))


class Extracting(RemedyTest):
    def test_two_samples_of_one_name_are_both_extracted(self):
        for name in ("one", "two"):
            self.make_tree(name, classes=2, per_class=3)
            self.shardctl("convert", name, f"{name} {AWKWARD}")
        result = self.shardctl("extract", f"one {AWKWARD}", f"two {AWKWARD}", "out")
        self.assertEqual((result["files_written"], result["files_renamed"]), (12, 6))
        contents = [path.read_bytes() for name in ("one", "two") for path in (self.folder / name).rglob("*.jpg")]
        self.assertEqual(sorted(contents), sorted(path.read_bytes() for path in (self.folder / "out").rglob("*.jpg")))

    def test_the_same_content_twice_is_one_file(self):
        for name in ("a", "b"):
            self.write_tar(f"x/{name}.tar", [("1.jpg", fake_jpeg(b"a")), ("1.cls", b"0")])
        self.assertEqual(self.shardctl("extract", "x", "out")["files_kept"], 1)


class Indexing(RemedyTest):
    def setUp(self):
        super().setUp()
        self.make_tree()
        self.set = self.folder / f"set {AWKWARD}"
        self.shardctl("convert", "src", self.set, "--samples", "30")

    def test_a_set_without_its_manifest_is_indexed_after_one_command(self):
        (self.set / "manifest.json").unlink()
        for options in ((), ("--dali",)):
            finished = self.call("shardctl", "index", self.set, *options)
        self.assertIn("manifest.json is missing", finished.stderr)
        self.assertNotIn("--dali", finished.stderr)
        self.follow(self.advised(finished, 4)[0])
        self.shardctl("index", self.set, "--dali")
        self.shardctl("verify", self.set)

    def test_a_tar_too_many_is_named_and_one_command_gives_up_the_rest(self):
        self.write_tar(self.set / "zz.tar", [("z.jpg", fake_jpeg(b"z")), ("z.cls", b"0")])
        finished = self.call("shardctl", "index", self.set, "--dali")
        self.assertIn("'zz.tar'", finished.stderr)
        self.follow(self.advised(finished, 4)[0])
        self.assertEqual(self.shardctl("index", self.set, "--dali")["shards"], 4)


class Merging(RemedyTest):
    def test_row_merge(self):
        self.make_tree()
        target = f"sets {AWKWARD}"
        for part in ("0/2", "1/2"):
            self.shardctl("convert", "src", target, "--split", "a=0.5,b=0.5", "--samples", "10", "--part", part)
        commands = self.advised(self.call("shardctl", "merge", target), 4)
        self.assertEqual(len(commands), 2)
        for command in commands:
            self.follow(command)
        for name in ("a", "b"):
            self.assertEqual(self.shardctl("verify", self.folder / target / name)["errors"], 0)

    def test_parts_of_another_division_do_not_matter(self):
        self.make_tree()
        for part in ("0/2", "1/3", "1/2"):
            self.shardctl("convert", "src", "set", "--samples", "10", "--part", part)
        unfinished = self.call("shardctl", "verify", "set", "--json", "-")
        self.assertEqual(unfinished.returncode, 3)
        (problem,) = result_of(unfinished)["result"]["problems"]
        self.assertEqual(problem["code"], "set_unfinished")
        self.assertIn("are not joined", problem["text"])
        self.shardctl("merge", "set")
        self.assertEqual(self.shardctl("verify", "set")["errors"], 0)
        self.assertEqual(list((self.folder / "set/.shardkit").glob("part-*")), [])

    def test_parts_of_several_divisions_of_which_none_is_complete(self):
        self.make_tree()
        for part in ("0/2", "1/3"):
            self.shardctl("convert", "src", "set", "--samples", "10", "--part", part)
        self.assert_error(self.call("shardctl", "merge", "set"), 4, "run the other parts of one")
        self.shardctl("convert", "src", "set", "--samples", "10", "--part", "1/2")
        self.shardctl("merge", "set")

    def test_shards_of_others_are_indexed_instead(self):
        self.write_tar(f"x {AWKWARD}/a.tar", [("a.jpg", fake_jpeg(b"a")), ("a.cls", b"0")])
        command, = self.advised(self.call("shardctl", "merge", f"x {AWKWARD}"), 4)
        self.follow(command)
        self.assertTrue((self.folder / f"x {AWKWARD}/manifest.json").exists())


class Dividing(RemedyTest):
    def setUp(self):
        super().setUp()
        self.make_tree("tv/train", classes=3, per_class=10)
        self.make_tree("tv/val", classes=2, per_class=10)

    def test_a_split_of_a_plan_is_made_of_the_finished_set(self):
        self.shardctl("plan", "tv/train", "-o", "plan")
        target = f"set {AWKWARD}"
        refused = self.call("shardctl", "convert", "tv/train", target, "--plan", "plan", "--split", "a=0.5,b=0.5")
        self.assertIn("leave out --plan", refused.stderr)
        self.shardctl("convert", "tv/train", target, "--plan", "plan")
        self.follow(self.advised(refused, 2)[0])
        self.assertTrue((self.folder / "OUT/a/manifest.json").exists())

    def test_row_convert(self):
        refused = self.call("shardctl", "plan", "tv", "-o", "plan", "--samples", "5")
        whole, one = self.advised(refused, 2)
        self.follow(whole)
        self.assertTrue((self.folder / "DST/val/manifest.json").exists())
        (self.folder / "FILE").write_text("class_0\nclass_1\nclass_2\n")
        self.follow(one)

    test_row_plan = test_row_convert  # its second command


class SetsAsClasses(RemedyTest):
    """Sources with folders that are named as sets, which convert and plan refuse: their commands, typed as they are."""

    def setUp(self):
        super().setUp()
        self.source = f"photos {AWKWARD}"

    def make(self, *files):
        for name in files:
            path = self.folder / self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(fake_jpeg(name.encode()))

    def refused(self):
        """The commands of the refusal, which is that of plan, too."""
        commands = self.advised(self.call("shardctl", "convert", self.source, "DST"), 2)
        self.assertEqual(self.advised(self.call("shardctl", "plan", self.source, "-o", "PLAN"), 2), commands)
        self.assertFalse((self.folder / "DST").exists())
        return commands

    def labels(self):
        """The label of each image that was converted, by its path."""
        rows = self.shardctl("ls", "DST")["rows"]
        shutil.rmtree(self.folder / "DST")
        return {row["key"]: row["label"] for row in rows if row["name"].endswith(".jpg")}

    def test_images_without_class_folders(self):
        self.make("train2017/1.jpg", "train2017/2.jpg", "val2017/3.jpg")
        (self.folder / self.source / "annotations").mkdir()
        (self.folder / self.source / "annotations/instances.json").write_text("{}")
        unlabeled, listed, *_ = self.refused()
        self.follow(unlabeled)
        self.assertEqual(self.labels(), {"1": None, "2": None})
        (self.folder / "FILE.csv").write_text("path,NAME\n1.jpg,dog\n2.jpg,cat\n")
        self.follow(listed)
        self.assertEqual(self.labels(), {"cat/2": 0, "dog/1": 1})

    def test_images_with_the_class_in_their_names(self):
        self.make(*(f"train/{name}.{number}.jpg" for name in ("cat", "dog") for number in range(2)))
        _, listed, *_ = self.refused()
        (self.folder / "FILE.csv").write_text("path,NAME\n" + "".join(
            f"{path.name},{path.name.partition('.')[0]}\n" for path in (self.folder / self.source / "train").iterdir()))
        self.follow(listed)
        self.assertEqual(sorted(self.labels().values()), [0, 0, 1, 1])

    def test_row_list_classes(self):
        for others in (("train/stray.jpg", "val/stray.jpg"), ("val/stray.jpg",), ("extra/1.jpg",)):
            with self.subTest(others):
                shutil.rmtree(self.folder / self.source, ignore_errors=True)
                self.make("train/cat/1.jpg", "train/dog/2.jpg", "val/dog/3.jpg", *others)
                classes, convert, *_ = self.refused()
                self.follow(classes)
                self.follow(convert)
                self.assertEqual(self.labels(), {"cat/1": 0, "dog/2": 1})
                self.follow(convert.replace("/train", "/val"))
                self.assertEqual(self.labels(), {"dog/3": 1})

    def test_one_set_is_converted_alone(self):
        self.make("train/cat/1.jpg", "train/dog/2.jpg")
        self.follow(self.refused()[0])
        self.assertEqual(self.labels(), {"cat/1": 0, "dog/2": 1})

    def test_a_class_that_is_named_as_a_set_needs_a_class_map(self):
        self.make("bus/1.jpg", "train/2.jpg", "truck/3.jpg", ".hidden/4.jpg")
        *_, classes, convert = self.refused()
        self.follow(classes)
        self.follow(convert)
        self.assertEqual(self.labels(), {"bus/1": 0, "train/2": 1, "truck/3": 2})

    def test_the_advice_without_a_command_works_too(self):
        self.make("train/cat/1.jpg", "train/dog/2.jpg", "val/cat/3.jpg", "train/stray.jpg", "extra/4.jpg")
        for stands_in_the_way in ("extra", "train/stray.jpg"):
            refused = self.call("shardctl", "convert", self.source, "DST")
            self.assertIn(stands_in_the_way, " ".join(refused.stderr.split()))
            (self.folder / self.source / stands_in_the_way).rename(self.folder / pathlib.Path(stands_in_the_way).name)
        self.shardctl("convert", self.source, "DST")
        self.assertEqual(sorted(path.parent.name for path in (self.folder / "DST").glob("*/manifest.json")), ["train", "val"])

    def test_a_rename_that_makes_two_members_one_is_to_be_left_out(self):
        self.write_tar("y/a.tar", [("a.jpg", fake_jpeg(b"1")), ("a.png", fake_jpeg(b"2"))])
        self.assert_error(self.call("shardctl", "reshard", "y", "out", "--rename", "jpg=png"), 4, "leave out that --rename")


class Table(RemedyTest):
    """Walks the table of lib/core/remedies.cpp: a test for each row, here or in the classes above, provokes the message,
    runs its command as it is printed, and ends with what verify or cache check calls sound."""

    def setUp(self):
        super().setUp()
        self.shards = f"shards {AWKWARD}"

    def sound(self, *shards):
        finished = self.call("shardctl", "verify", *shards, "--strict")
        self.assertEqual(finished.returncode, 0, finished.stdout + finished.stderr)

    def found(self, *args):
        """What verify advises for shards that are not sound."""
        finished = self.call("shardctl", "verify", *args, "--json", "-")
        self.assertIn(finished.returncode, (0, 3), finished.stderr)
        return result_of(finished)["result"]["remedies"]

    def samples(self, *numbers, image="image"):
        return [(f"{n:03}.{extension}", content) for n in numbers
                for extension, content in (("cls", b"%d" % (n % 2)), ("jpg", fake_jpeg(f"{image} {n}".encode())))]

    def write_shards(self, **files):
        for name, content in files.items():
            self.write_tar(f"{self.shards}/{name}.tar", content)

    def cut(self, name="a", length=3000):
        path = self.folder / self.shards / f"{name}.tar"
        path.write_bytes(path.read_bytes()[:length])

    def test_every_row_has_a_test(self):
        source = (pathlib.Path(__file__).resolve().parents[2] / "lib/core/remedies.cpp").read_text()
        rows = re.findall(r'Row\{"(\w+)", "', source)
        self.assertGreater(len(rows), 15)
        cases = RemedyTest.__subclasses__()
        self.assertEqual([row for row in rows if not any(hasattr(case, f"test_row_{row}") for case in cases)], [])

    def follow_all(self, remedies):
        self.assertTrue(remedies)
        for command in remedies:
            self.assertNotIn("?...", command)
            self.follow(command)

    def test_row_reshard(self):
        self.write_shards(a=[("x y.JPG", fake_jpeg(b"1")), ("x y.cls", b"0"), ("z.jpg", fake_jpeg(b"2")), ("z.cls", b"1")])
        self.follow_all(self.found(self.shards))
        self.sound("OUT")

    def test_row_reshard_puts_scattered_members_together(self):
        self.write_shards(a=sorted(self.samples(1, 2, 3), key=lambda file: file[0][-3:]))
        self.follow_all(self.found(self.shards))
        self.sound("OUT")

    def test_row_reshard_unpacks_what_is_compressed(self):
        self.write_shards(a=self.samples(1, 2))
        import gzip
        path = self.folder / self.shards / "a.tar"
        path.write_bytes(gzip.compress(path.read_bytes()))
        self.follow_all(self.found(self.shards))
        self.sound("OUT")
        shutil.rmtree(self.folder / "OUT")
        path.rename(path.with_suffix(".tar.gz"))
        self.follow(self.advised(self.call("shardctl", "stat", self.shards), 4)[0])
        self.sound("OUT")

    def test_row_salvage(self):
        self.write_shards(a=self.samples(*range(8)), b=self.samples(*range(8, 12)))
        self.cut()
        self.follow_all(self.found(self.shards))
        self.sound("OUT")
        self.follow(self.advised(self.call("shardctl", "reshard", self.shards, f"new {AWKWARD}"), 4)[0]
                    if b"image" in (self.folder / self.shards / "a.tar").read_bytes()[-200:] else "true")
        for length in (0, 100, 2600):
            self.write_shards(a=self.samples(*range(8)))
            self.cut(length=length)
            shutil.rmtree(self.folder / "OUT")
            self.follow_all(self.found(self.shards))
            self.sound("OUT")

    def test_row_salvage_of_a_compressed_tar_that_is_cut(self):
        noise = [(f"{n:03}.{extension}", content) for n in range(9)
                 for extension, content in (("cls", b"0"), ("jpg", fake_jpeg(os.urandom(50_000))))]
        self.write_tar(f"{self.shards}/a.tar.gz", noise, mode="w:gz")
        path = self.folder / self.shards / "a.tar.gz"
        path.write_bytes(path.read_bytes()[:300_000])
        target = f"new {AWKWARD}"
        self.follow(self.advised(self.call("shardctl", "reshard", self.shards, target), 4)[0])
        self.sound(target)
        self.assertGreater(self.shardctl("stat", target)["samples"], 3)

    def test_row_shards(self):
        self.write_shards(a=[(f"x {name}", content) for name, content in self.samples(*range(12))],
                          b=self.samples(*range(12, 24)))
        (command,) = self.found(self.shards)
        self.assertIn("--shards 2", command)
        self.follow(command)
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["shards"], 2)

    def test_shards_without_a_sample_get_no_command_that_would_fail(self):
        self.write_shards(a=[])
        (advice,) = self.found(self.shards)
        self.assertTrue(advice.startswith("#"), advice)

    def test_row_mark_duplicates(self):
        one, two = self.samples(1, 2), self.samples(1, 2, image="other")
        for number, shards in enumerate(({"a": one, "b": two}, {"a": one + two},
                                         {"a": one + [("003.jpg", fake_jpeg(b"1")), ("003.JPG", fake_jpeg(b"2")), ("003.cls", b"0")]})):
            with self.subTest(shards):
                shutil.rmtree(self.folder / self.shards, ignore_errors=True)
                shutil.rmtree(self.folder / "OUT", ignore_errors=True)
                self.write_shards(**shards)
                remedies = self.found(self.shards)
                self.follow_all([remedy.replace("--salvage", "") for remedy in remedies])
                finished = self.call("shardctl", "verify", "OUT")
                self.assertEqual(finished.returncode, 0, finished.stdout)
                target = f"again {number} {AWKWARD}"
                self.follow(self.advised(self.call("shardctl", "reshard", self.shards, target, "--shuffle", "1"), 4)[0])
                self.assertEqual(self.call("shardctl", "verify", target).returncode, 0)

    def test_row_drop_bad(self):
        self.shardctl("synth", "photos", "--classes", "2", "--per-class", "3")
        (self.folder / "photos/n00000001/bad.jpg").write_bytes(b"no image")
        self.shardctl("convert", "photos", self.shards, "--validate", "none")
        self.follow_all(self.found(self.shards, "--depth", "decode"))
        self.assertEqual(self.call("shardctl", "verify", "OUT", "--depth", "decode", "--strict").returncode, 0)

    def test_row_merge_classes(self):
        for name, first in (("pets", "cat"), ("farm", "ant")):
            self.make_tree(name, classes=2, per_class=4)
            (self.folder / name / "class_0").rename(self.folder / name / first)
            self.shardctl("convert", name, f"{name} {AWKWARD}")
        target = f"merged {AWKWARD}"
        refused = self.call("shardctl", "reshard", f"pets {AWKWARD}", f"farm {AWKWARD}", target, "--shuffle", "7",
                            "--mark-duplicates")
        self.follow(self.advised(refused, 4)[0])
        self.sound(target)
        classes = json.loads((self.folder / target / "manifest.json").read_text())["classes"]
        self.assertEqual([one["name"] for one in classes], ["ant", "cat", "class_1"])

    def test_row_rename(self):
        self.write_tar(f"{self.shards}/a.tar", [("a.cls", b"0"), ("a.jpg", fake_jpeg(b"1")), (f"a.{'x' * 70}", b"2")])
        target = f"new {AWKWARD}"
        self.follow(self.advised(self.call("shardctl", "reshard", self.shards, target), 4)[0])
        self.sound(target)

    def test_row_multiple_of(self):
        self.write_shards(a=self.samples(*range(8)))
        refused = self.call("shardctl", "stage", self.shards, "node", "--rank", "1", "--world", "2")
        self.follow(self.advised(refused, 2)[0])
        self.sound("OUT")
        self.shardctl("stage", "OUT", "node", "--rank", "1", "--world", "2")
        self.sound("node")

    def test_row_index(self):
        self.write_shards(a=self.samples(1, 2))
        self.follow(self.advised(self.call("shardctl", "verify", self.shards, "--depth", "checksum"), 4)[0])
        self.sound(self.shards, "--depth", "checksum")

    def test_row_index_reader(self):
        self.write_shards(a=self.samples(1, 2), b=self.samples(3, 4))
        self.shardctl("index", self.shards, "--wids")
        path = self.folder / self.shards / "shardindex.json"
        path.write_text(path.read_text().replace('"nsamples": 2', '"nsamples": 3').replace('"nsamples":2', '"nsamples":3'))
        self.follow_all(self.found(self.shards))
        self.sound(self.shards)

    def converted(self):
        self.make_tree()
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        return sorted((self.folder / self.shards).glob("*.tar"))

    def test_row_verify(self):
        self.flip(self.converted()[0])
        verify, salvage, forget = self.advised(self.call("shardctl", "reshard", self.shards, "out"), 4)
        self.assertEqual(self.shell(verify).returncode, 3)
        self.follow(salvage)
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 89)
        self.follow(forget)
        self.shardctl("reshard", self.shards, "whole")
        self.sound("whole")

    def test_row_salvage_of_a_cut_and_a_changed_shard(self):
        changed, cut, _ = self.converted()
        self.flip(changed)
        self.follow_all(self.found(self.shards))
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 89)
        shutil.rmtree(self.folder / "OUT")
        cut.chmod(0o644)
        cut.write_bytes(cut.read_bytes()[:20000])
        self.follow_all(self.found(self.shards))
        self.sound("OUT")

    def test_changed_headers_are_written_again(self):
        self.flip(self.converted()[0], offset=100)  # the mode; its checksum is wrong, too
        self.follow_all(self.found(self.shards))
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 90)

    def test_a_changed_shard_without_an_index_has_to_come_from_elsewhere(self):
        path = self.converted()[0]
        good = path.read_bytes()
        shutil.rmtree(self.folder / self.shards / ".shardkit")
        self.flip(path)
        (advice,) = self.found(self.shards)
        self.assertTrue(advice.startswith("# restore"), advice)
        self.assert_error(self.call("shardctl", "extract", self.shards, "back"), 4, path.name, "differs from its manifest")
        self.assertFalse((self.folder / "back").exists())
        refused = self.call("shardctl", "reshard", self.shards, f"new {AWKWARD}")
        self.assert_error(refused, 4, path.name, "differs from its manifest", "restore it from a copy")
        forget, salvage = self.advised(refused, 4)
        self.follow(salvage)
        self.sound(f"new {AWKWARD}")
        path.write_bytes(good)
        self.shardctl("reshard", self.shards, "whole")
        self.shardctl("extract", self.shards, "back")
        self.flip(path)
        self.follow(forget)
        self.shardctl("index", self.shards)
        self.sound(self.shards)

    def test_row_rename_of_members_without_an_extension(self):
        self.write_shards(a=[(name, content) for n in range(3)
                             for name, content in ((f"{n}.cls", b"%d" % n), (f"{n}", fake_jpeg(b"image")))])
        (command,) = self.found(self.shards)
        self.assertIn("--rename =jpg", command)
        self.assertNotIn("--drop-bad", command)
        self.follow(command)
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 3)

    def test_texts_that_are_data_are_no_orphans(self):
        for number in range(4):
            path = self.folder / f"texts/c{number % 2}/{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("once upon a time")
        self.shardctl("convert", "texts", self.shards, "--primary", "txt")
        self.sound(self.shards)
        self.shardctl("reshard", self.shards, "OUT", "--drop-bad")
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 4)

    def test_row_list(self):
        self.write_shards(a=self.samples(1, 2))
        refused = self.call("shardctl", "cat", self.shards, "nothing")
        for command in self.advised(refused, 4) if "`" in refused.stderr else [f"shardctl ls '{'x'}'"][:0]:
            self.assertIn("001", self.shell(command).stdout)
        self.write_tar("empty/a.tar", [("README", b"1")])
        self.follow(self.advised(self.call("shardctl", "reshard", "empty", "out"), 4)[0])

    def test_row_index_replace(self):
        self.make_tree()
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        (self.folder / self.shards / "manifest.json").unlink()
        self.follow(self.advised(self.call("shardctl", "index", self.shards), 4)[0])
        self.assertEqual(list((self.folder / self.shards / ".shardkit").glob("plan*")), [])
        self.sound(self.shards)

    def test_discarding_an_unfinished_append(self):
        self.make_tree()
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        before = tree(self.folder / self.shards)
        (self.folder / "src/class_0/new.jpg").write_bytes(fake_jpeg(b"new"))
        (self.folder / "src/class_0/bad.jpg").write_bytes(b"<html>")
        append = ("convert", "src", self.shards, "--samples", "30", "--append")
        self.assertEqual(self.call("shardctl", *append).returncode, 4)
        (self.folder / "src/class_0/bad.jpg").unlink()
        (self.folder / "src/class_0/new.jpg").unlink()
        (self.folder / "src/class_1/other.jpg").write_bytes(fake_jpeg(b"other"))
        refused = self.call("shardctl", *append)
        self.assert_error(refused, 4, "is not finished", "add --discard to this command")
        self.shardctl(*append, "--discard")
        self.sound(self.shards)
        after = tree(self.folder / self.shards)
        self.assertTrue(set(before) <= set(after))
        self.assertEqual(self.shardctl("stat", self.shards)["samples"], 91)

    def test_an_unfinished_append_is_not_staged_until_its_command_has_finished_it(self):
        self.make_tree()
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        (self.folder / "src/class_0/new.jpg").write_bytes(fake_jpeg(b"new"))
        append = ("convert", "src", self.shards, "--samples", "30", "--append")
        self.shardctl(*append, "--part", "0/2")
        for options in ((), ("--rank", "0", "--world", "1"), ("--dry-run",)):
            refused = self.call("shardctl", "stage", self.shards, "copy", *options)
            self.assert_error(refused, 4, "has not finished: run it again", "name the shards")
        url = self.serve(self.folder / self.shards)
        self.assert_error(self.call("shardctl", "stage", url, "copy"), 4, "has not finished: run it again")
        self.shardctl(*append)
        for number, source in enumerate((self.shards, url)):
            self.shardctl("stage", source, f"copy{number}")
            self.sound(f"copy{number}")

    def test_a_damaged_plan_of_a_finished_set(self):
        self.make_tree()
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        plan = self.folder / self.shards / ".shardkit/plan"
        for offset in (3, plan.stat().st_size // 2):
            with self.subTest(offset):
                self.flip(plan, offset)
                (command,) = self.found(self.shards)
                self.follow(command)
                self.sound("OUT")
                append = ("convert", "src", self.shards, "--samples", "30", "--append")
                self.assert_error(self.call("shardctl", *append), 4, "plan", "restore it", "into an empty folder")
                self.shardctl(*append[:2], f"empty{offset}", *append[3:])  # the remedy
                self.flip(plan, offset)
                shutil.rmtree(self.folder / "OUT")
        self.sound(self.shards)

    def test_a_damaged_plan_of_an_unfinished_append(self):
        self.make_tree()
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        (self.folder / "src/class_0/new.jpg").write_bytes(fake_jpeg(b"new"))
        append = ("convert", "src", self.shards, "--samples", "30", "--append")
        self.shardctl(*append, "--part", "0/2")
        plan = self.folder / self.shards / ".shardkit/plan-1"
        self.flip(plan, plan.stat().st_size // 2)
        self.assert_error(self.call("shardctl", *append), 4, "plan-1", "add --discard to this command")
        self.shardctl(*append, "--discard")
        self.sound(self.shards)
        self.assertEqual(self.shardctl("stat", self.shards)["samples"], 91)

    def staged(self):
        self.write_shards(a=self.samples(1, 2), b=self.samples(3, 4))
        self.shardctl("index", self.shards)
        self.shardctl("stage", self.shards, f"cache/set {AWKWARD}", "--owner", "another's job")
        return self.folder / f"cache/set {AWKWARD}"

    def test_row_merge_classes_for_labels_that_conflict(self):
        for name, classes in (("a", ("cat", "dog")), ("b", ("dog",))):
            for label in classes:
                path = self.folder / f"src_{name}/{label}/{name}.jpg"
                path.parent.mkdir(parents=True)
                path.write_bytes(fake_jpeg(name.encode()))
            self.shardctl("convert", f"src_{name}", f"{self.shards} {name}")
        both = [f"{self.shards} a", f"{self.shards} b"]
        finished = self.call("shardctl", "verify", *both, "--json", "-")
        self.assertEqual(finished.returncode, 3)
        result = result_of(finished)["result"]
        (problem,) = result["problems"]
        self.assertEqual(problem["code"], "label_conflict")
        for part in ("label 0 is 'cat'", "but 'dog'", *both):
            self.assertIn(part, problem["text"])
        self.follow(result["remedies"][0])
        self.sound("OUT")
        (self.folder / "classes.txt").write_text("cat\ndog\n")
        self.shardctl("convert", "src_b", "mapped", "--class-map", "classes.txt")
        checked = self.shardctl("verify", both[0], "mapped")["checked"]
        self.assertIn("manifests of 2 folders: the same classes and labels", checked)

    def test_one_class_with_two_labels_is_a_conflict_too(self):
        for name, labels in (("a", "cat\nx\n"), ("b", "y\nz\ncat\n")):
            (self.folder / f"src_{name}/cat").mkdir(parents=True)
            (self.folder / f"src_{name}/cat/{name}.jpg").write_bytes(fake_jpeg())
            (self.folder / f"{name}.txt").write_text(labels)
            self.shardctl("convert", f"src_{name}", f"set_{name}", "--class-map", f"{name}.txt")
        for verb, code in (("verify", 3), ("reshard", 4)):
            finished = self.call("shardctl", verb, "set_a", "set_b", *(["OUT"] if verb == "reshard" else []))
            self.assertEqual(finished.returncode, code, finished.stderr)
            self.assertIn("label", finished.stdout + finished.stderr)

    def test_an_unfinished_set_is_not_made_whole_by_index(self):
        self.make_tree()
        self.shardctl("convert", "src", self.shards, "--samples", "30", "--part", "0/2")
        refused = self.call("shardctl", "index", self.shards)
        self.assertEqual(refused.returncode, 4)
        self.assertIn("has not finished", refused.stderr)
        self.assertEqual(self.call("shardctl", "index", self.shards, "--output", "other").returncode, 4)
        for tar in (self.folder / self.shards).glob("*.tar"):
            tar.unlink()
        self.assertEqual(self.call("shardctl", "verify", self.shards).returncode, 3)

    def test_files_that_convert_left_out_are_not_missing_after_a_reshard(self):
        self.make_tree("photos", classes=2, per_class=6)
        (self.folder / "photos/class_0/broken.jpg").symlink_to("nowhere")
        (self.folder / "photos/class_1/empty.jpg").write_bytes(b"")
        self.shardctl("convert", "photos", self.shards, "--on-bad", "skip")
        result = self.shardctl("reshard", self.shards, "OUT")
        self.assertEqual((result["samples"], result["dropped"]), (12, 0))
        self.shardctl("reshard", "OUT", "halves", "--split", "a=0.5,b=0.5")
        for folders in (["OUT"], ["halves/a", "halves/b"]):
            checked = self.shardctl("verify", *folders, "--against", "photos")["checked"]
            self.assertIn("members and labels against 12 images in 'photos'; without 2 files that convert left out",
                          checked)

    def test_row_release(self):
        self.staged()
        collect = ("shardctl", "cache", "gc", "cache", "--limit", "0")
        self.follow(self.advised(self.call(*collect), 5)[0])
        self.assertEqual(self.call(*collect).returncode, 0)

    def test_row_move_away(self):
        shard = self.converted()[1]
        for name in ("0 copy", "z copy"):
            with self.subTest(name):
                shutil.copy(shard, shard.with_name(f"{name}.tar"))
                (command,) = self.found(self.shards)
                self.follow(command)
                self.sound(self.shards)
                self.assertEqual((self.folder / f"EXTRA/{name}.tar").read_bytes(), shard.read_bytes())

    def test_a_shard_of_something_else_is_moved_away_and_not_written_into_the_set(self):
        shards = self.converted()
        with tarfile.open(shards[0].with_name("foreign.tar"), "w") as foreign:
            foreign.add(self.folder / "src", "src")
        (command,) = self.found(self.shards)
        self.follow(command)
        self.sound(self.shards)

    def test_row_reshard_writes_indexes_again(self):
        shards = self.converted()
        indexes = [shard.with_name(".shardkit") / f"{shard.name}.index" for shard in shards]
        for damage in (lambda: shutil.copy(indexes[0], indexes[1]), lambda: indexes[1].write_text("no index")):
            shutil.rmtree(self.folder / "OUT", ignore_errors=True)
            damage()
            self.follow_all(self.found(self.shards))
            self.sound("OUT")
            self.assertEqual(self.shardctl("stat", "OUT")["samples"], 90)

    def test_a_set_without_its_manifest_and_a_shard_is_finished_by_its_command(self):
        shard = self.converted()[1]
        content = shard.read_bytes()
        shard.unlink()
        (self.folder / self.shards / "manifest.json").unlink()
        (advice,) = self.found(self.shards)
        self.assertIn("run the command that writes this set again", advice)
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        self.sound(self.shards)
        self.assertEqual(shard.read_bytes(), content)

    def test_what_no_command_repairs_is_said(self):
        image = fake_jpeg()
        self.write_shards(a=[("0.jpg", image), ("0.cls", b"0"), ("1.jpg", image), ("1.cls", b"cat"), ("2.jpg", image)])
        (advice,) = self.found(self.shards)
        self.assertIn("no command repairs bad_label, missing_label: correct the source", advice)

    def test_row_evict(self):
        target = self.staged()
        self.shardctl("cache", "release", target, "--all")
        self.write_tar("other/c.tar", self.samples(5))
        self.follow(self.advised(self.call("shardctl", "stage", "other", target), 4)[0])
        self.shardctl("stage", "other", target)
        self.shardctl("cache", "check", target)

    def test_row_check_repair(self):
        target = self.staged()
        self.flip(target / "a.tar", 600)
        finished = self.call("shardctl", "cache", "check", target, "--json", "-")
        for command in result_of(finished)["result"]["remedies"]:
            self.assertIn(self.shell(command).returncode, (0, 3), command)
        self.shardctl("cache", "check", target)
        self.sound(target)

    test_row_stage = test_row_check_repair  # its last command

    def test_row_stage_in_cache(self):
        target = self.staged()
        (target / "a.tar").unlink()
        finished = self.call("shardctl", "cache", "check", target.parent, "--json", "-")
        remedies = [line for line in result_of(finished)["result"]["remedies"] if "--cache" in line]
        self.assertEqual(len(remedies), 1)
        for command in result_of(finished)["result"]["remedies"]:
            self.assertIn(self.shell(command).returncode, (0, 3), command)
        self.sound(target)

    def test_row_stage_by_size(self):
        self.write_shards(a=self.samples(1, 2))
        target = self.folder / f"node {AWKWARD}"
        self.shardctl("stage", self.shards, target, "--manifest", "none", "--lease", "0")
        (target / "a.tar").unlink()
        finished = self.call("shardctl", "cache", "check", target, "--json", "-")
        for command in result_of(finished)["result"]["remedies"]:
            self.assertIn("--manifest none", command)
            self.follow(command)
        self.shardctl("cache", "check", target)

    def test_addresses_with_a_query_are_not_printed_as_if_they_could_be_pasted(self):
        self.write_tar("web/a.tar", [("x y.jpg", fake_jpeg(b"1")), ("x y.cls", b"0")])
        url = self.serve(self.folder / "web") + "a.tar?signature=secret"
        remedies = self.found(url, "--strict")
        self.assertTrue(remedies)
        for command in remedies:
            self.assertNotIn("?...", command)
            self.assertNotIn("secret", command)
            self.follow(command.replace("SHARDS", f"'{url}'"))
        self.sound("OUT")


class Measuring(RemedyTest):
    def test_what_read_advises_about_shards(self):
        shards = f"shards {AWKWARD}"
        self.write_tar(f"{shards}/a.tar", [(f"{n:03}.jpg", fake_jpeg(b"image")) for n in range(40)])
        refused = self.call("iobench", "read", shards, "--depth", "4", "--engine", "uring", "--samples", "10")
        self.follow(self.advised(refused, 2)[0])
        self.assertTrue((self.folder / shards / "manifest.json").exists())
        path = self.folder / shards / "a.tar"
        path.write_bytes(path.read_bytes()[:9000])
        (command,) = self.advised(self.call("iobench", "read", shards, "--budget", "1"), 0)
        self.assertEqual(self.shell(command).returncode, 3)

    def test_only_stores_are_said_to_be_measured(self):
        for verb in ("env", "watch"):
            for address in ("file:///tmp", "gs://b/x", "s3://b/x"):
                self.assert_error(self.call("iobench", verb, address), 2, address, "to measure s3:// and http(s)://")


if __name__ == "__main__":
    unittest.main()
