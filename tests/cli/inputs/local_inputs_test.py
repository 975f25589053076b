"""Every verb of both programs understands a local set under each name that docs/explain/inputs.md lists, and none of the rest."""

import json
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import FolderTest, fake_jpeg, result_of, run, tree  # noqa: E402

SAMPLES = 12


class LocalInputs(FolderTest):
    def setUp(self):
        super().setUp()
        self.ok("shardctl", "synth", "photos", "--classes", 2, "--per-class", SAMPLES // 2)
        self.ok("shardctl", "convert", "photos", "set", "--samples", 6)
        self.images = sorted(str(path.relative_to(self.folder)) for path in self.folder.glob("photos/*/*.JPEG"))
        self.tars = sorted(str(path.relative_to(self.folder)) for path in self.folder.glob("set/*.tar"))
        self.number = 0

    def go(self, program, *args, **options):
        return run(program, *args, cwd=self.folder, **options)

    def ok(self, *args, **options):
        finished = self.go(*args, **options)
        self.assertEqual(finished.returncode, 0, f"{args}: {finished.stderr}")
        return finished

    def write(self, name, *lines, mark=""):
        (self.folder / name).write_text(mark + "".join(f"{line}\n" for line in lines))
        return name

    def out(self):
        self.number += 1
        return f"out-{self.number}"

    def shardctl(self, name, **options):
        """What each verb of shardctl makes of the shards of that name, in numbers and names."""
        made = {}
        for verb in ("stat", "verify"):
            made[verb] = result_of(self.ok("shardctl", verb, name, "--json", "-", **options))["result"]["samples"]
        for verb in ("extract", "reshard", "index", "stage"):
            out = self.out()
            to = ["--output", out] if verb == "index" else [out]
            self.ok("shardctl", verb, name, *to, **options)
            made[verb] = sorted(path for path in tree(self.folder / out) if not path.startswith("."))
        return made

    def iobench(self, name, **options):
        """How many samples each verb of iobench finds under that name."""
        made = {}
        read = result_of(self.ok("iobench", "read", name, "--json", "-", **options))["result"]
        self.assertGreater(read["samples"], 0)
        made["read"] = read["files"]
        decode = self.ok("iobench", "decode", name, "--min-time", "0.1", "--json", "-", **options)
        made["decode"] = result_of(decode)["result"]["images"]
        pipeline = self.ok("iobench", "pipeline", name, "--batch", 4, "--json", "-", **options)
        made["pipeline"] = result_of(pipeline)["result"]["samples"]
        return made

    def names_of(self, files, pattern, wildcards):
        """A pattern and lists of files in several spellings; for standard input the text too."""
        yield pattern, {}
        yield wildcards, {}
        yield self.write("list.txt", *files), {}
        yield self.write("marked.txt", *files, mark="\N{ZERO WIDTH NO-BREAK SPACE}"), {}
        yield self.write("absolute.txt", *(self.folder / file for file in files)), {}
        yield "-", {"input": "\n".join(files)}

    def test_shards_by_every_name(self):
        (self.folder / "set/old.tar").mkdir()  # no shard
        (self.folder / "wids.json").write_text(json.dumps(
            {"wids_version": 1, "shardlist": [{"url": tar, "nsamples": 6} for tar in self.tars]}))
        names = [("set", {}), ("set/manifest.json", {}), ("wids.json", {}),
                 *self.names_of(self.tars, "set/shard-{000000..000001}.tar", "set/{shard,sha?d}-*.tar")]
        for name, options in names:
            with self.subTest(name):
                self.assertEqual(len(self.ok("shardctl", "ls", name, **options).stdout.splitlines()), 2 * SAMPLES)
                if name in ("set", "list.txt", "-"):  # its other verbs open names as ls does
                    made = self.shardctl(name, **options)
                    self.assertEqual((made["stat"], made["verify"]), (SAMPLES, SAMPLES))
                    self.assertEqual(len(made["extract"]), SAMPLES)
                    self.assertIn("shard-000001.tar", made["stage"])
                self.assertEqual(self.iobench(name, **options),
                                 {"read": 2, "decode": SAMPLES, "pipeline": SAMPLES})

    def test_images_by_every_name(self):
        (self.folder / "photos/x.tar").mkdir()  # no shard
        count = len(self.images)
        self.assertEqual(count, SAMPLES)
        first = [image for image in self.images if "n00000000" in image]
        for name, options in [("photos", {}),
                              *self.names_of(first, f"{{{','.join(first)}}}", "photos/n00000000/*.JPEG")]:
            wanted = count if name == "photos" else len(first)
            with self.subTest(name):
                self.assertEqual(self.iobench(name, **options), {"read": wanted, "decode": wanted, "pipeline": wanted})
        self.write("list.txt", *first)
        for options in ({}, {"input": "\n".join(first)}):
            name = "-" if options else "list.txt"
            judged = result_of(self.ok("iobench", "run", name, "--budget", 4, "--json", "-", **options))["result"]
            self.assertEqual((judged["read"]["files"], judged["decode"]["images"]), (len(first), len(first)))

    def test_a_list_of_shards_and_images_loses_neither(self):
        name = self.write("both.txt", self.tars[0], *self.images[:3])
        self.assertEqual(self.iobench(name), {"read": 4, "decode": 9, "pipeline": 9})

    def test_files_and_urls_in_one_list_are_measured_apart(self):
        url = "s3://bucket/x.tar"
        for lines in ([url, self.tars[0]], [self.tars[0], url]):
            done = self.go("iobench", "read", self.write("mixed.txt", *lines), "--endpoint-url", "http://127.0.0.1:9",
                           "--anonymous")
            self.assert_error(done, 2, "measure them separately")

    def test_another_programs_manifest_is_none(self):
        foreign = self.folder / "foreign"
        foreign.mkdir()
        shutil.copy(self.folder / self.tars[0], foreign / "a.tar")
        for text in ('{"foo":1}', "[]", '{"format":"other","version":1}'):
            (foreign / "manifest.json").write_text(text)
            for name, warnings in (("foreign", 1), ("foreign/a.tar", 0)):
                with self.subTest(name, text=text):
                    self.assertEqual(self.shardctl(name)["stat"], 6)
                    self.assertEqual(self.iobench(name), {"read": 1, "decode": 6, "pipeline": 6})
                    stderr = self.ok("shardctl", "ls", name).stderr
                    self.assertEqual(stderr.count("foreign/manifest.json' is not a shardkit manifest"), warnings)
        self.assert_error(self.go("shardctl", "index", "foreign"), 4, "--output DIR")
        self.assertEqual((foreign / "manifest.json").read_text(), text)

    def test_a_damaged_manifest_is_an_error_whose_remedy_works(self):
        manifest = self.folder / "set/manifest.json"
        whole = manifest.read_text()
        manifest.write_text(whole[:200])
        for plans, advice in ((True, "`shardctl merge set` writes it from the plans and indexes"),
                              (False, "restore it from a copy, or use `shardctl index set --replace`, which gives up class names")):
            if not plans:
                for plan in (self.folder / "set/.shardkit").glob("plan*"):
                    plan.unlink()
            for verb in (["ls"], ["stat"], ["index"], ["extract", self.out()], ["reshard", self.out()], ["stage", self.out()]):
                with self.subTest(verb[0], plans=plans):
                    done = self.go("shardctl", verb[0], "set", *verb[1:])
                    self.assert_error(done, 4, "set' is damaged", "manifest.json", "is not JSON")
                    self.assertIn(advice, done.stderr.replace(f"{self.folder}/", ""))
            verified = self.go("shardctl", "verify", "set", "--json", "-")
            self.assertEqual(verified.returncode, 3, verified.stderr)
            result = result_of(verified)["result"]
            self.assertEqual([problem["code"] for problem in result["problems"]], ["set_unfinished"])
            self.assertIn(f": {advice}", result["remedies"][0])
            tar = self.tars[0]  # of which the manifest is not needed
            self.assert_error(self.go("shardctl", "index", tar), 4, "is damaged", advice)
            for verb in (["ls"], ["stat"], ["verify"], ["extract", self.out()], ["reshard", self.out()], ["stage", self.out()]):
                with self.subTest(f"{verb[0]} {tar}", plans=plans):
                    self.ok("shardctl", verb[0], tar, *verb[1:])
            if plans:
                self.ok("shardctl", "merge", "set")
                self.assertEqual(self.shardctl("set")["verify"], SAMPLES)
                self.assertEqual(manifest.read_text(), whole)
                manifest.write_text(whole[:200])
        self.ok("shardctl", "index", "set", "--replace")
        self.assertEqual(self.shardctl("set")["verify"], SAMPLES)

    def test_what_can_be_no_input_is_refused_alike(self):
        verbs = [("shardctl", verb) for verb in ("ls", "stat", "verify", "index", "extract", "reshard", "stage")]
        verbs += [("iobench", verb) for verb in ("read", "decode", "pipeline", "run", "sweep")]
        writes = ("extract", "reshard", "stage")
        for name, code, text in (("/dev/null", 2, "pipe, socket or device"), ("none", 4, "none"),
                                 ("none-*.tar", 4, "nothing matches"), ("http://127.0.0.1:9/x-[01].tar", 2, "no listing")):
            for program, verb in verbs:
                with self.subTest(f"{verb} {name}"):
                    done = self.go(program, verb, name, *([self.out()] if verb in writes else []))
                    self.assert_error(done, code, text)

    def test_what_is_read_by_offset_is_not_a_pipe(self):
        (self.folder / "images/a").mkdir(parents=True)
        (self.folder / "images/a/1.jpg").write_bytes(fake_jpeg())
        os.mkfifo(self.folder / "pipe.csv")
        os.mkfifo(self.folder / "pipe")
        for verb, option in (("convert", "--list pipe.csv"), ("convert", "--metadata pipe.csv"),
                             ("convert", "--class-map pipe"), ("convert", "--plan pipe"), ("plan", "--class-map pipe"),
                             ("stage", "--manifest pipe")):
            target = ["-o", self.out()] if verb == "plan" else [self.out()]
            source = "set" if verb == "stage" else "images"
            with self.subTest(f"{verb} {option}"):
                done = self.go("shardctl", verb, source, *target, *option.split())
                self.assert_error(done, 4, "pipe, socket or device", "write it to a file first")
                self.assertFalse(pathlib.Path(target[-1]).exists())


if __name__ == "__main__":
    unittest.main()
