"""Trees as people have them: converted, compared with their source, read by the real webdataset, extracted, and alike again."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from program import CHECKOUT, PROGRAMS, FolderTest, fake_jpeg, fake_png, need, result_of, run, tree  # noqa: E402
from tars import write_tar  # noqa: E402

need("webdataset")
import webdataset  # noqa: E402

PNG = fake_png()
JPEG = fake_jpeg()


class Trees(FolderTest):
    def write(self, files):
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def convert(self, source, *options, out="out"):
        finished = run("shardctl", "convert", self.folder / source, self.folder / out, *options, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)

    def read(self, out="out"):
        """{key: {field: content}} as webdataset reads the shards."""
        urls = sorted(str(path) for path in (self.folder / out).glob("*.tar"))
        samples = list(webdataset.WebDataset(urls, shardshuffle=False))
        fields = {sample["__key__"]: {name: value for name, value in sample.items() if not name.startswith("__")}
                  for sample in samples}
        self.assertEqual(len(fields), len(samples))
        return fields

    def assert_round_trip(self, source, out="out", against=(), restored="", left_out=()):
        """verify --against finds nothing, and extract gives the files back: those of `source`, or of the folder above it."""
        verified = run("shardctl", "verify", self.folder / out, "--against", self.folder / source, *against)
        self.assertEqual(verified.returncode, 0, verified.stdout)
        finished = run("shardctl", "extract", self.folder / out, self.folder / "back")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        files = tree(self.folder / (restored or source))
        self.assertEqual(tree(self.folder / "back"), {name: files[name] for name in files if name not in left_out})

    def test_cityscapes_masks_lie_in_a_parallel_tree_under_another_suffix(self):
        files = {}
        for city in ("aachen", "bochum"):
            for i in range(5):
                stem = f"{city}/{city}_{i:06}_000019"
                files[f"cs/leftImg8bit/{stem}_leftImg8bit.png"] = fake_png(stem.encode())
                files[f"cs/gtFine/{stem}_gtFine_labelIds.png"] = fake_png(b"mask of " + stem.encode())
        self.write(files)
        template = "mask.png=../gtFine/{dir}/{stem-_leftImg8bit}_gtFine_labelIds.png"
        self.convert("cs/leftImg8bit", "--unlabeled", "--field", template)
        samples = self.read()
        self.assertEqual(len(samples), 10)
        self.assertEqual(samples["aachen/aachen_000003_000019_leftImg8bit"],
                         {"png": fake_png(b"aachen/aachen_000003_000019"),
                          "mask.png": fake_png(b"mask of aachen/aachen_000003_000019")})
        self.assert_round_trip("cs/leftImg8bit", restored="cs")

    def test_cityscapes_sets_are_sets(self):
        files = {}
        for name in ("train", "val"):
            files[f"cs/leftImg8bit/{name}/ulm/1_leftImg8bit.png"] = fake_png(name.encode())
            files[f"cs/gtFine/{name}/ulm/1_gtFine_labelIds.png"] = fake_png(b"mask" + name.encode())
        self.write(files)
        self.convert("cs/leftImg8bit", "--unlabeled", "--field",
                     "mask.png=../gtFine/{dir}/{stem-_leftImg8bit}_gtFine_labelIds.png")
        self.assertEqual(self.read("out/val"), {"ulm/1_leftImg8bit": {"png": fake_png(b"val"), "mask.png": fake_png(b"maskval")}})
        extracted = run("shardctl", "extract", self.folder / "out/train", self.folder / "out/val", self.folder / "both")
        self.assertEqual(extracted.returncode, 0, extracted.stderr)
        self.assertEqual(tree(self.folder / "both"), tree(self.folder / "cs"))
        resharded = run("shardctl", "reshard", self.folder / "out/train", self.folder / "again")
        self.assertEqual(resharded.returncode, 0, resharded.stderr)
        extracted = run("shardctl", "extract", self.folder / "again", self.folder / "back")
        self.assertEqual(extracted.returncode, 0, extracted.stderr)
        self.assert_round_trip("cs/leftImg8bit/val", out="out/val", restored="cs")

    def test_ade20k_has_several_masks_an_image_and_long_names(self):
        scene = "urban/street_with_a_name_that_goes_on_and_on_until_no_tar_header_of_a_hundred_bytes_can_hold_all_of_it/"
        files = {}
        for i in range(3):
            files[f"ade/{scene}ADE_{i}.jpg"] = fake_jpeg(bytes([i]))
            files[f"ade/{scene}ADE_{i}_seg.png"] = fake_png(bytes([i]))
            for part in range(i):
                files[f"ade/{scene}ADE_{i}_parts_{part + 1}.png"] = fake_png(bytes([i, part]))
        self.write(files)
        self.convert("ade", "--field", "seg.png={dir}/{stem}_seg.png", "--field", "parts.png?={dir}/{stem}_parts_*.png")
        fields = sorted((sorted(sample) for sample in self.read().values()), key=len)
        self.assertEqual(fields, [["cls", "jpg", "seg.png"], ["cls", "jpg", "parts.0.png", "seg.png"],
                                  ["cls", "jpg", "parts.0.png", "parts.1.png", "seg.png"]])
        self.assert_round_trip("ade")

    def test_voc_has_masks_and_boxes_in_folders_beside_the_images(self):
        files = {}
        for i in range(4):
            files[f"VOC2012/JPEGImages/2007_{i}.jpg"] = fake_jpeg(bytes([i]))
            files[f"VOC2012/Annotations/2007_{i}.xml"] = b"<annotation/>" + bytes([i])
            if i % 2:
                files[f"VOC2012/SegmentationClass/2007_{i}.png"] = fake_png(bytes([i]))
        self.write(files)
        result = self.convert("VOC2012", "--unlabeled", "--field", "xml=Annotations/{stem}.xml", "--field",
                              "png?=SegmentationClass/{stem}.png")
        self.assertEqual([warning["code"] for warning in result["warnings"]], ["field_missing"])
        samples = self.read()
        self.assertEqual(sorted(samples), [f"JPEGImages/2007_{i}" for i in range(4)])
        self.assertEqual(samples["JPEGImages/2007_3"],
                         {"jpg": fake_jpeg(b"\3"), "png": fake_png(b"\3"), "xml": b"<annotation/>\3"})
        self.assert_round_trip("VOC2012")

    def test_samples_that_are_kept_without_a_required_field_are_counted(self):
        self.write({"a/1.jpg": fake_jpeg(b"1"), "a/2.jpg": fake_jpeg(b"2"), "masks/1.png": PNG})
        result = self.convert("a", "--unlabeled", "--field", "mask.png=../masks/{stem}.png", "--on-bad", "keep")
        self.assertEqual([(warning["code"], warning["text"]) for warning in result["warnings"]],
                         [("field_missing", "1 sample kept without a required field")])

    def test_img2dataset_folders_are_no_classes(self):
        files = {}
        for i in range(4):
            stem = f"laion/0000{i % 2}/0000{i % 2}000{i}"
            files[stem + ".jpg"] = fake_jpeg(bytes([i]))
            files[stem + ".txt"] = f"caption {i}".encode()
            files[stem + ".json"] = json.dumps({"key": i}).encode()
        self.write({**files, "laion/00000_stats.json": b"{}", "laion/00000.parquet": b"PAR1"})
        result = self.convert("laion", "--unlabeled")
        self.assertIn("1 .json, 1 .parquet", result["warnings"][0]["text"])
        samples = self.read()
        self.assertEqual(sorted(samples["00001/000010003"]), ["jpg", "json", "txt"])
        self.assert_round_trip("laion", left_out=("00000_stats.json", "00000.parquet"))

    def test_open_images_lists_ids_with_a_row_for_each_label(self):
        self.write({f"images/{name}.jpg": fake_jpeg(name.encode()) for name in ("a1", "b2", "c3")})
        self.write({"labels.csv": b"ImageID,LabelName,Confidence\nb2,/m/01,1\na1,/m/02,1\nb2.jpg,/m/03,0\n"})
        listed = ("--list", self.folder / "labels.csv", "--path-column", "ImageID", "--label-column", "LabelName")
        self.convert("images", *listed)
        samples = self.read()
        by_image = {sample["jpg"][3:-2]: sample for sample in samples.values()}
        self.assertEqual(sorted(by_image), [b"a1", b"b2"])
        self.assertEqual(json.loads(by_image[b"b2"]["json"]), [{"LabelName": "/m/01", "Confidence": "1"},
                                                                {"LabelName": "/m/03", "Confidence": "0"}])
        self.assertNotIn("cls", by_image[b"b2"])
        self.assertEqual(by_image[b"a1"]["cls"], b"1")

    def test_frames_of_clips_keep_the_clip_in_their_keys(self):
        self.write({f"clips/{action}/video_{video}/frame_{frame}.jpg": fake_jpeg(f"{action}{video}{frame}".encode())
                    for action in ("run", "walk") for video in range(2) for frame in range(3)})
        self.convert("clips")
        samples = self.read()
        self.assertEqual(samples["walk/video_1/frame_2"], {"jpg": fake_jpeg(b"walk12"), "cls": b"1"})
        self.assertEqual(len(samples), 12)
        self.assert_round_trip("clips")

    def test_audio_with_transcripts(self):
        self.write({"speech/anna/1.flac": b"fLaC1", "speech/anna/1.txt": b"hello", "speech/ben/2.wav": b"RIFF2",
                    "speech/ben/2.txt": b"world"})
        self.convert("speech", "--primary", "flac,wav")
        self.assertEqual(self.read(), {"anna/1": {"flac": b"fLaC1", "txt": b"hello", "cls": b"0"},
                                       "ben/2": {"wav": b"RIFF2", "txt": b"world", "cls": b"1"}})
        self.assert_round_trip("speech")

    def test_tokens_without_labels(self):
        self.write({"tokens/part0/0.bin": b"\1\2", "tokens/part0/1.npy": b"\x93NUMPY", "tokens/2.bin": b"\3"})
        self.convert("tokens", "--primary", "bin,npy", "--unlabeled")
        self.assertEqual(self.read(), {"part0/0": {"bin": b"\1\2"}, "part0/1": {"npy": b"\x93NUMPY"}, "2": {"bin": b"\3"}})
        self.assert_round_trip("tokens")

    def test_a_flat_folder_of_images(self):
        self.write({f"flat/{i}.jpg": fake_jpeg(bytes([i])) for i in range(5)})
        refused = run("shardctl", "convert", self.folder / "flat", self.folder / "out")
        self.assertEqual(refused.returncode, 4)
        self.assertIn("--unlabeled", refused.stderr)
        self.convert("flat", "--unlabeled")
        self.assertEqual(self.read(), {str(i): {"jpg": fake_jpeg(bytes([i]))} for i in range(5)})
        self.assert_round_trip("flat")

    def test_imagenet_comes_as_a_tar_of_tars(self):
        archives = self.folder / "archives"
        archives.mkdir()
        for name in ("n01440764", "n01443537"):
            write_tar(archives / f"{name}.tar", [(f"{name}_{i}.JPEG", fake_jpeg(bytes([i]))) for i in range(3)])
        write_tar(self.folder / "ILSVRC2012_img_train.tar",
                  [(path.name, path.read_bytes()) for path in sorted(archives.iterdir())])
        page = (CHECKOUT / "docs/how-to/imagenet-slurm.md").read_text()
        commands = page[page.index("mkdir train\n"):]
        commands = commands[:commands.index("```")] + "shardctl convert train shards\n"
        finished = subprocess.run(["bash", "-e", "-c", commands], cwd=self.folder, capture_output=True, text=True,
                                  env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})
        self.assertEqual(finished.returncode, 0, finished.stderr)
        samples = self.read("shards")
        self.assertEqual(samples["n01443537/n01443537_2"], {"jpg": fake_jpeg(b"\2"), "cls": b"1"})
        self.assertEqual(len(samples), 6)

    def test_a_sample_without_a_required_field_is_a_bad_file(self):
        self.write({"a/x/1.jpg": JPEG, "a/x/1_m.png": PNG, "a/x/2.jpg": JPEG})
        field = ("--field", "m.png={dir}/{stem}_m.png")
        refused = run("shardctl", "convert", self.folder / "a", self.folder / "out", *field)
        self.assertEqual(refused.returncode, 4)
        self.assertIn("a/x/2.jpg' lacks a required field: m.png", refused.stderr)
        result = self.convert("a", *field, "--on-bad", "skip")["result"]
        self.assertEqual((result["samples"], result["skipped"]), (1, 1))
        self.assertEqual(self.convert("a", *field, "--on-bad", "keep", out="kept")["result"]["samples"], 2)
        optional = self.convert("a", "--field", "m.png?={dir}/{stem}_m.png", out="optional")
        self.assertEqual(optional["result"]["samples"], 2)
        self.assertIn("1 sample without the optional field 'm.png'", optional["warnings"][0]["text"])

    def test_a_reshard_keeps_where_files_came_from(self):
        self.write({"t/c/im1.jpg": JPEG, "t/c/im1_mask.png": PNG, "t/c/im1.TXT": b"words"})
        self.convert("t", "--sidecar", "_mask.png", "--field", "words={dir}/{stem}.TXT")
        resharded = run("shardctl", "reshard", self.folder / "out", self.folder / "again", "--rename", "mask.png=seg.png")
        self.assertEqual(resharded.returncode, 0, resharded.stderr)
        self.assertEqual(self.read("again")["c/im1"], {"jpg": JPEG, "seg.png": PNG, "words": b"words", "cls": b"0"})
        finished = run("shardctl", "extract", self.folder / "again", self.folder / "back")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(tree(self.folder / "back"), tree(self.folder / "t"))


if __name__ == "__main__":
    unittest.main()
