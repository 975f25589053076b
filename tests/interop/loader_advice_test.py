"""The code that `iobench run` prints for PyTorch, pasted into Python as it is: an epoch gives every sample, and nothing raises."""

import os
import re
import shlex
import subprocess
import sys
import unittest

from foreign_shards import IndexTest, write_shard
from program import PROGRAMS, need, result_of, run

need("torchvision", "torch")
from PIL import Image  # noqa: E402

EPOCH = """
samples = 0
for images, *labels in loader:
    samples += len(images)
    assert images.shape[1:] == (3, 224, 224), images.shape
print(samples, loader.num_workers)
"""


class LoaderAdvice(IndexTest):
    def photos(self, name="photos", per_class=10, *options):
        source = self.folder / name
        self.shardctl("synth", source, "--classes", 3, "--per-class", per_class, *options)
        return source

    def shards(self, count, source=None):
        target = self.folder / f"shards-{count}"
        self.shardctl("convert", source or self.photos(), target, "--shards", count)
        return target

    def pngs(self):
        source = self.photos()
        for path in source.glob("*/*.JPEG"):
            with Image.open(path) as image:
                image.save(path.with_suffix(".png"))
            path.unlink()
        return source

    def advise(self, data, *options):
        """The report of a short run. 3 is the exit code of a job that is not fed."""
        finished = run("iobench", "run", data, "--batch", 8, "--step-time", "1s", "--budget", "4s", *options)
        self.assertIn(finished.returncode, (0, 1, 3), finished.stderr)
        return finished.stdout

    def epoch(self, report):
        """(samples, workers) of an epoch with the printed code."""
        code = re.search(r"^(?:import|from) .*?^loader = DataLoader\(.*?\)$", report, re.MULTILINE | re.DOTALL)
        self.assertTrue(code, report)
        finished = subprocess.run([sys.executable, "-W", "ignore", "-c", code[0] + EPOCH], capture_output=True, text=True,
                                  timeout=300)
        self.assertEqual(finished.returncode, 0, code[0] + "\n" + finished.stderr)
        return tuple(map(int, finished.stdout.split()))

    def assert_whole_epoch(self, report, most_workers):
        samples, workers = self.epoch(report)
        self.assertEqual(samples, 30)
        self.assertLessEqual(workers, most_workers)

    def test_shards_have_no_more_workers_than_there_are_shards(self):
        source = self.photos()
        for count in (1, 3):
            with self.subTest(shards=count):
                shards = self.shards(count, source)
                self.assert_whole_epoch(self.advise(shards), count)
                self.assert_whole_epoch(self.advise(shards, "--workers", 16), count)

    def test_shards_of_other_formats_are_decoded_too(self):
        self.assert_whole_epoch(self.advise(self.shards(2, self.pngs())), 2)

    def test_a_folder_of_classes_is_an_imagefolder(self):
        self.assert_whole_epoch(self.advise(self.photos()), 64)

    def test_a_folder_of_pngs_is_one_too(self):
        self.assert_whole_epoch(self.advise(self.pngs()), 64)

    def test_tiny_images_and_an_empty_class(self):
        source = self.folder / "tiny"
        for number in range(30):
            path = source / f"c{number % 3}" / f"{number}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (8, 8), number).save(path)
        (source / "empty").mkdir()
        self.assert_whole_epoch(self.advise(source), 64)

    def test_labels_that_are_not_numbers_are_left_out(self):
        source = self.photos()
        shards = self.folder / "x.tar"
        members = []
        for number, path in enumerate(sorted(source.glob("*/*.JPEG"))):
            members += [(f"{number}.jpg", path.read_bytes()), (f"{number}.cls", b"dog")]
        write_shard(shards, members, "ustar")
        self.assert_whole_epoch(self.advise(shards), 1)

    def test_fewer_shards_than_gpus_have_the_command_instead_and_it_works(self):
        report = self.advise(self.shards(1), "--gpus", 2)
        self.assertNotIn("loader = ", report)
        command = re.search(r"`(shardctl reshard [^`]*)`", report)[1]
        done = subprocess.run(shlex.split(command), cwd=self.folder, env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.advise(self.folder / "OUT", "--gpus", 2)
        self.assertNotIn("reshard", report)
        self.assert_whole_epoch(report, 64)

    def test_ranks_share_a_folder(self):
        self.assert_whole_epoch(self.advise(self.photos(), "--gpus", 2), 64)

    def test_python_measures_what_else_is_estimated(self):
        for data in (self.photos(), self.shards(2, self.folder / "photos")):
            with self.subTest(data=data.name):
                finished = run("iobench", "run", data, "--budget", "100s", "--python", sys.executable, "--json", "-")
                self.assertEqual(finished.returncode, 0, finished.stderr)
                result = result_of(finished)["result"]
                self.assertTrue(result["loader"]["calibrated"])
                self.assertGreater(result["loader"]["samples_per_second"], 0)
                self.assertGreater(result["calibration"]["worker_seconds"], 0)

    def test_a_python_without_torch_is_an_error_that_says_what_is_missing(self):
        bare = self.folder / "python3"
        bare.write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
        bare.chmod(0o755)
        finished = run("iobench", "run", self.photos(), "--python", bare)
        self.assert_error(finished, 4, "no torch and no torchvision", "that has torch")


if __name__ == "__main__":
    unittest.main()
