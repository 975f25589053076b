"""`iobench decode --backend nvjpeg` as a program: what it says where there is no GPU, and bad input."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import FolderTest, result_of, run  # noqa: E402


class Nvjpeg(FolderTest):
    def setUp(self):
        super().setUp()
        done = run("shardctl", "synth", self.folder / "photos", "--classes", "2", "--per-class", "6")
        self.assertEqual(done.returncode, 0, done.stderr)

    def decode(self, *arguments):
        return run("iobench", "decode", self.folder / "photos", *arguments)


class WithoutGpu(Nvjpeg):
    def setUp(self):
        super().setUp()
        if self.decode("--backend", "nvjpeg", "--min-time", "0").returncode == 0:
            self.skipTest("SKIPPED: a GPU and nvJPEG are here")

    def test_one_line_says_what_is_missing(self):
        done = self.decode("--backend", "nvjpeg")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aiobench: error: no (GPU|nvJPEG)[^\n]+\n\Z")

    def test_the_envelope_says_it_too(self):
        done = self.decode("--backend", "nvjpeg", "--json", "-")
        self.assertEqual(done.returncode, 4)
        envelope = result_of(done)
        self.assertEqual(envelope["error"]["code"], "unsupported")
        self.assertIsNone(envelope["result"])

    def test_the_cpu_decodes_all_the_same(self):
        done = self.decode("--min-time", "0", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = result_of(done)["result"]
        self.assertEqual(result["backend"], "cpu")
        self.assertEqual(result["decoded"], 12)
        self.assertIsNone(result["nvjpeg"])


class WithGpu(Nvjpeg):
    def setUp(self):
        super().setUp()
        self.done = self.decode("--backend", "nvjpeg", "--min-time", "0.5", "--batch", "4", "--json", "-")
        if self.done.returncode == 4 and result_of(self.done)["error"]["code"] == "unsupported":
            self.skipTest("SKIPPED: no GPU or no nvJPEG here")

    def test_pixels_are_right_and_every_image_is_counted_on_a_path(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        result = result_of(self.done)["result"]
        own = result["nvjpeg"]
        self.assertGreaterEqual(own["pixels"]["compared"], 12)
        self.assertGreaterEqual(own["pixels"]["min_psnr_db"], own["pixels"]["least_allowed_psnr_db"])
        self.assertEqual(sum(path["samples"] for path in own["paths"]), result["decoded"])
        self.assertAlmostEqual(sum(path["share_ratio"] for path in own["paths"]), 1)
        self.assertGreater(result["samples_per_second"], 0)

    def test_a_gpu_that_is_not_there_is_exit_4(self):
        self.assert_error(self.decode("--backend", "nvjpeg", "--device", "4000"), 4, "there is no such GPU")


class BadInput(Nvjpeg):
    def test_a_slip_is_reported_before_what_the_machine_lacks(self):
        for arguments, text in (
            (("--backend", "gpu"), "--backend"),
            (("--backend", "nvjpeg", "--crop", "224"), "--crop needs --backend cpu"),
            (("--backend", "nvjpeg", "--augment", "imagenet"), "--augment needs --backend cpu"),
            (("--backend", "nvjpeg", "--scaling"), "--scaling needs --backend cpu"),
            (("--backend", "nvjpeg", "--batch", "0"), "--batch must be from 1 to 65536"),
            (("--batch", "8"), "--batch needs --backend nvjpeg"),
            (("--device", "0"), "--device needs --backend nvjpeg"),
        ):
            with self.subTest(arguments):
                self.assert_error(self.decode(*arguments), 2, text)


if __name__ == "__main__":
    unittest.main()
