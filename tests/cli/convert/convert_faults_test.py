"""shardctl convert under faults: kills, full disks, missing rights, sources that move."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import (  # noqa: E402
    PROGRAMS, SOAK, FolderTest, can_mount, fake_jpeg, fake_png, had_time_to_stop, killed_runs, result_of, run, start, strace, tree,
    wait_until)

NOBODY = 65534


class Answers(FolderTest):
    """What a convert says about sources and options that do not fit together."""

    def setUp(self):
        super().setUp()
        self.src = self.make_tree(classes=2, per_class=4)
        self.out = self.folder / "out"

    def says(self, code, *args):
        """Messages of a convert of the source, on one line."""
        finished = run("shardctl", "convert", "src", *args, cwd=self.folder)
        self.assertEqual(finished.returncode, code, finished.stderr)
        return " ".join((finished.stderr + finished.stdout).split())

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def test_columns_of_a_list_that_no_shard_gets_are_named(self):
        rows = self.write("rows.csv", "path,label,caption\nclass_0/img_000.jpg,1,a\nclass_1/img_000.jpg,2,b\n")
        self.assertIn("will not contain label, caption", self.says(0, "a", "--list", rows))
        self.assertIn("will not contain caption", self.says(0, "b", "--list", rows, "--label-column", "label"))
        self.assertNotIn("will not contain", self.says(0, "c", "--list", rows, "--metadata", rows))
        twice = self.write("twice.csv", "path,caption\nclass_0/img_000.jpg,a\nclass_0/img_000.jpg,b\n")
        self.says(0, "d", "--list", twice, "--metadata", twice)
        self.says(0, "e", "--list", twice)
        self.assertEqual(tree(self.folder / "d")["shard-000000.tar"], tree(self.folder / "e")["shard-000000.tar"])

    def test_rows_with_different_labels_are_named(self):
        rows = self.write("rows.csv", "path,label\nclass_0/img_000.jpg,1\nclass_0/img_000.jpg,2\nclass_1/img_000.jpg,1\n")
        self.assertIn("1 image without a label, because rows of the list disagree: 'class_0/img_000.jpg', lines 2 and 3",
                      self.says(0, "a", "--list", rows, "--label-column", "label"))

    def test_tables_that_do_not_fit_are_refused_once(self):
        rows = self.write("rows.csv", "path,x\nimg_000.jpg,1\nimg_001.jpg,2\n")
        self.assertIn("no row of 'rows.csv' names an image: line 2 is 'img_000.jpg', but images are named as "
                      "'class_0/img_000.jpg'", self.says(4, "a", "--metadata", rows))
        for name, text, exit_code, said in (
                ("s.csv", "path;x\na;1\n", 2, "is separated by ';': write it with commas"),
                ("t.csv", "path\tx\na\t1\n", 2, "name it .tsv"),
                ("bar.csv", "image_name| comment\na.jpg| A dog\n", 2, "is separated by '|': write it with commas"),
                ("hash.csv", "a.jpg#0 A dog\nb.jpg#0 A cat\n", 2, "is separated by '#': write it with commas"),
                ("blank.csv", "000001.jpg -1 1\n000002.jpg 1 -1\n", 2, "is separated by spaces: write it with commas"),
                ("rows.json", '[{"path": "a.jpg"}]', 4, "a JSON array and not COCO: write each of its objects on a line"),
                ("rows.jsonl", '[\n{"path": "a.jpg"}]', 4, "a JSON array; write each of its objects on a line of its own"),
                ("test.json", '{"images": [{"id": 1, "file_name": "a.jpg"}]}', 4, "images without the array 'annotations'"),
                ("lvis.json", '{"images": [{"id": 1, "coco_url": "http://x/a.jpg"}], "annotations": [], "categories": []}', 4,
                 "a coco_url but no 'file_name', as in LVIS"),
                ("urls.csv", "path\nhttp://host/a.jpg\n", 4, "'http://host/a.jpg' is not inside the source")):
            with self.subTest(name):
                self.assertIn(said, self.says(exit_code, "a", "--list", self.write(name, text)))
        self.assertIn("one is 'class_0 0'", self.says(4, "a", "--class-map", self.write("m", "class_0 0\nclass_1 1\n")))

    def test_a_missing_field_names_where_it_was_looked_for(self):
        (self.folder / "masks").mkdir()
        for number in range(3):
            (self.folder / f"masks/img_{number:03}.png").write_bytes(b"x")
        text = self.says(4, "a", "--field", "mask.png=../masks/{stem}.png", "--validate", "none")
        self.assertIn("lacks a required field: mask.png (looked for '../masks/img_003.png')", text)

    def test_sets_without_some_class_are_named_once(self):
        for number in range(12):
            (self.src / f"rare_{number}").mkdir()
            (self.src / f"rare_{number}/x.jpg").write_bytes(fake_jpeg(b"%d" % number))
        split = ("--split", "train=0.5,val=0.5")
        self.assertIn("'val' has no sample of 12 of the 14 classes", self.says(0, "a", *split))
        self.assertNotIn("has no sample of", self.says(0, "a", *split))
        self.assertNotIn("has no sample of", self.says(0, "a", *split, "--append"))
        self.assertIn("repeat its --split train=0.5,val=0.5", self.says(4, "a", "--append"))
        self.assertIn("each class has only one group", self.says(4, "b", *split, "--group-by", "dir"))
        self.assertIn("a ratio is a number above 0", self.says(2, "b", "--split", "train=1.0,val=0"))

    def test_files_that_are_not_taken_are_named(self):
        (self.src / "class_0/note.txt").write_text("x")
        (self.src / "class_0/link.jpg").symlink_to("nowhere")
        text = self.says(0, "a", "--on-bad", "skip")
        self.assertIn("1 file outside of samples ignored: 1 .txt ('class_0/note.txt')", text)
        self.assertIn("1 source file left out of the shards: 'class_0/link.jpg'", text)
        self.assertIn("has an extension of --primary (mp3); found .jpg, .txt", self.says(4, "b", "--primary", "mp3"))

    def test_a_photo_that_is_cut_anywhere_never_passes_in_silence(self):
        photos = self.folder / "photos"
        run("shardctl", "synth", photos, "--classes", "2", "--per-class", "2")
        victim = next(photos.rglob("*.JPEG"))
        whole = victim.read_bytes()
        for size in (1, 9_000, len(whole) - 2000):
            with self.subTest(size):
                victim.write_bytes(whole[:size])
                for validate in ((), ("--validate", "header"), ("--validate", "decode")):
                    refused = run("shardctl", "convert", photos, self.folder / "refused", *validate)
                    self.assert_error(refused, 4, victim.name)
                    shutil.rmtree(self.folder / "refused")
                unchecked = self.folder / f"unchecked-{size}"
                self.assertEqual(run("shardctl", "convert", photos, unchecked, "--validate", "none").returncode, 0)
                verified = run("shardctl", "verify", unchecked, "--json", "-")
                self.assertEqual(verified.returncode, 3)
                (problem,) = result_of(verified)["result"]["problems"]
                self.assertIn(problem["code"], ("image_not_an_image", "image_truncated"))
                self.assertIn(victim.stem, problem["key"])

    def test_a_photo_with_another_end_that_readers_accept_is_named(self):
        photos = self.folder / "photos"
        run("shardctl", "synth", photos, "--classes", "2", "--per-class", "2")
        victim = next(photos.rglob("*.JPEG"))
        whole = victim.read_bytes()
        for number, (content, code) in enumerate(((whole[:-2] + b"\xff\xd0", "image_damaged"), (whole + b"more", "image_data_after_end"))):
            victim.write_bytes(content)
            out = self.folder / f"out-{number}"
            (accepted,) = result_of(run("shardctl", "convert", photos, out, "--json", "-"))["result"]["accepted"]
            self.assertEqual(accepted, {"code": code, "images": 1, "paths": [str(victim.relative_to(photos))]})
            self.assertEqual(run("shardctl", "verify", out).returncode, 0)
            self.assertEqual(run("shardctl", "verify", out, "--strict").returncode, 3)


class Kills(FolderTest):
    def test_killed_at_any_step_the_next_run_ends_with_the_same_bytes(self):
        src = self.make_tree(classes=8, per_class=50, size=60_000)
        options = ["--samples", "20", "--index", "dali,wids,energon", "--threads", "2", "--quiet"]
        self.assertEqual(run("shardctl", "convert", src, self.folder / "expected", *options).returncode, 0)
        expected = tree(self.folder / "expected")
        out = self.folder / "out"
        for _ in killed_runs(50 if SOAK else 12, 5, lambda: shutil.rmtree(out), "convert", src, out, *options):
            for name, content in tree(out).items():
                if not pathlib.Path(name).name.startswith(".") and not name.endswith(".run"):
                    self.assertEqual(content, expected[name], name)
        self.assertEqual(run("shardctl", "convert", src, out, *options).returncode, 0)
        self.assertEqual(tree(out), expected)

    def test_sigterm_ends_it_with_143_and_says_how_to_go_on(self):
        src = self.make_tree(classes=4, per_class=500, size=100_000)
        slow = strace("-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=1000000:when=200+")
        command = slow + [str(PROGRAMS / "shardctl"), "convert", str(src), str(self.folder / "out")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: any(path.stat().st_size for path in self.folder.glob("out/.shard-*")), process)
        traced = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
        reads = pathlib.Path(f"/proc/{traced}/io")
        wait_until(lambda: int(reads.read_text().split()[1]) > 10_000_000, process)  # rchar
        os.kill(int(traced), signal.SIGTERM)  # not strace: without it the shard would soon be complete
        stderr = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 143)
        if had_time_to_stop(stderr):
            self.assertRegex(stderr, r"the next run reads \S+ [KM]iB of 1 unfinished shard again")
        self.assertIn("run the same command again to continue", stderr)
        self.assertEqual(run("shardctl", "convert", src, self.folder / "out").returncode, 0)


class Names(FolderTest):
    def test_a_key_gives_way_to_a_long_field_and_stays_as_it_is_elsewhere(self):
        src, stem = self.make_tree(classes=2, per_class=1), "s" * 70
        for name in (f"class_0/{stem}1", f"class_0/{stem}2", f"class_1/{stem}1"):
            (src / f"{name}.jpg").write_bytes(fake_jpeg(name.encode()))
        suffix = "." + "m" * 19 + ".png"  # the longest that is taken
        for number in (1, 2):
            (src / f"class_0/{stem}{number}{suffix}").write_bytes(fake_png(b"mask"))
        out = self.folder / "out"
        finished = run("shardctl", "convert", src, out, "--sidecar", suffix, "--no-shuffle")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        rows = result_of(run("shardctl", "ls", out, "--json", "-"))["result"]["rows"]
        keys = sorted({row["key"] for row in rows})
        self.assertEqual(len(keys), 5)
        self.assertEqual([key for key in keys if len(key) == 99 - len(suffix) + 1],
                         [key for key in keys if key.startswith("class_0/s")])
        self.assertIn(f"class_1/{stem}1", keys)
        self.assertLessEqual(max(len(row["name"]) for row in rows), 100)
        verified = run("shardctl", "verify", out, "--against", src)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        self.assertEqual(run("shardctl", "extract", out, self.folder / "back").returncode, 0)
        back = {name: content for name, content in tree(self.folder / "back").items() if not name.startswith(".")}
        self.assertEqual(back, tree(src))

    def test_a_key_gives_way_to_a_declared_field_too(self):
        src, name = self.make_tree(classes=1, per_class=1), "class_0/" + "s" * 72
        (src / f"{name}.jpg").write_bytes(fake_jpeg())
        (self.folder / "masks/class_0").mkdir(parents=True)
        (self.folder / f"masks/{name}.png").write_bytes(fake_png(b"mask"))
        out, field = self.folder / "out", "segmentation_masks.png"
        finished = run("shardctl", "convert", src, out, "--field", field + "?=../masks/{dir}/{stem}.png")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        rows = result_of(run("shardctl", "ls", out, "--json", "-"))["result"]["rows"]
        self.assertEqual(max(len(row["name"]) for row in rows), 100)
        self.assertIn("class_0/img_000", {row["key"] for row in rows})
        self.assertEqual(run("shardctl", "verify", out, "--against", src).returncode, 0)
        self.assertEqual(run("shardctl", "extract", out, self.folder / "back").returncode, 0)
        self.assertEqual((self.folder / f"back/masks/{name}.png").read_bytes(), fake_png(b"mask"))


class Targets(FolderTest):
    def test_a_full_disk_is_exit_5_and_leaves_no_half_shard(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        src = self.make_tree(classes=2, per_class=100, size=60_000)
        target = self.folder / "small"
        target.mkdir()
        for option in ("", "--dry-run"):
            script = (f"mount -t tmpfs -o size=1m none {target} && {PROGRAMS}/shardctl convert {src} {target}/out "
                      f"--samples 10 {option}; code=$?; find {target} -name '*.tar' -o -name '*.tmp' | grep . && code=99; "
                      f"exit $code")
            finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
            self.assertEqual(finished.returncode, 5, finished.stdout + finished.stderr)
            self.assertIn("free space", finished.stderr)

    def test_a_read_only_target_is_exit_4(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        src = self.make_tree()
        target = self.folder / "ro"
        target.mkdir()
        script = f"mount -t tmpfs -o ro none {target} && exec {PROGRAMS}/shardctl convert {src} {target}/out"
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        self.assert_error(finished, 4, "Read-only")

    def test_a_target_that_is_a_file_is_exit_4(self):
        src = self.make_tree()
        (self.folder / "out").write_text("x")
        self.assertEqual(run("shardctl", "convert", src, self.folder / "out").returncode, 4)
        self.assertEqual((self.folder / "out").read_text(), "x")

    def test_a_folder_with_other_files_is_a_target_if_no_name_is_taken(self):
        src, out = self.make_tree(), self.folder / "out"
        for name, is_free, *options in (
                ("notes.txt", True), ("images/a.jpg", True), ("manifest.json", False),
                ("shard-000001.tar/x", False), ("shard-000001.idx", False, "--index", "dali"),
                ("shardindex.json", False, "--index", "wids")):
            with self.subTest(name, options=options):
                shutil.rmtree(out, ignore_errors=True)
                (out / name).parent.mkdir(parents=True)
                (out / name).write_text("{}")
                finished = run("shardctl", "convert", src, out, "--samples", "30", *options)
                if is_free:
                    self.assertEqual(finished.returncode, 0, finished.stderr)
                    self.assertEqual(run("shardctl", "verify", out).returncode, 0)
                else:
                    self.assert_error(finished, 4, "choose another folder")
                    self.assertEqual(list(tree(out)), [name])
                self.assertEqual((out / name).read_text(), "{}")

    def test_two_plans_into_one_target_at_once_never_mix(self):
        src = self.make_tree(classes=4, per_class=200, size=20_000)
        for name, shuffle in (("one", "1"), ("two", "2")):
            run("shardctl", "convert", src, self.folder / name, "--shuffle", shuffle)
        both = [start("shardctl", "convert", src, self.folder / "out", "--shuffle", seed) for seed in ("1", "2")]
        codes = sorted(process.wait(60) for process in both)
        self.assertIn(codes, ([0, 1], [0, 4]))  # the other one was running, or had ended
        self.assertIn(tree(self.folder / "out"), (tree(self.folder / "one"), tree(self.folder / "two")))


class Sources(FolderTest):
    def as_nobody(self, *args):
        os.chmod(self.folder, 0o777)
        return run("shardctl", *args, user=NOBODY, group=NOBODY, extra_groups=[])

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def test_a_source_without_classes_or_images_is_exit_4_and_says_what_is_expected(self):
        (self.folder / "src").mkdir()
        self.assert_error(run("shardctl", "convert", self.folder / "src", self.out), 4, "no class folders")
        (self.folder / "src" / "c").mkdir()
        self.assert_error(run("shardctl", "convert", self.folder / "src", self.out), 4, "no images")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_an_unreadable_file_is_exit_4_or_skipped_on_request(self):
        src = self.make_tree()
        bad = src / "class_1" / "img_004.jpg"
        bad.chmod(0)
        self.assert_error(self.as_nobody("convert", src, self.out), 4, "class_1/img_004.jpg", "Permission denied")
        finished = self.as_nobody("convert", src, self.folder / "skip", "--on-bad", "skip", "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = result_of(finished)["result"]
        self.assertEqual((result["samples"], result["skipped"]), (89, 1))
        self.assertEqual(result["skipped_files"][0]["path"], "class_1/img_004.jpg")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_an_unreadable_folder_is_exit_4_even_when_bad_files_are_skipped(self):
        src = self.make_tree()
        (src / "class_1").chmod(0)
        self.assert_error(self.as_nobody("convert", src, self.out, "--on-bad", "skip"), 4, src / "class_1")

    def test_a_read_error_of_the_disk_is_exit_1(self):
        src = self.make_tree()
        bad = src / "class_2" / "img_001.jpg"
        broken = strace("-o", "/dev/null", "-P", str(bad), "-e", "trace=pread64", "-e", "inject=pread64:error=EIO")
        command = [*broken, str(PROGRAMS / "shardctl"), "convert", str(src), str(self.out)]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assert_error(finished, 1, bad, "Input/output error")

    def test_a_source_that_fails_is_exit_1_also_where_bad_files_are_skipped_and_the_next_run_goes_on(self):
        src = self.make_tree()
        bad = src / "class_2" / "img_001.jpg"
        self.assertEqual(run("shardctl", "convert", src, self.folder / "expected", "--on-bad", "skip").returncode, 0)
        for call, errors in (("pread64", ("EIO", "ESTALE")), ("fstat,newfstatat", ("ETIMEDOUT",))):
            for error in errors:
                with self.subTest(call=call, error=error):
                    out = self.folder / f"{call}-{error}"
                    broken = strace("-o", "/dev/null", "-P", str(bad), "-e", f"trace={call}", "-e",
                                    f"inject={call}:error={error}")
                    command = [*broken, str(PROGRAMS / "shardctl"), "convert", str(src), str(out), "--on-bad", "skip"]
                    finished = subprocess.run(command, capture_output=True, text=True, timeout=60)
                    self.assert_error(finished, 1, bad)
                    self.assertFalse((out / "manifest.json").exists())
                    self.assertEqual(run("shardctl", "convert", src, out, "--on-bad", "skip").returncode, 0)
                    self.assertEqual(tree(out), tree(self.folder / "expected"))

    def test_a_file_that_is_rewritten_while_it_is_read_is_caught(self):
        src = self.make_tree()
        victim = src / "class_1" / "img_003.jpg"
        content = victim.read_bytes()
        for options in ((), ("--identity", "size"), ("--on-bad", "skip")):
            with self.subTest(options):
                log = self.folder / f"log{options}"
                stopping = strace("-o", log, "-P", victim, "-e", "trace=pread64", "-e", "inject=pread64:signal=SIGSTOP:when=1")
                command = [*stopping, PROGRAMS / "shardctl", "convert", src, self.folder / f"o{options}", *options]
                process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
                wait_until(lambda: log.exists() and "stopped by SIGSTOP" in log.read_text(), process)
                victim.write_bytes(content[:3] + os.urandom(len(content) - 3))
                os.kill(int(log.read_text().split()[0]), signal.SIGCONT)
                stderr = process.communicate(timeout=60)[1]
                self.assertEqual(process.returncode, 4, stderr)
                self.assertIn("has changed", stderr)
                self.assertIn(victim.name, stderr)

    def test_an_empty_mount_point_is_exit_4_and_nothing_is_written(self):
        if not can_mount():
            self.skipTest("cannot mount a tmpfs here: not root and no user namespaces")
        src = self.make_tree()
        plan = self.folder / "plan"
        self.assertEqual(run("shardctl", "plan", src, "-o", plan).returncode, 0)
        for options in ((), ("--plan", plan), ("--on-bad", "skip"), ("--plan", plan, "--on-bad", "skip")):
            with self.subTest(options):
                words = " ".join(map(str, options))
                script = f"mount -t tmpfs none {src} && exec {PROGRAMS}/shardctl convert {src} {self.out} {words}"
                finished = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                                          timeout=60)
                self.assert_error(finished, 4, src)
                self.assertFalse(self.out.exists())

    def test_all_bad_files_are_in_the_result_although_it_failed(self):
        src = self.make_tree()
        for number in range(25):
            (src / f"class_1/img_{number:03}.jpg").write_text("<html>")
        finished = run("shardctl", "convert", src, self.out, "--json", "-")
        self.assertEqual(finished.returncode, 4, finished.stderr)
        envelope = result_of(finished)
        self.assertEqual((envelope["status"], envelope["error"]["code"]), ("failed", "corrupt"))
        self.assertEqual([one["path"] for one in envelope["result"]["bad_files"]],
                         [f"class_1/img_{number:03}.jpg" for number in range(25)])
        self.assertIn("(25 files): 'class_1/img_000.jpg', 'class_1/img_001.jpg', 'class_1/img_002.jpg', ...",
                      " ".join(finished.stderr.split()))
        self.assertIn("0 of 1 shard finished", finished.stderr)

    def test_odd_names_become_portable_ones_and_the_index_keeps_the_original(self):
        src = self.folder / "src"
        (src / "a class").mkdir(parents=True)
        names = ["a b.jpg", "ü.jpg", "new\nline.jpg", "x" * 250 + ".jpg", "dots.v2.final.jpg", "same.jpg", "same.png",
                 b"\xff.jpg"]
        for name in names:
            path = os.path.join(os.fsencode(src), b"a class", os.fsencode(name))
            with open(path, "wb") as file:
                file.write(fake_jpeg())
        finished = run("shardctl", "convert", src, self.out)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        listed = subprocess.run(["tar", "tf", self.out / "shard-000000.tar"], capture_output=True, text=True).stdout
        members = listed.splitlines()
        self.assertEqual(len(members), 2 * len(names))
        for member in members:
            self.assertRegex(member, r"^a~20class/[A-Za-z0-9_~-]+\.(jpg|png|cls)$")
            self.assertLessEqual(len(member), 100)
        index = (self.out / ".shardkit" / "shard-000000.tar.index").read_bytes()
        for path in (b"a class/a b.jpg", "a class/ü.jpg".encode(), rb"a class/new\nline.jpg", b"a class/\xff.jpg"):
            self.assertIn(b"\t" + path + b"\t", index)


if __name__ == "__main__":
    unittest.main()
