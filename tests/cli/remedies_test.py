"""What messages advise, run word for word: the commands of remedies have to work, with names that a shell would change.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/remedies_test.py
"""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import fake_jpeg, fake_png, result_of, tree  # noqa: E402
from remedies import AWKWARD, RemedyTest  # noqa: E402


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

    def test_images_that_fail_validation_are_not_missing(self):
        self.shardctl("synth", "pictures", "--classes", "2", "--per-class", "4")
        (self.folder / "pictures/n00000000/bad.jpg").write_bytes(b"no image")
        for depth in ("header", "decode"):
            with self.subTest(depth):
                self.assertEqual(self.convert("pictures", depth, "--validate", depth)["skipped"], 1)
                self.assertEqual(self.shardctl("verify", depth, "--against", "pictures")["errors"], 0)

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

    def test_row_leave_out(self):
        for name in self.bad[:5]:
            (self.folder / self.source / name).write_bytes(self.good[name])
        for name in self.bad[5:10]:
            (self.folder / self.source / name).unlink()
        (command,) = self.advised(self.call("shardctl", *self.command), 4)
        self.assertNotIn("--max-bad", command)
        self.follow(command)
        self.assert_finished(80)

    def test_a_plan_says_what_to_add(self):
        for number in range(12):
            (self.folder / self.source / f"class_0/link{number}.jpg").symlink_to("nowhere")
        for options in ((), ("--on-bad", "skip")):
            refused = self.call("shardctl", "plan", self.source, "-o", "plan", *options)
            self.assert_error(refused, 4, "link11.jpg", "--on-bad skip --max-bad 12")
        self.shardctl("plan", self.source, "-o", "plan", "--on-bad", "skip", "--max-bad", "12")


class ChangedSource(RemedyTest):
    """A source that is converted again after its files changed: what is advised depends on whether some are gone."""

    def setUp(self):
        super().setUp()
        self.source, self.target = f"src {AWKWARD}", f"out {AWKWARD}"
        self.make_tree(self.source)
        self.first = self.folder / self.source / "class_0/img_003.jpg"
        self.command = ("convert", self.source, self.target, "--samples", "10")
        self.shardctl(*self.command)

    def gone(self):
        self.first.unlink()

    def renamed(self):
        self.first.rename(self.first.with_name("renamed.jpg"))

    def gone_and_many_new(self):
        self.first.unlink()
        for number in range(3):
            self.first.with_name(f"new{number}.jpg").write_bytes(fake_jpeg(b"new"))

    def changed_content(self):
        content = self.first.read_bytes()
        self.first.write_bytes(content.replace(content[3:6], b"new"))
        os.utime(self.first, ns=(0, 0))

    def refused_and_written_elsewhere(self):
        """The refusal; then the target that it advises, where the same command works."""
        before = tree(self.folder / self.target)
        refused = self.call("shardctl", *self.command)
        self.assert_error(refused, 4, "choose an empty folder")
        self.assertEqual(tree(self.folder / self.target), before)
        self.shardctl("convert", self.source, "another", "--samples", "10")
        self.assertEqual(self.shardctl("verify", "another", "--against", self.source)["errors"], 0)
        shutil.rmtree(self.folder / "another")
        return refused.stderr

    def test_files_that_are_gone_are_named_and_not_answered_with_append(self):
        for options in ((), ("--unlabeled",)):
            for change in (self.gone, self.renamed, self.gone_and_many_new):
                with self.subTest(change=change.__name__, options=options):
                    shutil.rmtree(self.folder / self.source)
                    shutil.rmtree(self.folder / self.target)
                    self.make_tree(self.source)
                    self.command = ("convert", self.source, self.target, "--samples", "10", *options)
                    if options:
                        for path in list((self.folder / self.source).glob("*/*.jpg")):
                            path.rename(self.folder / self.source / f"{path.parent.name}_{path.name}")
                        for path in list((self.folder / self.source).glob("*/")):
                            path.rmdir()
                        self.first = self.folder / self.source / "class_0_img_003.jpg"
                    self.shardctl(*self.command)
                    content = self.first.read_bytes()
                    stamp = self.first.stat().st_mtime_ns
                    change()
                    refused = self.call("shardctl", *self.command)
                    self.assert_error(refused, 4, "1 image of the plan is no longer in the source", self.first.name,
                                      "restore", "choose an empty folder")
                    self.assertNotIn("--append", refused.stderr)
                    self.shardctl("convert", self.source, "another", *self.command[3:])
                    shutil.rmtree(self.folder / "another")
                    if change == self.gone:
                        self.first.write_bytes(content)
                        os.utime(self.first, ns=(stamp, stamp))
                        self.shardctl(*self.command)

    def test_files_of_the_same_size_may_differ_only_in_time(self):
        self.changed_content()
        self.assertNotIn("--append", text := self.refused_and_written_elsewhere())
        self.assertIn("if only times differ, add --identity size", text)
        self.shardctl(*self.command, "--identity", "size")


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

    def test_row_check_and_repair(self):
        """Its last command is that of test_row_stage."""
        for options in ((), ("--lease-id", "an other's $job"), ("--lease", "0"), ("--manifest", "none")):
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
        staged = {path.name for path in self.target.glob("*.tar")}
        self.assertIn(" --rank 0 --world 2 ", self.remedies()[-1])
        for command in self.remedies():
            self.assertIn(self.shell(command).returncode, (0, 3), command)
        self.shardctl("cache", "check", self.target)
        self.assertEqual({path.name for path in self.target.glob("*.tar")}, staged)

    def test_row_release(self):
        cache = self.folder / "cache"
        self.shardctl("stage", self.source, cache / "first", "--lease-id", "job 1")
        collect = ("shardctl", "cache", "gc", cache, "--limit", "0")
        self.follow(self.advised(self.call(*collect), 5)[0])
        self.assertEqual(self.call(*collect).returncode, 0)
        self.shardctl("stage", self.source, cache / "first", "--lease-id", "job 1")
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
                *verify, salvage = self.advised(refused, 4)
                self.assertIn(shard.name, refused.stderr)
                for command in verify:
                    self.assertEqual(self.shell(command).returncode, 3)
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


class Swapped(RemedyTest):
    """Operands in the wrong order: the message has the command in the right one, and nothing is written."""

    def setUp(self):
        super().setUp()
        self.images, self.set = f"photos {AWKWARD}", f"set {AWKWARD}"
        self.make_tree(self.images, classes=2, per_class=6)
        self.options = ("--samples", "4", "--no-shuffle")
        self.shardctl("convert", self.images, self.set, *self.options)
        (self.folder / "empty").mkdir()

    def refused(self, *command):
        before = tree(self.folder)
        (advice,) = self.advised(self.call(*command), 2)
        self.assertEqual(tree(self.folder), before)
        return advice

    def test_convert(self):
        for source in ("new", "empty", self.set):
            with self.subTest(source):
                advice = self.refused("shardctl", "convert", source, self.images, *self.options)
                self.follow(advice)
                self.assertEqual(self.shardctl("verify", source, "--against", self.images)["errors"], 0)

    def test_verbs_that_read_shards(self):
        for verb in ("reshard", "stage", "extract"):
            for source in ("new", "empty"):
                with self.subTest(verb=verb, source=source):
                    self.follow(self.refused("shardctl", verb, source, self.set))
                    shutil.rmtree(self.folder / source)
                    (self.folder / "empty").mkdir(exist_ok=True)

    def test_a_copy_is_not_staged_back_to_its_source(self):
        self.shardctl("stage", self.set, "node")
        self.follow(self.refused("shardctl", "stage", "node", self.set))

    def test_a_source_that_is_away_is_not_taken_for_a_target(self):
        self.shardctl("stage", self.set, "node")
        self.shardctl("reshard", self.set, "other")
        (self.folder / self.set).rename(self.folder / "away")
        for verb, target in (("stage", "node"), ("reshard", "other")):
            refused = self.call("shardctl", verb, self.set, target)
            self.assertEqual(refused.returncode, 4, refused.stderr)
            self.assertNotIn("swapped", refused.stderr)

    def test_an_address_as_target(self):
        advice = self.refused("shardctl", "stage", "node", self.serve(self.folder / self.set))
        self.follow(advice)
        self.assertEqual(self.shardctl("verify", "node")["errors"], 0)

    def test_verify_against(self):
        self.follow(self.refused("shardctl", "verify", self.images, "--against", self.set))

    def test_baselines_are_compared_with(self):
        self.assertEqual(self.call("iobench", "read", self.set, "--min-time", "0.01", "--json", "new.json").returncode, 0)
        self.assertEqual(self.call("iobench", "compare", "new.json", "--save-baseline", "base.json").returncode, 0)
        advice = self.refused("iobench", "compare", "new.json", "base.json")
        self.assertIn(self.shell(advice).returncode, (0, 3))


class Indexing(RemedyTest):
    def setUp(self):
        super().setUp()
        self.make_tree()
        self.set = self.folder / f"set {AWKWARD}"
        self.shardctl("convert", "src", self.set, "--samples", "30")

    def test_a_set_without_its_manifest_is_indexed_after_one_command(self):
        manifest = (self.set / "manifest.json").read_bytes()
        (self.set / "manifest.json").unlink()
        for options in ((), ("--dali",), ("--replace",)):
            finished = self.call("shardctl", "index", self.set, *options)
            self.assert_error(finished, 4, "are there, its manifest is not written")
        self.assertNotIn("--dali", finished.stderr)
        (command,) = self.advised(finished, 4)
        self.follow(command)
        self.assertEqual((self.set / "manifest.json").read_bytes(), manifest)
        self.shardctl("index", self.set, "--dali")
        self.shardctl("verify", self.set)

    def test_a_tar_too_many_is_named_and_both_advices_about_it_work(self):
        before = tree(self.set)
        self.write_tar(self.set / "zz.tar", [("z.jpg", fake_jpeg(b"z")), ("z.cls", b"0")])
        finished = self.call("shardctl", "index", self.set, "--dali")
        self.assert_error(finished, 4, "1 tar of", "is not in its manifest, the first is 'zz.tar'",
                          "move it out of the folder, or name listed and extra tars together to reshard")
        self.assertNotIn("`", finished.stderr)
        self.shardctl("reshard", *sorted(self.set.glob("*.tar")), "OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 91)
        (self.set / "zz.tar").rename(self.folder / "zz.tar")
        self.assertEqual(tree(self.set), before)
        self.assertEqual(self.shardctl("index", self.set, "--dali")["shards"], 3)
        self.assertEqual(self.shardctl("verify", self.set)["errors"], 0)


class Merging(RemedyTest):
    def test_row_merge(self):
        self.make_tree()
        target = f"sets {AWKWARD}"
        for part in ("0/2", "1/2"):
            self.shardctl("convert", "src", target, "--split", "a=0.5,b=0.5", "--samples", "10", "--part", part)
        self.assert_error(self.call("shardctl", "stat", target), 4, "has the sets of a split", *self.names(target))
        for name in ("a", "b"):
            (command,) = self.advised(self.call("shardctl", "stat", f"{target}/{name}"), 4)
            self.follow(command)
            self.assertEqual(self.shardctl("verify", f"{target}/{name}")["errors"], 0)

    def names(self, target):
        return [f"'{target}/{name}'" for name in ("a", "b")]

    def test_the_sets_of_a_split_are_merged_by_one_command(self):
        self.make_tree()
        for part in ("0/2", "1/2"):
            self.shardctl("convert", "src", "sets", "--split", "a=0.5,b=0.5", "--samples", "10", "--part", part)
        unfinished = self.call("shardctl", "verify", "sets", "--json", "-")
        self.assertEqual(unfinished.returncode, 3)
        result = result_of(unfinished)["result"]
        self.assertEqual([problem["code"] for problem in result["problems"]], ["set_unfinished"] * 2)
        for name, advice in zip(self.names("sets"), result["remedies"]):
            self.assertIn(f"all shards of {name} are there, its manifest is not written: `shardctl merge {name[1:-1]}`", advice)
        self.assertEqual(self.shardctl("merge", "sets")["samples"], 90)
        self.assertEqual(self.shardctl("verify", "sets")["errors"], 0)

    def test_parts_of_another_division_do_not_matter(self):
        self.make_tree()
        for part in ("0/2", "1/3", "1/2"):
            self.shardctl("convert", "src", "set", "--samples", "10", "--part", part)
        unfinished = self.call("shardctl", "verify", "set", "--json", "-")
        self.assertEqual(unfinished.returncode, 3)
        (problem,) = result_of(unfinished)["result"]["problems"]
        self.assertEqual(problem["code"], "set_unfinished")
        self.assertIn("all shards of 'set' are there, its manifest is not written", problem["text"])
        self.shardctl("merge", "set")
        self.assertEqual(self.shardctl("verify", "set")["errors"], 0)
        self.assertEqual(list((self.folder / "set/.shardkit").glob("part-*")), [])

    def test_parts_of_several_divisions_of_which_none_is_complete(self):
        self.make_tree()
        for part in ("0/2", "1/3"):
            self.shardctl("convert", "src", "set", "--samples", "10", "--part", part)
        refused = self.call("shardctl", "merge", "set")
        self.assert_error(refused, 4, "part 1 of 'set' is missing", "run these parts again")
        self.assertEqual(self.shell(self.advised(refused, 4)[0]).stdout, "1\n")
        self.shardctl("convert", "src", "set", "--samples", "10", "--part", "1/2")
        self.shardctl("merge", "set")

    def test_parts_of_which_none_has_finished_are_named_with_their_bad_files(self):
        self.make_tree()
        bad = [self.folder / "src/class_1" / f"img_{number:03}.jpg" for number in range(2)]
        good = [path.read_bytes() for path in bad]
        for path in bad:
            path.write_text("<html>")
        target = f"set {AWKWARD}"
        convert = ("convert", "src", target, "--samples", "90")
        self.assertEqual(self.call("shardctl", *convert).returncode, 4)
        self.assert_error(self.call("shardctl", "merge", target), 4, "has not finished (1 shard is missing)",
                          "class_1/img_000.jpg", "class_1/img_001.jpg", "run the same convert again, which continues it")
        for path, content in zip(bad, good):
            path.write_bytes(content)
        self.shardctl(*convert)

    def test_row_parts(self):
        self.make_tree()
        (self.folder / "src/class_1/img_000.jpg").write_text("<html>")
        target = f"set {AWKWARD}"
        self.shardctl("plan", "src", "-o", "plan", "--samples", "10", "--parts", "3")
        convert = ("convert", "src", target, "--plan", "plan", "--part")
        failed = [part for part in ("0/3", "1/3", "2/3") if self.call("shardctl", *convert, part).returncode == 4]
        self.assertEqual(len(failed), 1)
        number = failed[0][0]
        refused = self.call("shardctl", "merge", target)
        self.assert_error(refused, 4, f"part {number} of", "is missing", "class_1/img_000.jpg", "--on-bad skip")
        parts, merge = self.advised(refused, 4)
        self.assertEqual(self.shell(parts).stdout, f"{number}\n")
        for name in (self.folder / target / ".shardkit").glob("part-*.json"):
            name.unlink()
        self.assert_error(self.call("shardctl", "merge", target), 4, "1 shard is missing", "class_1/img_000.jpg")
        for part in sorted({"0/3", "1/3", "2/3"} - set(failed)):
            self.shardctl(*convert, part)
        self.assert_error(self.call("shardctl", "merge", target), 4, f"part {number} of", "is missing", "class_1/img_000.jpg")
        self.shardctl(*convert, failed[0], "--on-bad", "skip")
        self.follow(merge)
        self.assertEqual(self.shardctl("verify", target)["samples"], 89)

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
            path.write_bytes((fake_png if name.endswith(".png") else fake_jpeg)(name.encode()))

    def refused(self, several=False):
        """The commands of the refusal, which is that of plan, too, except for `several` sets."""
        commands = self.advised(self.call("shardctl", "convert", self.source, "DST"), 2)
        if not several:
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

    def samples(self):
        """The fields of each sample that was converted, by its set and key."""
        found = {}
        for manifest in (self.folder / "DST").rglob("manifest.json"):
            for row in self.shardctl("ls", manifest.parent)["rows"]:
                key = str((manifest.parent / row["key"]).relative_to(self.folder / "DST"))
                found.setdefault(key, []).append(row["name"].rpartition("/")[2].partition(".")[2])
        shutil.rmtree(self.folder / "DST", ignore_errors=True)
        return {key: " ".join(sorted(fields)) for key, fields in found.items()}

    def test_parts_of_samples_are_put_together_as_the_refusal_says(self):
        for files, expected in (
                ("images/p.jpg images/q.jpg images/r.jpg masks/p.png masks/q.png",
                 {"p": "jpg mask.png", "q": "jpg mask.png", "r": "jpg"}),
                ("img/a/1.jpg img/b/2.jpg labels/a/1.txt labels/b/2.txt", {"a/1": "cls jpg txt", "b/2": "cls jpg txt"}),
                ("images/train/1.jpg images/val/2.jpg labels/train/1.txt labels/val/2.txt",
                 {"train/1": "jpg txt", "val/2": "jpg txt"}),
                ("images/train2017/1.jpg images/val2017/2.jpg labels/train2017/1.txt labels/val2017/2.txt",
                 {"train2017/1": "jpg txt", "val2017/2": "jpg txt"}),
                ("train/images/1.jpg train/labels/1.txt valid/images/2.jpg valid/labels/2.txt",
                 {"train/1": "jpg txt", "valid/2": "jpg txt"}),
                ("train_images/1.jpg train_masks/1_mask.png", {"1": "jpg train-mask.png"}),
                ("JPEGImages/1.jpg Annotations/1.xml SegmentationClass/1.png ImageSets/Main/train.txt",
                 {"1": "jpg segmentation.png xml"}),
                ("images/train/1.jpg images/val/2.jpg", {"train/1": "jpg", "val/2": "jpg"}),
                ("cat/1.jpg cat/1_mask.png dog/2.jpg dog/2_mask.png", {"cat/1": "cls jpg mask.png", "dog/2": "cls jpg mask.png"}),
                ("cat/1_rgb.jpg cat/1_depth.png cat/2_rgb.jpg cat/2_depth.png",
                 {"cat/1_rgb": "cls depth.png jpg", "cat/2_rgb": "cls depth.png jpg"}),
                ("cat/images/1.jpg cat/masks/1.png cat/images/2.jpg cat/masks/2.png",
                 {"cat/images/1": "cls jpg mask.png", "cat/images/2": "cls jpg mask.png"}),
                ("7f/images/7f.jpg 7f/masks/a.png 7f/masks/b.png",
                 {"7f/images/7f": "cls jpg mask.0.png mask.1.png"})):
            with self.subTest(files):
                shutil.rmtree(self.folder / self.source, ignore_errors=True)
                self.make(*files.split())
                commands = [command for command in self.refused(several="valid/2" in expected)
                            if "classes.txt" not in command and "--primary" not in command]
                for command in commands:
                    self.follow(command)
                if "valid/2" in expected:  # "and the same for the other sets"
                    self.follow(commands[0].replace("/train", "/valid"))
                self.assertEqual(self.samples(), expected)

    def test_parts_that_are_classes_or_samples_are_taken_as_the_refusal_says(self):
        for files, labels in (("images/p.jpg images/q.jpg masks/p.png masks/q.png",
                               {"images/p": 0, "images/q": 0, "masks/p": 1, "masks/q": 1}),
                              ("cat/1.jpg cat/1_mask.png cat/2.jpg cat/2_mask.png",
                               {"cat/1": 0, "cat/1_mask": 0, "cat/2": 0, "cat/2_mask": 0})):
            with self.subTest(files):
                shutil.rmtree(self.folder / self.source, ignore_errors=True)
                self.make(*files.split())
                for command in [c for c in self.refused() if "classes.txt" in c or "--primary" in c]:
                    self.follow(command)
                rows = self.shardctl("ls", "DST")["rows"]
                shutil.rmtree(self.folder / "DST")
                self.assertEqual({row["key"]: row["label"] for row in rows}, labels)

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
                (self.folder / "classes.txt").unlink(missing_ok=True)
                self.make("train/cat/1.jpg", "train/dog/2.jpg", "val/dog/3.jpg", *others)
                classes, convert, *_ = self.refused()
                self.follow(classes)
                self.follow(convert)
                self.assertEqual(self.labels(), {"cat/1": 0, "dog/2": 1})
                self.follow(convert.replace("/train", "/val"))
                self.assertEqual(self.labels(), {"dog/3": 1})

    def test_a_list_of_classes_that_is_there_is_not_replaced(self):
        self.make("bus/1.jpg", "train/2.jpg")
        *_, classes, convert = self.refused()
        (self.folder / "classes.txt").write_text("mine\n")
        followed = self.shell(classes)
        self.assertNotEqual(followed.returncode, 0)
        self.assertIn("classes.txt", followed.stderr)
        self.assertEqual((self.folder / "classes.txt").read_text(), "mine\n")

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


class Measuring(RemedyTest):
    def test_what_read_advises_about_shards(self):
        shards = f"shards {AWKWARD}"
        self.write_tar(f"{shards}/a.tar", [(f"{n:03}.jpg", fake_jpeg(b"image")) for n in range(40)])
        refused = self.call("iobench", "read", shards, "--depth", "4", "--engine", "uring", "--samples", "10")
        self.follow(self.advised(refused, 2)[0])
        self.assertTrue((self.folder / shards / "manifest.json").exists())
        path = self.folder / shards / "a.tar"
        path.write_bytes(path.read_bytes()[:9000])
        advised = {command.split()[1]: command for command in self.advised(self.call("iobench", "read", shards, "--budget", "1"), 0)}
        self.assertEqual(self.shell(advised["verify"]).returncode, 3)
        self.follow(advised["reshard"])  # of the state of the set, which lost bytes of a listed shard

    def test_only_stores_are_said_to_be_measured(self):
        for verb in ("env", "watch"):
            for address in ("file:///tmp", "gs://b/x", "s3://b/x"):
                self.assert_error(self.call("iobench", verb, address), 2, address, "to measure s3:// and http(s)://")


if __name__ == "__main__":
    unittest.main()
