"""samples/ci: the pipelines are YAML of the expected shape, and their commands exist."""

import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from program import CHECKOUT, need  # noqa: E402

need("yaml")
import yaml  # noqa: E402

SAMPLES = CHECKOUT / "samples/ci"


def commands_of(sample):
    """The shell commands of all jobs."""
    document = yaml.safe_load((SAMPLES / sample).read_text())
    if "jobs" in document:
        return [step["run"] for job in document["jobs"].values() for step in job["steps"] if "run" in step]
    return [line for job in document.values() for part in ("before_script", "script") for line in job.get(part, [])]


class Pipelines(unittest.TestCase):
    def test_their_commands_are_shell(self):
        for path in SAMPLES.glob("*.yml"):
            commands = commands_of(path.name)
            self.assertTrue(commands, path)
            for command in commands:
                done = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{path}: {command}\n{done.stderr}")

    def test_the_release_is_made_by_our_script(self):
        for sample in ("release.github.yml", "release.gitlab-ci.yml"):
            scripts = [script for command in commands_of(sample) for script in re.findall(r"^scripts/\S+.*$", command, re.M)]
            self.assertEqual(scripts, ["scripts/release --arch all"])
            done = subprocess.run([CHECKOUT / "scripts/release", "--help"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(any("dist/*" in command for command in commands_of(sample)), sample)

    def test_they_run_for_tags_only(self):
        github = yaml.safe_load((SAMPLES / "release.github.yml").read_text())
        self.assertEqual(github[True], {"push": {"tags": ["v*"]}})  # YAML 1.1 reads `on` as true
        gitlab = yaml.safe_load((SAMPLES / "release.gitlab-ci.yml").read_text())
        self.assertEqual(gitlab["release"]["rules"], [{"if": "$CI_COMMIT_TAG"}])


if __name__ == "__main__":
    unittest.main()
