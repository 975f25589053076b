"""shardctl verify and index as a job or CI sees them: exit codes, JSON, what damage is named."""

import io
import pathlib
import re
import subprocess
import sys
import tarfile
import unittest
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, FolderTest, fake_jpeg, run  # noqa: E402


def write_shard(path, samples, name="{:05}", label="{}", tar_format=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w", format=tar_format) as tar:
        for number in samples:
            for extension, content in (("jpg", fake_jpeg(b"image %d" % number)), ("cls", label.format(number).encode())):
                info = tarfile.TarInfo(f"{name.format(number)}.{extension}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


class Verify(FolderTest):
    def setUp(self):
        super().setUp()
        self.shards = self.folder / "shards"
        self.shards.mkdir()
        write_shard(self.shards / "s-0.tar", range(0, 20))
        write_shard(self.shards / "s-1.tar", range(20, 40))

    def test_the_report_counts_each_finding_once(self):
        write_shard(self.shards / "s-0.tar", [number % 2 for number in range(30)], label="x{}")
        text = run("shardctl", "verify", self.shards).stdout
        self.assertIn("bad_label: 30 findings", text)
        self.assertIn("and 27 more", text)
        self.assertNotIn("has no line for", text)

    def test_the_report_starts_with_the_verdict(self):
        self.assertTrue(run("shardctl", "verify", self.shards).stdout.startswith("sound: 2 shards"))
        (self.shards / "s-1.tar").write_bytes((self.shards / "s-1.tar").read_bytes()[:5000])
        finished = run("shardctl", "verify", self.shards)
        self.assertEqual(finished.returncode, 3)
        self.assertRegex(finished.stdout.splitlines()[0], "^not sound: 1 of 2 shards with errors, 1 error")

    def test_reports_for_ci_name_every_problem(self):
        junit, markdown = self.folder / "report.xml", self.folder / "report.md"
        finished = run("shardctl", "verify", self.shards, "--depth", "decode", "--junit", junit, "--markdown", markdown)
        self.assertEqual(finished.returncode, 3)  # the images of this test only look like some
        suite = ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual(suite.get("name"), "shardctl verify")
        self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
        self.assertEqual([case.get("name") for case in suite.findall("testcase")], ["s-0.tar", "s-1.tar", "the set"])
        self.assertIn("image_truncated", suite.find("testcase/failure").get("message"))
        self.assertIn("| error | `image_truncated` | s-0.tar at byte 512", markdown.read_text())

    def test_reports_of_good_shards_and_of_a_failed_run_say_so(self):
        junit, markdown = self.folder / "report.xml", self.folder / "report.md"
        self.assertEqual(run("shardctl", "verify", self.shards, "--junit", junit, "--markdown", markdown).returncode, 0)
        self.assertEqual(ElementTree.parse(junit).getroot().find("testsuite").get("failures"), "0")
        self.assertIn("no problems", markdown.read_text())
        self.assertEqual(run("shardctl", "verify", self.folder / "<none>&", "--junit", junit).returncode, 4)
        self.assertIn("<none>&", ElementTree.parse(junit).getroot().find("testsuite/testcase/error").get("message"))

    def test_reports_of_names_that_are_not_utf8_can_be_read(self):
        junit, markdown = self.folder / "report.xml", self.folder / "report.md"
        with tarfile.open(self.folder / "odd.tar", "w", format=tarfile.GNU_FORMAT, encoding="latin-1") as tar:
            for name in ("b\xe4d.JPG", "b\xe4d.jpg"):
                tar.addfile(tarfile.TarInfo(name))
        finished = subprocess.run([PROGRAMS / "shardctl", "verify", self.folder / "odd.tar", "--junit", junit,
                                   "--markdown", markdown], capture_output=True)
        self.assertEqual(finished.returncode, 3)
        self.assertIn("b\ufffdd", ElementTree.parse(junit).getroot().find("testsuite/testcase/failure").get("message"))
        self.assertIn("b\ufffdd", markdown.read_text(encoding="utf-8"))

    def test_warnings_are_failures_of_a_strict_report(self):
        junit, shard = self.folder / "report.xml", self.folder / "warned.tar"
        write_shard(shard, range(2), name="a {}")
        for strict, code in (([], 0), (["--strict"], 3)):
            finished = run("shardctl", "verify", shard, "--depth", "structure", "--junit", junit, *strict)
            self.assertEqual(finished.returncode, code, finished.stdout)
            suite = ElementTree.parse(junit).getroot().find("testsuite")
            self.assertEqual(suite.get("failures") != "0", bool(strict))
            self.assertEqual(suite.get("skipped") == "0", bool(strict))


class Documentation(unittest.TestCase):
    def test_lists_every_code_with_its_severity_and_meaning(self):
        root = pathlib.Path(__file__).resolve().parents[3]
        page = (root / "docs/explain/verify.md").read_text()
        source = (root / "lib/dataset/checks/problem.cpp").read_text()
        rows = re.findall(r'"(\w+)", k(Error|Warning),\s*"([^"]*)"', source)
        self.assertGreater(len(rows), 40)
        for code, severity, meaning in rows:
            self.assertIn(f"| `{code}` | {severity.lower()} | {meaning} |\n", page)


if __name__ == "__main__":
    unittest.main()
