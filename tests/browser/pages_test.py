"""Pages of iobench report in a real browser: nothing is requested, nothing is reported, every section can be read, and axe-core
finds no violation: on a phone, a tablet and a desktop, light and dark, and on paper.

    SHARDKIT_PROGRAMS=build/dev/apps build/test-venv-browser/bin/python tests/browser/pages_test.py
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli/support"))
import needs  # noqa: E402
from program import FolderTest, need, run  # noqa: E402

CHROMIUM = needs.program("chromium")
need("axe_playwright_python", "browser")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

WIDTHS = (360, 768, 1440)
HOSTILE = "<img src=x onerror=alert(1)>'\"</script><!--"


def points(stage, count):
    return [{"unix_time_seconds": 1_764_000_000 + i, "stage": stage, "bytes": 10**9 + i % 97 * 10**6, "samples": i % 89,
             "measured_seconds": 1.0} for i in range(count)]


def run_result(seconds=60):
    """What iobench run writes, with a value for each section."""
    stage = {"stage": "decode", "required_per_second": 1786.0, "measured_per_second": 800.0, "headroom_ratio": 0.45,
             "interval": {"low": 780.0, "high": 820.0}, "note": HOSTILE}
    shares = {"name": "decode", "threads": 8, "busy_ratio": 0.9, "starved_ratio": 0.06, "blocked_ratio": 0.04,
              "cpu_seconds_per_sample": 0.001}
    latency = {"p50": 0.0001, "p90": 0.001, "p99": 0.01, "max": 0.1}
    epochs = [{"epoch": i, "samples_per_second": 700.0 + 100 * i, "residency_before_ratio": i - 1.0} for i in (1, 2)]
    return {"schema": "shardkit/run", "schema_version": 2, "tool": {"name": "iobench", "version": "0.9.0"},
            "started_at": "2026-11-26T08:00:00Z", "elapsed_seconds": 60.0, "status": "findings", "error": None,
            "host": {"hostname": "node17", "node": HOSTILE, "os": "Debian", "kernel": "6.1", "cpus": 16,
                     "labels": {"rack": "r7"}},
            "warnings": [{"code": "c", "text": "a warning"}],
            "result": {
                "verdict": {"ok": False, "text": "decode is the bottleneck " + HOSTILE, "remedy": "use 18 cores"},
                "requirement": {"gpus": 8}, "stages": [dict(stage, stage="read", headroom_ratio=3.0), stage],
                "seconds": points("read", seconds) + points("decode", seconds),
                "read": {"latency_seconds": latency, "latency_histogram": [
                    {"from_seconds": 0.0001, "to_seconds": 0.0002, "count": 90},
                    {"from_seconds": 0.0002, "to_seconds": 0.0004, "count": 10}]},
                "decode": {"scaling": [{"threads": n, "samples_per_second": 100.0 * n} for n in (1, 2, 4, 8)]},
                "pipeline": {"stages": [dict(shares, name="read"), shares], "epochs": epochs,
                             "batch_latency_seconds": latency, "advice": ["an advice"]},
                "rows": [{"parameter": "threads", "value": n, "bytes_per_second": 1e9 * n} for n in (1, 2, 4)],
                "repeated": [{"metric": "read.bytes_per_second", "median": 10.0, "low": 9.0, "high": 12.0, "text": "t"}],
                "presets": [{"name": "resnet50-h100", "gpus_fed": 3}], "command": "iobench run shards",
                "environment": {"findings": [{"severity": "warning", "text": HOSTILE}], "usable_threads": 16,
                                "storage": {"file_system": "nfs4", "mount_options": ["rw", "nconnect=1"]}},
                "loader": {"code": "loader = DataLoader()", "samples_per_second": 640.0}}}


SECTIONS = ["Needed and measured", "Where the time of a batch goes", "Over time", "Latency", "Curves of settings",
            "Scaling of decoding", "Cold against warm", "Repetitions", "Environment", "Machine",
            "GPUs that this node can feed", "Hints and warnings", "PyTorch DataLoader", "Same again"]


class Pages(FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def page_of(self, *results):
        page = self.folder / "page.html"
        finished = run("iobench", "report", *results, "-o", page)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return page

    def saved(self, name, envelope):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(envelope))
        return path

    def opened(self, path, width=1440, scheme="light"):
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.addCleanup(context.close)
        page = context.new_page()
        self.heard = []
        page.on("console", lambda message: self.heard.append(message.text))
        page.on("pageerror", lambda error: self.heard.append(str(error)))
        page.on("request", lambda request: self.heard.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    def check_everywhere(self, path):
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                with self.subTest(width=width, scheme=scheme):
                    page = self.opened(path, width, scheme)
                    self.assertEqual([violation["id"] for violation in Axe().run(page).response["violations"]], [])
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.heard, [])

    def test_a_run_has_all_sections_and_is_accessible(self):
        path = self.page_of(self.saved("run.json", run_result()))
        self.assertEqual(self.opened(path).locator("h2").all_inner_texts(), SECTIONS)
        self.check_everywhere(path)

    def test_names_with_html_are_texts_and_the_json_is_whole(self):
        page = self.opened(self.page_of(self.saved("run.json", run_result())))
        self.assertEqual(page.locator("img").count(), 0)
        self.assertIn(HOSTILE, page.locator("h1").inner_text())
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save the JSON of this page").click()
        self.assertEqual(saved.value.suggested_filename, "iobench-run.json")
        self.assertEqual(json.loads(pathlib.Path(saved.value.path()).read_text()), run_result())

    def test_keys_reach_and_open_a_table(self):
        page = self.opened(self.page_of(self.saved("run.json", run_result())))
        page.locator("summary").first.focus()
        page.keyboard.press("Enter")
        self.assertTrue(page.locator("details table").first.is_visible())

    def test_ten_thousand_points_stay_small(self):
        path = self.page_of(self.saved("run.json", run_result(seconds=10_000)))
        self.assertLess(path.stat().st_size, 2_000_000)
        self.assertIn("Over time", self.opened(path).locator("h2").all_inner_texts())

    def test_a_comparison_and_a_fleet_are_accessible(self):
        base, new = run_result(), run_result()
        for envelope, rate in ((base, 2e9), (new, 1e9)):
            envelope["result"]["read"]["bytes_per_second"] = rate
        compared = self.page_of(self.saved("a.json", base), self.saved("b.json", new))
        self.assertEqual(self.opened(compared).locator("h2").all_inner_texts()[:3],
                         ["Changes by metric", "Both runs over time", "Latency of both runs"])
        self.check_everywhere(compared)
        for i in range(12):
            node = run_result()
            node["host"]["node"] = f"node{i}"
            node["result"]["read"]["bytes_per_second"] = 2e9 if i else 1e9
            self.saved(f"fleet/{i}.json", node)
        fleet = self.folder / "fleet.json"
        self.assertEqual(run("iobench", "aggregate", self.folder / "fleet", "--json", fleet).returncode, 3)
        self.check_everywhere(self.page_of(fleet))

    def test_prints(self):
        page = self.opened(self.page_of(self.saved("run.json", run_result())))
        page.emulate_media(media="print")
        self.assertTrue(page.pdf(format="A4").startswith(b"%PDF"))
        self.assertTrue(page.locator("details table").first.is_visible())  # folded on a screen only


if __name__ == "__main__":
    unittest.main()
