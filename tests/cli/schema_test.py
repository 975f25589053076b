"""Validates docs/schema/ and what the programs really write against it, with the jsonschema package.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/schema_test.py
"""

import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import PROGRAMS, need  # noqa: E402

need("jsonschema")
import jsonschema  # noqa: E402
from schemas import SCHEMAS, validate  # noqa: E402


def run(program, *arguments):
    """The exit code and the envelope of a command run with --json -."""
    done = subprocess.run([f"{PROGRAMS}/{program}", *arguments, "--json", "-"], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout)


class Schemas(unittest.TestCase):
    def test_are_valid_themselves(self):
        files = sorted(SCHEMAS.glob("*.json"))
        self.assertTrue(files)
        for file in files:
            jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text()))


    def test_refuse_what_does_not_fit_a_shared_object(self):
        _, envelope = run("shardctl", "verify", "/absent")
        for damage in ({"host": {}}, {"tool": {**envelope["tool"], "name": "iobench"}}, {"exit_code": 77}, {"options": {}}):
            with self.assertRaises(jsonschema.ValidationError):
                validate({**envelope, **damage}, "shardctl-verify.json")


class FilesOfCompare(unittest.TestCase):
    """Gates and baselines, which people write and keep in repositories."""

    def test_samples_fit_their_schema(self):
        samples = SCHEMAS.parents[1] / "samples/ci"
        gates = [json.loads(file.read_text()) for file in samples.glob("*.json")]
        self.assertTrue(gates)
        for content in gates:
            validate(content, content["schema"].removeprefix("shardkit/") + ".json")

    def test_a_metric_that_there_is_not_does_not_fit(self):
        gate = {"schema": "shardkit/gate", "schema_version": 1, "requirements": [{"metric": "read.speed", "min": 1}]}
        with self.assertRaises(jsonschema.ValidationError):
            validate(gate, "gate.json")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that has measured enough leaves in the middle of an answer."""


class WebServer:
    """Serves a folder over HTTP, without ranges, as long as the with block lasts."""

    def __init__(self, folder):
        handler = functools.partial(QuietHandler, directory=folder)
        self.server = QuietServer(("127.0.0.1", 0), handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class EnvelopeTest(unittest.TestCase):
    program = "shardctl"

    def expect(self, verb, exit_code, *arguments):
        code, envelope = run(self.program, *verb.split(), *arguments)
        self.assertEqual(code, exit_code, envelope["error"])
        validate(envelope, f"{self.program}-{verb}.json".replace(" ", "-"))
        return envelope


class Shardctl(EnvelopeTest):
    def test_envelopes_fit_their_schema_from_success_to_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            photos = f"{folder}/photos"
            self.expect("synth", 0, photos, "--classes", "2", "--per-class", "3")
            self.expect("plan", 0, photos, "-o", f"{folder}/plan")
            self.expect("convert", 0, photos, f"{folder}/shards")
            self.expect("stage", 0, f"{folder}/shards", f"{folder}/staged", "--lease-id", "job")
            self.expect("stage", 5, f"{folder}/shards", f"{folder}/none", "--limit", "1KiB")
            self.expect("stage", 0, f"{folder}/absent", f"{folder}/none", "--soft-fail")
            self.expect("cache ls", 0, folder, "--long")
            self.expect("cache ls", 4, f"{folder}/absent")
            self.expect("cache warm", 0, folder)
            self.expect("cache check", 0, folder)
            self.expect("cache gc", 5, folder, "--limit", "0")
            self.expect("cache hold", 2, folder)
            self.expect("cache rm", 1, f"{folder}/staged")
            self.expect("cache release", 0, folder, "--lease-id", "job")
            pathlib.Path(folder, "staged", "shard-000000.tar").write_bytes(b"x")
            self.expect("cache check", 3, folder, "--depth", "structure")
            self.expect("cache rm", 0, f"{folder}/staged")
            self.expect("cache gc", 0, folder, "--limit", "0")
            self.expect("convert", 4, f"{folder}/absent", f"{folder}/none")
            self.expect("convert", 2, photos, f"{folder}/none", "--size", "large")
            self.expect("parts", 4, f"{folder}/absent")
            self.expect("convert", 0, photos, f"{folder}/parts", "--part", "0/2")
            self.expect("parts", 0, f"{folder}/parts")
            self.expect("merge", 4, f"{folder}/absent")
            self.expect("verify", 0, f"{folder}/shards")
            self.expect("index", 4, f"{folder}/shards")
            self.expect("stat", 0, f"{folder}/shards")
            self.expect("ls", 0, f"{folder}/shards")
            self.expect("cat", 2, f"{folder}/shards", "any")
            self.expect("extract", 0, f"{folder}/shards", f"{folder}/back")
            self.expect("extract", 4, f"{folder}/absent", f"{folder}/back")
            shard = pathlib.Path(folder, "foreign", "a b.tar")
            shard.parent.mkdir()
            shard.write_bytes(pathlib.Path(folder, "shards", "shard-000000.tar").read_bytes()[:-1024])
            self.expect("index", 0, str(shard.parent))
            self.expect("reshard", 0, f"{folder}/shards", f"{folder}/sets", "--split", "a=0.5,b=0.5", "--drop-bad")
            self.expect("reshard", 4, f"{folder}/absent", f"{folder}/none")
            self.expect("verify", 3, str(shard.parent))

    def test_survive_names_that_are_not_utf8(self):
        with tempfile.TemporaryDirectory() as folder:
            envelope = self.expect("convert", 4, folder.encode() + b"/\xff\xfe", f"{folder}/none")
            self.assertIn("�", envelope["error"]["path"])


class Iobench(EnvelopeTest):
    program = "iobench"

    def test_envelopes_fit_their_schema_from_success_to_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            run("shardctl", "synth", f"{folder}/photos", "--classes", "2", "--per-class", "3")
            run("shardctl", "convert", f"{folder}/photos", f"{folder}/shards")
            shards = f"{folder}/shards"
            read = self.expect("read", 0, shards, "--cache", "any")
            self.assertEqual(read["result"]["engine"], "pread")
            self.expect("read", 0, shards, "--mode", "random", "--cache", "any")
            self.expect("read", 4, f"{folder}/absent")
            self.expect("env", 0, shards)
            self.expect("env", 4, f"{folder}/absent")
            self.expect("env", 2, "--batch", "8")
            watched = self.expect("watch", 0, shards, "--pid", str(os.getpid()), "--interval", "0.1s", "--count", "2")
            self.assertEqual(watched["result"]["summary"]["intervals"], 2)
            self.expect("watch", 2, "--count", "0")
            decode = self.expect("decode", 0, shards, "--min-time", "0.05s", "--threads", "1")
            self.assertGreater(decode["result"]["samples_per_second"], 0)
            self.expect("decode", 2, shards, "--crop", "1000000")
            augmented = self.expect("decode", 0, shards, "--min-time", "0.05s", "--augment", "imagenet", "--scaling")
            self.assertGreater(augmented["result"]["augment"]["samples_per_second"], 0)
            piped = self.expect("pipeline", 0, shards, "--batch", "2", "--step-time", "1ms", "--trace", f"{folder}/t")
            self.assertEqual(piped["result"]["samples"], 6)
            self.expect("pipeline", 0, shards, "--backend", "null", "--batch", "2")
            self.expect("pipeline", 2, shards, "--batch", "0")
            self.expect("transfer", 2, "--bytes", "many")
            self.expect("model", 0, "--preset", "resnet50-h100", "--gpus", "8")
            self.expect("model", 2, "--batch", "0")
            run_result = self.expect("run", 0, shards, "--budget", "1s")
            self.assertIn("limiting_stage", run_result["result"]["verdict"])
            repeated = self.expect("run", 0, shards, "--budget", "0.1s", "--repeat", "2", "--cache", "warm")
            pathlib.Path(folder, "run.json").write_text(json.dumps(repeated))
            self.expect("compare", 0, f"{folder}/run.json", f"{folder}/run.json")
            self.expect("compare", 0, f"{folder}/run.json", "--save-baseline", f"{folder}/fleet.json")
            fleet = json.loads(pathlib.Path(folder, "fleet.json").read_text())
            validate(fleet, "baseline.json")
            self.expect("compare", 3, f"{folder}/run.json", f"{folder}/run.json", "--strict")
            self.expect("compare", 4, f"{folder}/run.json", f"{folder}/absent.json")
            short = self.expect("run", 3, shards, "--budget", "1s", "--preset", "unet3d-b200", "--gpus", "100000", "--force-verdict")
            self.assertFalse(short["result"]["verdict"]["ok"])

    def test_reading_from_a_store_ends_in_stream_or_stage(self):
        with tempfile.TemporaryDirectory() as folder, WebServer(folder) as url:
            pathlib.Path(folder, "a.tar").write_bytes(bytes(1 << 20))
            quick = [f"{url}/a.tar", "--threads", "2", "--budget", "1s"]
            plain = self.expect("read", 0, *quick)
            self.assertIsNone(plain["result"]["store"]["streaming"])
            self.assertIsNone(plain["result"]["samples_per_second"])
            stream = self.expect("read", 0, *quick, "--required-rate", "1KB")
            self.assertEqual(stream["result"]["store"]["streaming"]["verdict"], "stream")
            stage = self.expect("read", 3, *quick, "--required-rate", "1000TB/s")
            self.assertEqual(stage["result"]["store"]["streaming"]["verdict"], "stage")
            self.expect("read", 2, *quick, "--cache", "cold")
            self.expect("read", 2, *quick, folder)
            self.expect("read", 4, f"{url}/absent.tar", "--budget", "1s")

    def test_metrics_of_a_run_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            run("shardctl", "synth", f"{folder}/photos", "--classes", "1", "--per-class", "2")
            code, _ = run("iobench", "read", f"{folder}/photos", "--cache", "any", "--prometheus", f"{folder}/m.prom")
            self.assertEqual(code, 0)
            self.assertRegex(pathlib.Path(folder, "m.prom").read_text(), r"(?m)^shardkit_\S+_bytes_per_second\S* \d")


if __name__ == "__main__":
    unittest.main()
