"""iobench report as a user sees them: pages from results, and files that are no results."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from compare_results import envelope  # noqa: E402
from program import FolderTest, result_of, run  # noqa: E402


class Report(FolderTest):
    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def report(self, *args, exit_code=0):
        page = self.folder / "page.html"
        finished = run("iobench", "report", *args, "-o", page, "--json", "-")
        self.assertEqual(finished.returncode, exit_code, finished.stderr)
        return result_of(finished)["result"], page.read_text() if page.exists() else ""

    def test_shows_one_result(self):
        result, page = self.report(self.write("a.json", envelope(2e9)))
        self.assertEqual(result["kind"], "result")
        self.assertIn("<h1>2.00 GB/s</h1>", page)
        self.assertIn("default-src 'none'", page)

    def test_writes_markdown_for_a_ticket(self):
        ticket = self.folder / "ticket.md"
        self.assertEqual(run("iobench", "report", self.write("a.json", envelope(2e9)), "-o", ticket).returncode, 0)
        self.assertTrue(ticket.read_text().startswith("### iobench read: 2.00 GB/s\n"))

    def test_shows_the_history_of_a_folder_and_lists_what_does_not_belong(self):
        for day in range(1, 25):
            result = envelope((2e9 if day <= 12 else 1.5e9) * (1 + day % 3 / 100))
            result["started_at"] = f"2026-10-{day:02}T00:00:00Z"
            self.write(f"runs/{day:02}.json", result)
        self.write("runs/broken.json", '{"schema": "shardkit/read", "resu')
        self.write("runs/foreign.json", {"a": 1})
        result, page = self.report(self.folder / "runs")
        self.assertEqual((result["kind"], len(result["left_out"])), ("history", 2))
        self.assertIn("regressed by 25.0 % on 2026-10-13", page)
        self.assertIn("broken.json", page)

    def test_takes_results_of_shardctl_and_of_failed_runs(self):
        failed = run("shardctl", "verify", self.folder / "missing", "--json", self.folder / "failed.json")
        self.assertNotEqual(failed.returncode, 0)
        _, page = self.report(self.folder / "failed.json")
        self.assertIn("<header class=\"bad\">", page)
        self.assertIn("shardctl verify", page)

    def test_refuses_what_is_no_result(self):
        for content in ("", "[1]", '{"schema": "shardkit/baseline", "schema_version": 1, "classes": {}}'):
            self.report(self.write("x.json", content), exit_code=2 if "baseline" in content else 4)
        self.report(self.folder / "missing.json", exit_code=4)


if __name__ == "__main__":
    unittest.main()
