"""A measurement that is interrupted gives what it had, and says that it is incomplete."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import PROGRAMS, run  # noqa: E402


class Interrupts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        assert run("shardctl", "synth", cls.folder / "photos", "--classes", 2, "--per-class", 8).returncode == 0
        assert run("shardctl", "convert", cls.folder / "photos", cls.folder / "shards").returncode == 0

    def interrupted(self, verb, *options, phase):
        """What is printed, and the envelope, of a command that gets SIGINT when its progress shows this phase."""
        path = self.folder / f"{verb}.json"
        command = [str(PROGRAMS / "iobench"), verb, str(self.folder / "shards"), *options, "--log", "json"]
        with subprocess.Popen([*command, "--json", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stderr:
                if json.loads(line).get("phase") == phase:
                    process.send_signal(signal.SIGINT)
                    break
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        envelope = json.loads(path.read_text())
        self.assertTrue(envelope["interrupted"])
        self.assertEqual((envelope["status"], envelope["error"]["code"]), ("failed", "cancelled"))
        self.assertEqual(envelope["error"]["text"], "stopped by SIGINT")
        return out, envelope["result"]

    def test_decode_gives_the_rate_until_then(self):
        out, result = self.interrupted("decode", "--min-time", "1h", phase="decoding")
        self.assertTrue(out.startswith("interrupted, incomplete: "), out)
        self.assertGreater(result["samples_per_second"], 0)

    def test_read_gives_the_rate_until_then(self):
        out, result = self.interrupted("read", "--min-time", "1h", "--cache", "warm", phase="reading")
        self.assertTrue(out.startswith("interrupted, incomplete: "), out)
        self.assertGreater(result["bytes_per_second"], 0)

    def test_pipeline_gives_the_rate_until_then_also_of_the_first_of_several_values(self):
        for prefetch in ("2", "2,4"):  # a batch is an epoch: stops between epochs are as likely as in one
            out, result = self.interrupted("pipeline", "--batch", "16", "--crop", "32", "--epochs", "1000000",
                                           "--budget", "1h", "--cache", "warm", "--prefetch", prefetch,
                                           phase="running the pipeline")
            self.assertTrue(out.startswith("interrupted, incomplete: "), out)
            self.assertGreater(result["samples_per_second"], 0)
            self.assertEqual([row["prefetch"] for row in result["prefetches"]], [2])

    def test_run_gives_the_stages_before_and_no_verdict(self):
        out, result = self.interrupted("run", "--budget", "2m", "--cache", "warm", phase="decoding")
        self.assertTrue(out.startswith("interrupted: no verdict; read "), out)
        self.assertIn("next: iobench run ", out)
        self.assertFalse(result["verdict"]["ok"])
        self.assertEqual(result["stages"], [])
        self.assertGreater(result["read"]["bytes_per_second"], 0)

    def test_sweep_gives_the_points_before(self):
        out, result = self.interrupted("sweep", "--mode", "load", "--cache", "warm", "--budget", "10m",
                                       phase="running the pipeline")
        self.assertRegex(out, r"^interrupted after \d+ points?: no settings were chosen")
        self.assertNotIn("next:", out)


if __name__ == "__main__":
    unittest.main()
