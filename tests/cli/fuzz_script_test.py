"""scripts/fuzz: what it asks of libFuzzer, over fuzz targets that only note their arguments."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import needs  # noqa: E402
from program import CHECKOUT, FolderTest  # noqa: E402

TARGETS = sorted(path.name.removesuffix("_fuzz.cpp") for path in (CHECKOUT / "tests/fuzz").glob("*_fuzz.cpp"))
FAKE = """#!/bin/sh
echo "$@" > {noted}
echo 'stat::number_of_executed_units: 42'
exit {code}
"""


class FuzzScriptTest(FolderTest):
    def setUp(self):
        super().setUp()
        programs = self.folder / "tests/fuzz"
        programs.mkdir(parents=True)
        for target in TARGETS:
            self.make_target(target)
        (self.folder / "CMakeCache.txt").write_text(
            "CMAKE_GENERATOR:INTERNAL=Ninja\nCMAKE_PROJECT_NAME:STATIC=fake\n"
            f"CMAKE_MAKE_PROGRAM:FILEPATH={needs.program('ninja')}\n")
        (self.folder / "build.ninja").write_text("".join(f"build fuzz_{target}: phony\n" for target in TARGETS))

    def make_target(self, target, code=0):
        program = self.folder / f"tests/fuzz/fuzz_{target}"
        program.write_text(FAKE.format(noted=self.folder / f"{target}.arguments", code=code))
        program.chmod(0o755)

    def fuzz(self, *args):
        return subprocess.run([CHECKOUT / "scripts/fuzz", "--no-install", "--build", self.folder, *args],
                              capture_output=True, text=True, timeout=60)

    def limits(self):
        """What each target that ran was asked for first, by target."""
        return {path.name.removesuffix(".arguments"): path.read_text().split()[:2]
                for path in self.folder.glob("*.arguments")}

    def test_a_number_for_each_target_and_others_for_some(self):
        finished = self.fuzz("--runs", "1000000", "--runs", "tar=10000000", "--runs", "url=5")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        expected = {target: ["-runs=1000000", "-seed=1"] for target in TARGETS}
        self.assertEqual(self.limits(), expected | {"tar": ["-runs=10000000", "-seed=1"], "url": ["-runs=5", "-seed=1"]})
        self.assertIn(f"{len(TARGETS)} targets, seed 1\n", finished.stdout)
        self.assertEqual(finished.stdout.count(": 42 inputs\n"), len(TARGETS))

    def test_only_the_targets_that_are_named(self):
        self.assertEqual(self.fuzz("--runs", "tar=7", "--seed", "3").returncode, 0)
        self.assertEqual(self.limits(), {"tar": ["-runs=7", "-seed=3"]})
        self.assertEqual(self.fuzz("--runs", "7", "url", "plan").returncode, 0)
        self.assertEqual(sorted(self.limits()), ["plan", "tar", "url"])

    def test_minutes_are_shared(self):
        self.assertEqual(self.fuzz("3", "tar", "url", "plan", "--jobs", "1").returncode, 0)
        self.assertEqual(self.limits()["plan"], ["-max_total_time=60", "-seed=1"])

    def test_a_target_that_fails_is_exit_1_once_it_has_left_its_input(self):
        self.make_target("tar", code=77)
        (self.folder / "found").mkdir()
        (self.folder / "found/tar-crash-1").write_bytes(b"x")
        finished = self.fuzz("--runs", "tar=7")
        self.assertEqual(finished.returncode, 1)
        self.assertIn("tar: FAILED", finished.stdout)

    def test_a_wrong_command_line_is_exit_2(self):
        for args in ([], ["0"], ["5", "--runs", "3"], ["--runs"], ["--runs", "0"], ["--runs", "x"], ["--runs", "tar="],
                     ["--runs", "nope=3"], ["--runs", "tar=5", "url"], ["--runs", "1", "--seed", "0"], ["--nope"]):
            with self.subTest(args):
                finished = self.fuzz(*args)
                self.assertEqual((finished.returncode, self.limits()), (2, {}), finished.stdout)


if __name__ == "__main__":
    unittest.main()
