"""No printed command loses anything: trees and sets of many kinds are damaged, each command that is then printed is followed to its
end, and what it wrote is compared with what was there. What is not there any more has to be counted in the text of the command.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/kept_by_remedies_test.py

A sample of the cases, by a fixed seed; with SHARDKIT_SOAK=1 all of them, and each advice in both of its forms.
"""

import collections
import gzip
import io
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import SOAK, fake_jpeg, fake_png, result_of  # noqa: E402
from remedies import RemedyTest  # noqa: E402

SEED = 62
EVERYDAY = 24
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 12345\n"
TARGETS = ("OUT", "DST", "EXTRA")


def numbered(folder, count, make=fake_jpeg, suffix=".jpg", start=0):
    """Files with contents of their own, so that each can be found again."""
    return {f"{folder}{n:03}{suffix}": make(f"{folder}{n}{suffix}".encode()) for n in range(start, start + count)}


def text_of(name):
    return f"about {name}".encode()


def coco(images):
    return json.dumps({"images": [{"id": n, "file_name": name} for n, name in enumerate(images)],
                       "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [n, 0, 1, 1]} for n in range(len(images))],
                       "categories": [{"id": 1, "name": "cat"}]}).encode()


def texts(names, suffix):
    return {str(pathlib.PurePath(name).with_suffix("")) + suffix: text_of(name) for name in names}


def beside(files, old, new, suffix, make=text_of):
    """A file in a folder `new` for each file in `old`."""
    return {str(pathlib.PurePath(name.replace(old, new, 1)).with_suffix("")) + suffix: make(name) for name in files}


def png_of(name):
    return fake_png(name.encode())


def trees():
    """Layouts of trees that are refused, or are not: (name, files, options)."""
    img = numbered("img/", 12)
    yield "plain classes", {**numbered("cat/", 5), **numbered("dog/", 6)}, ()
    yield "a class of annotations", {**img, **beside(img, "img", "ann", ".json")}, ()
    yield "img and ann of some", {**img, **beside(list(img)[:4], "img", "ann", ".json")}, ()
    yield "images and masks", {**numbered("images/", 10), **beside(numbered("images/", 10), "images", "masks", ".png", png_of)}, ()
    yield "an empty class beside others", {**numbered("cat/", 5), "dog/readme.md": b"no images"}, ()
    for name in ("train", "train2017"):
        images = numbered(f"{name}/", 8)
        short = [pathlib.PurePath(image).name for image in images]
        others = numbered("valid/", 4)
        valid = [pathlib.PurePath(image).name for image in others]
        yield f"coco in {name}", {**images, f"{name}/_annotations.coco.json": coco(short), **others,
                                  "valid/_annotations.coco.json": coco(valid)}, ()
        yield f"voc in {name}", {**images, **texts(images, ".xml"), **others, **texts(others, ".xml")}, ()
    sets = {f"{part}/{name}": content for part in ("train", "val") for name, content in
            {**numbered("a/", 3), **numbered("b/", 3)}.items()}
    sets = {name: fake_jpeg(name.encode()) for name in sets}
    wider = {**sets, **{name: fake_jpeg(name.encode()) for name in numbered("train/c/", 3)}}
    rows = "path,v\n" + "".join(f"{name.split('/', 1)[1]},{n}\n" for n, name in enumerate(wider))
    yield "sets and a table", {**wider, "FILE": rows.encode()}, ("--metadata", "FILE", "--on-bad", "keep")
    yield "pairs by suffix", {**numbered("c/", 6), **beside(numbered("c/", 6), "c/", "c/", "_mask.png", png_of),
                              **numbered("d/", 6), **beside(numbered("d/", 6), "d/", "d/", "_mask.png", png_of)}, ()
    ids = "".join(f"{n:03},{'cat' if n % 2 else 'dog'}\n" for n in range(6)).encode()
    yield "ids without a header", {**numbered("", 6), "ids.csv": ids}, ("--list", "ids.csv", "--label-column", "label")
    paths = "".join(f"{n:03}.jpg,{'cat' if n % 2 else 'dog'}\n" for n in range(6)).encode()
    yield "paths without a header", {**numbered("", 6), "p.csv": paths}, ("--list", "p.csv", "--label-column", "label")


def archive(files):
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
    return tar.getvalue()


DAMAGES = {}


def damage(work):
    DAMAGES[work.__name__] = work
    return work


@damage
def nothing(tars):
    pass


@damage
def a_pointer(tars):
    tars[1].write_bytes(LFS % 1)


@damage
def a_copy(tars):
    shutil.copy(tars[1], tars[1].with_name(f"{tars[1].stem} (1).tar"))


@damage
def two_copies(tars):
    for tar in tars[:2]:
        shutil.copy(tar, tar.with_name(f"copy of {tar.name}"))


@damage
def some_renamed(tars):
    for tar in tars[1:]:
        tar.rename(tar.with_name(f"x-{tar.name}"))


@damage
def all_renamed(tars):
    for tar in tars:
        tar.rename(tar.with_name(f"x-{tar.name}"))


@damage
def one_gone(tars):
    tars[0].unlink()


@damage
def cut(tars):
    tars[1].write_bytes(tars[1].read_bytes()[:-4000])


@damage
def not_a_tar(tars):
    tars[2].write_bytes(b"<html>" * 500)


@damage
def packed(tars):
    tars[0].with_suffix(".tar.gz").write_bytes(gzip.compress(tars[0].read_bytes()))
    tars[0].unlink()


@damage
def packed_beside(tars):
    tars[0].with_suffix(".tar.gz").write_bytes(gzip.compress(tars[0].read_bytes()))


@damage
def joined(tars):
    tars[0].write_bytes(tars[0].read_bytes() + tars[1].read_bytes())
    tars[1].unlink()


@damage
def names_that_stop_readers(tars):
    with tarfile.open(tars[0]) as tar:
        files = [(member.name.replace("jpg", "JPG"), tar.extractfile(member).read()) for member in tar]
    tars[0].write_bytes(archive(files))


@damage
def two_of_one_key(tars):
    with tarfile.open(tars[0]) as tar:
        key = tar.getnames()[0].rsplit(".", 1)[0]
    tars[2].write_bytes(archive([(f"{key}.jpg", fake_jpeg(b"another of this key")), (f"{key}.cls", b"0")]))


FORMS = ("of a convert", "without records", "with an index", "without a manifest")


class Kept(RemedyTest):
    def cases(self, all_cases):
        all_cases = list(all_cases)
        return all_cases if SOAK else random.Random(SEED).sample(all_cases, min(EVERYDAY, len(all_cases)))

    # What was there, and what is.

    def write(self, files, root):
        for name, content in files.items():
            path = self.folder / root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def samples_in(self, *folders):
        """Per sample the contents of its members but for the label, and the label, of all tars that can be read there."""
        found = []
        for path in sorted(itertools.chain(*((self.folder / folder).rglob("*.tar*") for folder in folders))):
            samples = collections.defaultdict(dict)
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            try:
                with tarfile.open(fileobj=io.BytesIO(content), ignore_zeros=True) as tar:
                    for member in tar:
                        key, extension = member.name.rsplit(".", 1)
                        content = tar.extractfile(member).read()
                        if len(content) == member.size:
                            samples[key][extension.lower()] = content
            except (tarfile.TarError, OSError):
                pass
            found += [(tuple(sorted(value for name, value in sample.items() if name not in ("cls", "json"))), sample.get("cls"))
                      for sample in samples.values()]
        return found

    def class_names(self, folder):
        manifest = self.folder / folder / "manifest.json"
        if not manifest.exists():
            return {}
        return {one["label"]: one["name"] for one in json.loads(manifest.read_text())["classes"]}

    # Commands.

    def printed(self, finished):
        """Lists of commands in the order in which they are to be typed, each with the text around it."""
        text = " ".join(finished.stderr.split())
        for sentence in re.split(r"(?<=[^.])\. If |, or (?=with|`)", text):
            commands = [one for one in re.findall(r"`([^`]+)`", sentence) if not re.search(r"^git |NAME|\.\.\.", one)]
            if commands:
                yield commands, sentence

    def fresh(self, root, pristine):
        for path in self.folder.iterdir():
            if path.name != pristine:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.folder / pristine, self.folder / root, symlinks=True)

    def follow_in_order(self, commands):
        for command in commands:
            finished = self.shell(command)
            if finished.returncode != 0:
                return finished
        return None

    # Trees.

    def test_each_file_of_a_tree_is_in_the_result_or_counted(self):
        followed = 0
        for name, files, options in trees():
            with self.subTest(name):
                shutil.rmtree(self.folder / "pristine", ignore_errors=True)
                self.write(files, "pristine")
                self.fresh("tree", "pristine")
                source = ["convert", "tree", "DST", *(f"tree/{one}" if one in files else one for one in options)]
                finished = self.call("shardctl", *source)
                if finished.returncode == 0:
                    self.compare_tree(files, finished.stderr, name)
                    continue
                self.assertIn(finished.returncode, (2, 4), finished.stderr)
                self.assertFalse(list(self.folder.rglob("*.tar")), finished.stderr)
                for commands, sentence in self.printed(finished):
                    self.fresh("tree", "pristine")
                    failed = self.follow_in_order([one.replace("FILE", "tree/FILE") for one in commands])
                    if any(one.startswith("sed ") for one in commands):
                        failed = self.call("shardctl", *source)
                    if failed is not None and failed.returncode != 0:  # a command that is refused has advice of its own
                        self.assertIn(failed.returncode, (2, 4), failed.stderr)
                        self.assertFalse(list(self.folder.rglob("*.tar")), failed.stderr)
                        continue
                    followed += 1
                    self.compare_tree(files, sentence, f"{name}: {commands}", only_named=commands)
        self.assertGreater(followed, 5)

    def compare_tree(self, files, said, what, only_named=()):
        """Each file below the folders that the commands name is in a sample, or its kind is counted."""
        named = [word.strip("'") for command in only_named for word in re.findall(r"shardctl convert ('[^']*'|\S+)", command)]
        samples = self.samples_in("DST")
        contents = collections.Counter(content for members, _ in samples for content in members)
        self.assertTrue(samples, what)
        with_json = b"".join(path.read_bytes() for path in (self.folder / "DST").rglob("*.tar"))
        lost = collections.Counter()
        for name, content in files.items():
            if named and not any(f"tree/{name}".startswith(f"{folder.rstrip('/')}/") for folder in named):
                continue
            self.assertLessEqual(contents[content], 1, f"{what}: '{name}' is in several samples")
            kind = pathlib.PurePath(name).suffix
            is_table = name == "FILE" or kind == ".csv" or b'"images"' in content
            if content not in contents and content not in with_json and not is_table:
                lost[kind] += 1
            if b'"images"' in content and any("--unlabeled" in one for one in only_named):
                self.assertIn(b'"bbox"', with_json, f"{what}: the boxes of '{name}' are lost")
        for kind, count in lost.items():
            self.assertIn(f"{count} {kind}", said, f"{what}: {lost}")
        self.compare_labels(files, samples, what)

    def compare_labels(self, files, samples, what):
        """Images of one class folder have one label, and of two two, in all sets together."""
        label_of = {content: label for members, label in samples for content in members}
        labels = collections.defaultdict(set)
        for name, content in files.items():
            if name.endswith(".jpg") and name.count("/") > 0 and label_of.get(content) is not None:
                labels[pathlib.PurePath(name).parent.name].add(label_of[content])
        for folder, found in labels.items():
            self.assertEqual(len(found), 1, f"{what}: '{folder}' has the labels {found}")
        self.assertEqual(len(set(map(frozenset, labels.values()))), len(labels), f"{what}: {labels}")

    # Sets.

    def make_set(self, form):
        files = {name: content for c in "abc" for name, content in numbered(f"{c}/", 4).items()}
        self.write(files, "src")
        self.shardctl("convert", "src", "pristine", "--samples", "4")
        shutil.rmtree(self.folder / "src")
        folder = self.folder / "pristine"
        if form in ("without records", "with an index"):
            shutil.rmtree(folder / ".shardkit")
            (folder / "manifest.json").unlink()
        if form == "with an index":
            self.shardctl("index", "pristine")
        if form == "without a manifest":
            (folder / "manifest.json").unlink()
        for path in folder.glob("*.tar"):
            path.chmod(0o644)
        return sorted(folder.glob("*.tar"))

    def test_each_sample_of_a_set_is_in_the_result_once_or_counted(self):
        followed = 0
        for form, work in self.cases(itertools.product(FORMS, DAMAGES)):
            with self.subTest(f"{work} {form}"):
                for path in self.folder.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                DAMAGES[work](self.make_set(form))
                followed += self.follow_all_of_a_set(f"{work} {form}")
        self.assertGreater(followed, 10)

    def follow_all_of_a_set(self, what):
        there = {(members, label) for members, label in self.samples_in("pristine") if members and label is not None}  # whole ones
        names = self.class_names("pristine")
        self.fresh("set", "pristine")
        verified = self.call("shardctl", "verify", "set", "--json", "-")
        lines = result_of(verified)["result"]["remedies"] if verified.returncode == 3 else []
        advice = [([line.split("  # ")[0]], line) for line in lines if not line.startswith("#")]
        for line in lines:
            advice += [([command], line) for command in re.findall(r"`([^`]+)`", line) if " FILE" not in command]
        refused = self.call("shardctl", "reshard", "set", "OUT")
        advice += [([one], text) for said in (verified, refused) for commands, text in self.printed(said) for one in commands]
        followed = 0
        for commands, text in advice:
            self.assertNotRegex(commands[0], r"^\s*(mv|rm|mkdir)\b|&& *(mv|rm) ")
            if re.search(r"shardctl (verify|ls|parts|stat) ", commands[0]):
                continue
            self.fresh("set", "pristine")
            before = {path.name: path.read_bytes() for path in (self.folder / "set").glob("*.tar*")}
            failed = self.follow_in_order(commands)
            after = {path.name: path.read_bytes() for path in (self.folder / "set").glob("*.tar*")}
            self.assertEqual(after, before, f"{what}: {commands} changed the shards")
            if failed is not None:  # it is refused, with advice of its own
                self.assertEqual(failed.returncode, 4, f"{what}: {commands}: {failed.stderr}")
                self.assertFalse(list((self.folder / "OUT").glob("*.tar")), f"{what}: {commands}")
                continue
            followed += 1
            if not (self.folder / "OUT").exists():
                continue  # it wrote records of the set
            self.compare_set(there, names, text, f"{what}: {commands}")
        return followed

    def compare_set(self, there, names, text, what):
        written = self.samples_in("OUT")
        images = collections.Counter(members for members, _ in written)
        self.assertFalse([members for members, count in images.items() if count > 1], f"{what}: samples twice")
        lost = there - set(written)
        counts = [int(count) for count in re.findall(r"at most (\d+) of \d+ samples", text)]
        counts += [int(all_of) - int(intact) for intact, all_of in re.findall(r"the (\d+) intact of (\d+) samples", text)]
        counts += [int(count) for count in re.findall(r"leaves out its (\d+) sample", text)]
        self.assertLessEqual(len(lost), max(counts, default=0), f"{what}: {len(lost)} of {len(there)} samples are lost: {text}")
        if not names or not self.class_names("OUT"):
            return
        by_name = {members: names[int(label)] for members, label in there if label}
        now = self.class_names("OUT")
        for members, label in written:
            if members in by_name:
                self.assertEqual(now[int(label)], by_name[members], what)


if __name__ == "__main__":
    unittest.main()
