"""Validates docs/schema/ and what the programs really write against it, with the jsonschema package.

    SHARDKIT_PROGRAMS=build/dev/apps python3 tests/cli/schema_test.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import need  # noqa: E402

need("jsonschema")
import jsonschema  # noqa: E402

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs/schema"
SHARDCTL = os.environ["SHARDKIT_PROGRAMS"] + "/shardctl"


def run(*arguments):
    """The exit code and the envelope of a command run with --json -."""
    done = subprocess.run([SHARDCTL, *arguments, "--json", "-"], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout)


class Schemas(unittest.TestCase):
    def test_are_valid_themselves(self):
        files = sorted(SCHEMAS.glob("*.json"))
        self.assertTrue(files)
        for file in files:
            jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text()))


class Envelopes(unittest.TestCase):
    def expect(self, verb, exit_code, *arguments):
        code, envelope = run(verb, *arguments)
        self.assertEqual(code, exit_code, envelope["error"])
        schema = json.loads((SCHEMAS / f"shardctl-{verb}.json").read_text())
        jsonschema.validate(envelope, schema, cls=jsonschema.Draft202012Validator)
        return envelope

    def test_fit_their_schema_from_success_to_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            photos = f"{folder}/photos"
            self.expect("synth", 0, photos, "--classes", "2", "--per-class", "3")
            self.expect("plan", 0, photos, "-o", f"{folder}/plan")
            self.expect("convert", 0, photos, f"{folder}/shards")
            self.expect("stage", 0, f"{folder}/shards", f"{folder}/staged")
            self.expect("stage", 5, f"{folder}/shards", f"{folder}/none", "--limit", "1")
            self.expect("convert", 4, f"{folder}/absent", f"{folder}/none")
            self.expect("convert", 2, photos, f"{folder}/none", "--size", "large")
            self.expect("merge", 4, f"{folder}/absent")
            self.expect("verify", 0, f"{folder}/shards")
            self.expect("index", 4, f"{folder}/shards")
            shard = pathlib.Path(folder, "foreign", "a b.tar")
            shard.parent.mkdir()
            shard.write_bytes(pathlib.Path(folder, "shards", "shard-000000.tar").read_bytes()[:-1024])
            self.expect("index", 0, str(shard.parent))
            self.expect("verify", 3, str(shard.parent))

    def test_survive_names_that_are_not_utf8(self):
        with tempfile.TemporaryDirectory() as folder:
            envelope = self.expect("convert", 4, folder.encode() + b"/\xff\xfe", f"{folder}/none")
            self.assertIn("�", envelope["error"]["path"])


if __name__ == "__main__":
    unittest.main()
