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
from program import PROGRAMS, FolderTest, fake_jpeg, result_of, run  # noqa: E402


def write_shard(path, samples, name="{:05}", label="{}", tar_format=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w", format=tar_format) as tar:
        for number in samples:
            for extension, content in (("jpg", fake_jpeg(b"image %d" % number)), ("cls", label.format(number).encode())):
                info = tarfile.TarInfo(f"{name.format(number)}.{extension}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


def verify(*args):
    return run("shardctl", "verify", *args, "--json", "-")


class Verify(FolderTest):
    def setUp(self):
        super().setUp()
        self.shards = self.folder / "shards"
        self.shards.mkdir()
        write_shard(self.shards / "s-0.tar", range(0, 20))
        write_shard(self.shards / "s-1.tar", range(20, 40))

    def codes(self, finished):
        return [problem["code"] for problem in result_of(finished)["result"]["problems"]]

    def test_what_convert_wrote_is_clean_to_the_last_byte(self):
        out = self.folder / "out"
        source = self.make_tree()
        self.assertEqual(run("shardctl", "convert", source, out, "--samples", "40").returncode, 0)
        finished = verify(out, "--strict")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = result_of(finished)["result"]
        self.assertEqual((result["depth"], result["samples"], result["shards"]), ("checksum", 90, 3))
        self.assertEqual(result["problems"], [])

    def test_the_report_counts_each_finding_once(self):
        write_shard(self.shards / "s-0.tar", [number % 2 for number in range(30)], label="x{}")
        text = run("shardctl", "verify", self.shards).stdout
        self.assertIn("bad_label: 30 findings", text)
        self.assertIn("and 27 more", text)
        self.assertNotIn("has no line for", text)

    def test_a_flipped_byte_in_what_convert_wrote_names_the_sample_and_exits_3(self):
        out = self.folder / "out"
        self.assertEqual(run("shardctl", "convert", self.make_tree(), out).returncode, 0)
        shard = next(out.glob("*.tar"))
        damaged = bytearray(shard.read_bytes())
        damaged[1536] ^= 1  # the first byte of the first image, behind its label
        shard.chmod(0o644)
        shard.write_bytes(damaged)
        finished = verify(out)
        self.assertEqual(finished.returncode, 3)
        envelope = result_of(finished)
        self.assertEqual(envelope["status"], "findings")
        problems = envelope["result"]["problems"]
        self.assertEqual([problem["code"] for problem in problems], ["sample_checksum"])
        self.assertEqual((problems[0]["shard"], problems[0]["offset"]), (shard.name, 1536))
        with tarfile.open(out / shard.name) as tar:
            self.assertEqual(problems[0]["key"] + ".jpg", tar.getnames()[1])

    def test_the_report_starts_with_the_verdict(self):
        self.assertTrue(run("shardctl", "verify", self.shards).stdout.startswith("sound: 2 shards"))
        (self.shards / "s-1.tar").write_bytes((self.shards / "s-1.tar").read_bytes()[:5000])
        finished = run("shardctl", "verify", self.shards)
        self.assertEqual(finished.returncode, 3)
        self.assertRegex(finished.stdout.splitlines()[0], "^not sound: 1 of 2 shards with errors, 1 error")

    def test_warnings_exit_0_and_with_strict_3(self):
        write_shard(self.shards / "s-2.tar", range(40, 42), name="a {}")
        self.assertEqual(verify(self.shards).returncode, 0)
        self.assertEqual(verify(self.shards, "--strict").returncode, 3)

    def test_checksums_must_be_there_to_be_asked_for_and_index_makes_them(self):
        finished = run("shardctl", "verify", self.shards, "--depth", "checksum")
        self.assert_error(finished, 4, "shardctl index")
        self.assertEqual(run("shardctl", "index", self.shards).returncode, 0)
        finished = verify(self.shards, "--depth", "checksum")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(result_of(finished)["result"]["depth"], "checksum")

    def test_shards_by_brace_pattern_and_list(self):
        (self.folder / "list.txt").write_text("shards/s-1.tar\n")
        for operand, shards in ((self.shards / "s-{0..1}.tar", 2), (self.folder / "list.txt", 1)):
            self.assertEqual(result_of(verify(operand))["result"]["shards"], shards)

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

    def test_sources_that_are_missing_or_no_shards(self):
        self.assert_error(run("shardctl", "verify", self.folder / "nowhere"), 4, "nowhere")
        self.assert_error(run("shardctl", "verify", "abfs://bucket/x.tar"), 4, "'abfs:'")

    def test_index_does_not_replace_what_convert_wrote(self):
        out = self.folder / "out"
        self.assertEqual(run("shardctl", "convert", self.make_tree(), out).returncode, 0)
        self.assert_error(run("shardctl", "index", out), 4, "manifest.json")

    def test_damage_of_every_kind_is_a_finding(self):
        good = (self.shards / "s-1.tar").read_bytes()
        damage = {
            "zero_length": b"",
            "truncated": good[:1537],
            "not_a_tar": b"no tar at all " * 100,
            "bad_header_checksum": good[:2048] + b"X" + good[2049:],
            "compressed": b"\x1f\x8b\x08\0" + good[:600],
            "data_after_end": good + good,
            "empty_shard": bytes(10240),
        }
        for code, content in damage.items():
            with self.subTest(code):
                (self.shards / "s-1.tar").write_bytes(content)
                finished = verify(self.shards)
                self.assertEqual(finished.returncode, 3)
                self.assertEqual(self.codes(finished), [code])


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
