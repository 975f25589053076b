"""The commands of lib/core/remedies.cpp, one by one: each is provoked, run as it is printed, and has to work.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/remedies_table_test.py
"""

import gzip
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tarfile
import unittest
import zipfile
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from fleets import node  # noqa: E402
from program import fake_jpeg, need, result_of  # noqa: E402
from remedies import AWKWARD, RemedyTest  # noqa: E402

need("pyarrow")


class Table(RemedyTest):
    """Walks the commands of lib/core/remedies.hpp: a test for each, here or in remedies_test.py, provokes the message,
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

    def photos(self, *numbers):
        """Samples whose images can be decoded."""
        if not (self.folder / "real").exists():
            self.shardctl("synth", "real", "--classes", "1", "--per-class", "4")
        images = sorted((self.folder / "real").glob("*/*.*"))
        return [(f"{n:03}.{extension}", content) for n in numbers
                for extension, content in (("cls", b"%d" % (n % 2)), ("jpg", images[n].read_bytes()))]

    def write_shards(self, **files):
        for name, content in files.items():
            self.write_tar(f"{self.shards}/{name}.tar", content)

    def cut(self, name="a", length=3000):
        path = self.folder / self.shards / f"{name}.tar"
        path.write_bytes(path.read_bytes()[:length])

    def test_every_row_has_a_test(self):
        source = (pathlib.Path(__file__).resolve().parents[2] / "lib/core/remedies.hpp").read_text()
        rows = re.findall(r"^std::string (?:with_)?(?!in_text)(\w+)\(", source, re.MULTILINE)
        self.assertGreater(len(rows), 15)
        tests = "".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("remedies*_test.py"))
        self.assertEqual([row for row in rows if not re.search(rf"\btest_row_{row}\b", tests)], [])

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

    def test_row_reshard_unread(self):
        self.write_shards(a=self.samples(1, 2))
        path = self.folder / self.shards / "a.tar"
        path.write_bytes(gzip.compress(path.read_bytes()))
        self.follow_all(self.found(self.shards))
        self.sound("OUT")
        shutil.rmtree(self.folder / "OUT")
        path.rename(path.with_suffix(".tar.gz"))
        self.follow(self.advised(self.call("shardctl", "stat", self.shards), 4)[0])
        self.sound("OUT")

    def pool(self):
        for name in ("a", "b"):
            (self.folder / "pool").mkdir(exist_ok=True)
            (self.folder / f"pool/{name}.jpg").write_bytes(fake_jpeg(name.encode()))

    def test_row_add_header(self):
        self.pool()
        for name, text in (("t.csv", "a.jpg,cat\nb.jpg,dog\n"), ("t.tsv", "cat\ta.jpg\ndog\tb.jpg\n")):
            table = f"{AWKWARD} {name}"
            (self.folder / table).write_text(text)
            arguments = ("shardctl", "convert", "pool", f"out-{name}", "--list", table)
            self.follow(self.advised(self.call(*arguments), 2)[0])
            self.shardctl(*arguments[1:], "--label-column", "label")
            self.assertEqual(self.shardctl("stat", f"out-{name}")["samples"], 2)
        (self.folder / "ids.csv").write_text("a,cat\nb,dog\n")
        for column in ((), ("--path-column", "a")):
            (command,) = self.advised(self.call("shardctl", "convert", "pool", "out-ids", "--list", "ids.csv", *column), 2)
        self.follow(command)
        self.shardctl("convert", "pool", "out-ids", "--list", "ids.csv", "--label-column", "label")
        self.assertEqual(self.shardctl("stat", "out-ids")["samples"], 2)

    def test_row_from_parquet(self):
        self.pool()
        table = f"{AWKWARD}.parquet"
        (self.folder / table).write_bytes(b"PAR1")
        (command,) = self.advised(self.call("shardctl", "convert", "pool", "out", "--list", table), 2)
        import pyarrow as arrow
        import pyarrow.parquet as parquet
        rows = {"path": ["a.jpg", "b.jpg"], "boxes": [[[1.5, 2]], [[float("nan")]]], "n": [1, None], "raw": [b"\0\xff", None],
                "big": [float("inf"), None]}
        parquet.write_table(arrow.table(rows), self.folder / table)
        with mock.patch.dict(os.environ, PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"):
            self.follow(command)
        self.shardctl("convert", "pool", "out", "--list", "table.jsonl", "--metadata", "table.jsonl")
        self.assertEqual(self.call("shardctl", "cat", "out", "a.json").stdout.strip(),
                         '{"boxes":[[1.5,2.0]],"n":1,"raw":"AP8=","big":"Infinity"}')
        self.assertEqual(self.call("shardctl", "cat", "out", "b.json").stdout.strip(),
                         '{"boxes":[[null]],"n":null,"raw":null,"big":null}')

    def listed_shard(self):
        """The first shard of a set that has a manifest."""
        return self.converted()[0]

    def append_by_tar(self, path, *samples):
        path.chmod(0o644)
        with tarfile.open(path, "a", format=tarfile.USTAR_FORMAT) as archive:
            for name, content in samples:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))

    def test_row_reshard_of_a_shard_that_got_another_member(self):
        path = self.listed_shard()
        self.append_by_tar(path, ("y.JPG", fake_jpeg(b"y")), ("y.cls", b"0"))
        state, restore, command = self.found(self.shards)
        self.assertRegex(state, "^# 1 listed shard of .* is damaged, the first is 'shard-000000.tar': run the same command")
        self.assertTrue(restore.startswith("# restore"), restore)
        self.assertIn("--salvage", command)
        self.follow(command)
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 91)

    def test_row_mark_duplicates_of_tars_that_were_put_together(self):
        for compress in (bytes, gzip.compress):
            for listed in (True, False):
                with self.subTest(compress=compress, listed=listed):
                    for name in ("src", self.shards, "OUT"):
                        shutil.rmtree(self.folder / name, ignore_errors=True)
                    path, second, _ = self.converted()
                    if not listed:
                        (path.parent / "manifest.json").unlink()
                        shutil.rmtree(path.parent / ".shardkit")
                    path.chmod(0o644)
                    path.write_bytes(compress(path.read_bytes()) + compress(second.read_bytes()))
                    self.follow_all(self.found(self.shards))
                    self.assertEqual(self.shardctl("stat", "OUT")["samples"], 120)
                    self.assertEqual(self.call("shardctl", "verify", "OUT").returncode, 0)
                    shutil.rmtree(self.folder / "OUT")
                    command, *_ = self.advised(self.call("shardctl", "reshard", self.shards, "OUT"), 4)
                    if listed:  # it has another size than the manifest lists: a first command for that, and its own advice
                        self.assertNotIn("--mark-duplicates", command)
                        command = self.advised(self.shell(command), 4)[-1]
                    self.follow(command)
                    self.assertEqual(self.shardctl("stat", "OUT")["samples"], 120)

    def test_row_salvage_leaves_out_what_is_no_tar(self):
        path = self.listed_shard()
        path.chmod(0o644)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.jpg", fake_jpeg())
        self.assertIn("unpack it", self.call("shardctl", "verify", self.shards).stdout)
        state, *remedies = self.found(self.shards)
        self.assertRegex(state, "^# 1 listed shard of .* is damaged, the first is 'shard-000000.tar': run the same command")
        self.assertTrue(remedies)
        for command in (*remedies, *self.advised(self.call("shardctl", "reshard", self.shards, "OUT"), 4)):
            self.follow(command)
            self.sound("OUT")
            self.assertEqual(self.shardctl("stat", "OUT")["samples"], 60)
            shutil.rmtree(self.folder / "OUT")

    def test_row_drop_bad_leaves_out_what_no_shard_can_contain(self):
        self.write_shards(a=self.photos(1), b=self.photos(2))
        path = self.folder / self.shards / "a.tar"
        with tarfile.open(path) as tar:
            last = tar.getmembers()[-1]
        with open(path, "r+b") as file:  # sparse on disk
            file.seek(last.offset_data + -(-last.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE)
            file.truncate()
            member = tarfile.TarInfo("x.jpg")
            member.size = 8 << 30
            file.write(member.tobuf(tarfile.GNU_FORMAT))
            file.truncate(file.tell() + member.size + 2 * tarfile.BLOCKSIZE)
        for command in (*self.found(self.shards), *self.advised(self.call("shardctl", "reshard", self.shards, "OUT"), 4)):
            if command.startswith("#"):
                continue
            self.assertIn("--drop-bad", command)
            self.follow(command)
            self.sound("OUT")
            shutil.rmtree(self.folder / "OUT")
        dropped = self.shardctl("reshard", self.shards, "OUT", "--drop-bad")["dropped_samples"]
        self.assertEqual([item["path"] for item in dropped if "large_member" in item["reason"]], ["a.tar/x"])

    def test_no_reshard_is_advised_that_would_stop(self):
        sparse = tarfile.TarInfo("z.JPG")
        sparse.type = tarfile.GNUTYPE_SPARSE
        self.write_shards(a=self.samples(1))
        with open(self.folder / self.shards / "b.tar", "wb") as file:
            file.write(sparse.tobuf(tarfile.GNU_FORMAT) + bytes(2 * tarfile.BLOCKSIZE))
        self.assertEqual(self.call("shardctl", "reshard", self.shards, "OUT").returncode, 4)
        remedies = self.found(self.shards)
        self.assertIn("no command repairs", remedies[0])
        self.assertEqual([line for line in remedies if not line.startswith("#")], [])

    def test_row_salvage(self):
        self.write_shards(a=self.samples(*range(8)), b=self.samples(*range(8, 12)))
        self.cut()
        self.follow_all(self.found(self.shards))
        self.sound("OUT")
        self.follow(self.advised(self.call("shardctl", "reshard", self.shards, f"new {AWKWARD}"), 4)[0]
                    if b"image" in (self.folder / self.shards / "a.tar").read_bytes()[-200:] else "true")
        for length in (0, 2600):
            self.write_shards(a=self.samples(*range(8)))
            self.cut(length=length)
            shutil.rmtree(self.folder / "OUT")
            self.follow_all(self.found(self.shards))
            self.sound("OUT")

    def test_no_command_leaves_out_a_shard_whose_samples_nothing_counts(self):
        self.write_shards(a=self.samples(*range(8)), b=self.samples(*range(8, 12)))
        for content in (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", b"short", b"<html>" * 200):
            (self.folder / self.shards / "a.tar").write_bytes(content)
            (advice,) = self.found(self.shards)
            self.assertIn("a.tar' is unknown: fetch or restore it; --salvage of reshard leaves it out", advice)
            refused = self.call("shardctl", "reshard", self.shards, "OUT")
            self.assert_error(refused, 4, "a.tar", "the number of its samples is unknown")
            self.assertNotIn("`shardctl", refused.stderr)

    def test_a_copy_of_a_shard_is_left_out_and_not_marked(self):
        self.write_shards(a=self.samples(1, 2), b=self.samples(3, 4))
        folder = self.folder / self.shards
        shutil.copy(folder / "b.tar", folder / "b (1).tar")
        words, command = self.found(self.shards)
        self.assertIn("b (1).tar' (2 repeated samples): without it:", words)
        self.assertNotIn("--mark-duplicates", command)
        self.follow(command)
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 4)
        refused = self.call("shardctl", "reshard", self.shards, "other")
        self.assert_error(refused, 4, "has the same bytes as", "by naming the other tars")
        self.assertNotIn("`", refused.stderr)

    def test_shards_under_other_names_are_not_given_up(self):
        for path in self.converted()[1:]:
            path.rename(path.with_name(f"x {path.name}"))
        for command in self.advised(self.call("shardctl", "reshard", self.shards, "new"), 4):
            self.assertNotIn("--salvage", command)
            self.follow(command)
        self.sound("OUT")
        self.assertEqual(self.shardctl("stat", "OUT")["samples"], 90)
        self.assertEqual(len(json.loads((self.folder / "OUT/manifest.json").read_text())["classes"]), 3)

    def test_sets_with_a_table_each_are_converted_with_the_classes_of_all(self):
        for name in ("train/a", "train/b", "train/c", "val/b", "val/c"):
            path = self.folder / f"sets/{name}/{name.replace('/', '_')}.jpg"
            path.parent.mkdir(parents=True)
            path.write_bytes(fake_jpeg(name.encode()))
        (self.folder / "FILE").mkdir()
        refused = self.call("shardctl", "convert", "sets", "DST", "--metadata", "table.csv")
        classes, convert = self.advised(refused, 2)
        self.follow(classes)
        for part in ("train", "val"):
            rows = [f"{path.parent.name}/{path.name}" for path in (self.folder / f"sets/{part}").glob("*/*.jpg")]
            (self.folder / "table.csv").write_text("path\n" + "\n".join(rows) + "\n")
            self.follow(convert.replace("train", part).replace("FILE", "table.csv"))
        self.assertEqual(self.call("shardctl", "verify", "DST").returncode, 0)

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
        for number, shards in enumerate(({"a": one, "b": two},
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

    def test_row_set_folder(self):
        for name, numbers in (("train", (0, 1)), ("val", (2, 3))):
            again = (f"{numbers[0]:03}.cls", b"0")
            self.write_tar(f"{self.shards}/{name}/a.tar", [*self.photos(*numbers), again])
            self.shardctl("index", f"{self.shards}/{name}")
        remedies = self.found(self.shards)
        self.assertEqual(len(remedies), 2)
        self.follow_all(remedies)
        self.sound("OUT")

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

    def test_row_reshard_for_ranks(self):
        self.write_shards(a=self.samples(*range(8)))
        refused = self.call("shardctl", "stage", self.shards, "node", "--rank", "1", "--world", "2")
        index, command = self.advised(refused, 2)  # the first of a warning, which names the state of the source
        self.follow(command)
        self.sound("OUT")
        self.follow(index)
        self.sound(self.shards)
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
        (command,) = self.advised(self.call("shardctl", "index", self.shards), 4)
        self.follow(command)
        self.assertEqual(list((self.folder / self.shards / ".shardkit").glob("plan*")), [])
        self.sound(self.shards)

    def test_row_index_replace_of_a_damaged_manifest_without_a_plan(self):
        self.write_shards(a=self.samples(1, 2))
        self.shardctl("index", self.shards)
        (self.folder / self.shards / "manifest.json").write_bytes(b"")
        refused = self.call("shardctl", "stat", self.shards)
        self.assert_error(refused, 4, "the manifest of", "is damaged", "restore it from a copy, or use",
                          "which gives up class names and original paths")
        finished = self.call("shardctl", "verify", self.shards, "--json", "-")
        self.assertEqual(finished.returncode, 3, finished.stderr)
        (command,) = self.advised(refused, 4)
        self.assertIn(f"`{command}`", result_of(finished)["result"]["remedies"][0])
        self.follow(command)
        self.sound(self.shards)

    def staged(self):
        self.write_shards(a=self.samples(1, 2), b=self.samples(3, 4))
        self.shardctl("index", self.shards)
        self.shardctl("stage", self.shards, f"cache/set {AWKWARD}", "--lease-id", "another's job")
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
        self.assert_error(refused, 4, "part 1 of", "is missing")
        self.assertEqual(self.shell(self.advised(refused, 4)[0]).stdout, "1\n")
        self.assertEqual(self.call("shardctl", "index", self.shards, "--output", "other").returncode, 4)
        for tar in (self.folder / self.shards).glob("*.tar"):
            tar.unlink()
        self.assertEqual(self.call("shardctl", "verify", self.shards).returncode, 3)

    def test_row_release_all(self):
        (self.staged() / ".shardkit/leases/x.json").write_text("?")
        collect = ("shardctl", "cache", "gc", "cache", "--limit", "0")
        self.follow(self.advised(self.call(*collect), 5)[0])
        self.assertEqual(self.call(*collect).returncode, 0)

    def extra(self, *names):
        """What is advised about these tars that the manifest does not list, in words: both ways work. They are moved away."""
        one = len(names) == 1
        (advice,) = self.found(self.shards)
        self.assertEqual(advice, f"# {len(names)} tar{'' if one else 's'} of '{self.shards}' {'is' if one else 'are'} not in its "
                         f"manifest, the first is '{names[0]}': move {'it' if one else 'them'} out of the folder, or name listed "
                         "and extra tars together to reshard")
        tars = sorted((self.folder / self.shards).glob("*.tar"))
        self.shardctl("reshard", *tars, "together", "--salvage", "--mark-duplicates")
        (self.folder / "EXTRA").mkdir(exist_ok=True)
        for name in names:
            (self.folder / self.shards / name).rename(self.folder / "EXTRA" / name)
        self.sound(self.shards)
        together, listed = (self.shardctl("stat", name)["samples"] for name in ("together", self.shards))
        self.assertGreater(together, listed)
        shutil.rmtree(self.folder / "together")

    def test_tars_that_no_manifest_lists_are_moved_away_or_named(self):
        shard = self.converted()[1]
        for names in (("0 copy.tar",), ("z copy.tar",), ("0 copy.tar", "z copy.tar")):
            with self.subTest(names):
                for name in names:
                    shutil.copy(shard, shard.with_name(name))
                self.extra(*names)

    def moved_away(self, path, *command, words="move it elsewhere"):
        """The refusal of `command` names `path` and prints no command for it, and works when the user has moved it."""
        refused = self.call("shardctl", *command)
        self.assert_error(refused, 4, path.name, words)
        self.assertNotIn("`", refused.stderr)
        path.rename(self.folder / "elsewhere")
        self.shardctl(*command)
        moved = self.folder / "elsewhere"
        shutil.rmtree(moved) if moved.is_dir() and not moved.is_symlink() else moved.unlink()

    def test_no_command_moves_what_a_target_has_already(self):
        self.converted()
        (self.folder / "node").mkdir()
        (self.folder / self.shards / "notes.txt").write_text("about the set")
        path = self.folder / "node" / "notes.txt"
        path.write_text("the only copy of something")
        self.moved_away(path, "stage", self.shards, "node")
        self.sound("node")
        self.shardctl("extract", self.shards, "back")
        for name in ("class_0/img_000.jpg", "class_1"):
            with self.subTest(name):
                path = self.folder / "back" / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                path.write_text("the only copy of something")
                self.moved_away(path, "extract", self.shards, "back")

    def test_no_command_moves_folders_of_a_source(self):
        self.make_tree()
        loop = self.folder / "src/class_0/loop"
        loop.symlink_to("..")
        for path in (loop, self.folder / "src/class_9"):
            if path != loop:
                loop.unlink()
                path.mkdir()
            refused = self.call("shardctl", "convert", "src", self.shards)
            self.assert_error(refused, 4, path.relative_to(self.folder))
            self.assertNotIn("`", refused.stderr)

    def test_a_shard_of_something_else_is_moved_away_and_not_written_into_the_set(self):
        shards = self.converted()
        with tarfile.open(shards[0].with_name("foreign.tar"), "w") as foreign:
            foreign.add(self.folder / "src", "src")
        self.extra("foreign.tar")

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
        self.assertRegex(advice, r"^# the convert into .* has not finished \(1 shard is missing\): run the same convert again")
        self.shardctl("convert", "src", self.shards, "--samples", "30")
        self.sound(self.shards)
        self.assertEqual(shard.read_bytes(), content)

    def test_what_no_command_repairs_is_said(self):
        image = fake_jpeg()
        self.write_shards(a=[("0.jpg", image), ("0.cls", b"0"), ("1.jpg", image), ("1.cls", b"cat"), ("2.jpg", image)])
        (advice,) = self.found(self.shards)
        self.assertIn("no command repairs bad_label, missing_label: correct the source", advice)

    def test_row_measure_together(self):
        """The nodes of the command are those to measure: its DATA and FOLDER are the user's."""
        rates = {"node1": 1e9, **{f"node{number}": 2e9 for number in range(2, 9)}}
        for name, rate in rates.items():
            (self.folder / f"{name}.json").write_text(json.dumps(node(name, rate)))
        told = self.call("iobench", "aggregate", *(f"{name}.json" for name in rates))
        command = re.search(r"`(srun [^`]*)`", told.stdout + told.stderr)[1]
        words = shlex.split(command)
        nodes = words[1].removeprefix("--nodelist=").split(",")
        self.assertEqual(nodes[0], "node1")
        self.assertTrue(set(nodes) <= set(rates) and len(nodes) > 1)
        self.assertEqual(words[words.index("--world") + 1], str(len(nodes)))
        self.assertEqual(words[3:5], ["iobench", "run"])

    def test_row_evict(self):
        target = self.staged()
        self.shardctl("cache", "release", target, "--all")
        self.write_tar("other/c.tar", self.samples(5))
        *_, evict = self.advised(self.call("shardctl", "stage", "other", target), 4)
        self.follow(evict)
        self.shardctl("stage", "other", target)
        self.shardctl("cache", "check", target)

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


if __name__ == "__main__":
    unittest.main()
