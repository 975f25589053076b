"""scripts/check-gpu: without a GPU one line and exit code 4; over programs that answer as if there was one, its bars and exit codes."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import needs  # noqa: E402
from program import CHECKOUT, PROGRAMS, FolderTest, need, run  # noqa: E402

need("jsonschema")
import jsonschema  # noqa: E402

SCHEMA = CHECKOUT / "scripts/check-gpu.schema.json"
SCRIPT = CHECKOUT / "scripts/check-gpu"
FAKE = pathlib.Path(__file__).with_name("fake_iobench")
LINK = {"device": 0, "pcie": {"lanes": 16}, "pcie_generation": 5, "wire_limit_bytes_per_second": 63e9,
        "max_wire_limit_bytes_per_second": 63e9, "slowdowns": []}


def check_gpu(*arguments, folder, script=SCRIPT):
    return subprocess.run([sys.executable, script, "--file-bytes", "65536", *map(str, arguments)], cwd=folder, capture_output=True,
                          env={**os.environ, "FAKE_ANSWERS": str(folder / "answers")}, text=True, timeout=120)


class FakeGpuTest(FolderTest):
    """Programs that answer as on a machine with a GPU that is well, but for what a test changes."""

    def setUp(self):
        super().setUp()
        self.programs, self.answers = self.folder / "programs", self.folder / "answers"
        self.programs.mkdir()
        self.answers.mkdir()
        for name in ("iobench", "shardctl"):
            shutil.copy(FAKE, self.programs / name)
        for kind in ("env", "pipeline", "all"):
            self.answer(kind, {})
        self.answer("watch", {"gpus_missing": None})
        self.answer("decode", {"samples_per_second_per_core": 500})
        self.set_nvjpeg(6000)
        self.answer("ladder", {"ladder": [{"samples_per_second": 1000}, {"samples_per_second": None}, {"samples_per_second": 1500}]})
        self.set_file("native", 8e9)
        self.answer("run", {"verdict": {"text": "feeds"}})
        self.set_link()
        self.set_rates(54e9, 54.2e9, 53.9e9, 54.1e9, 54e9)

    def answer(self, kind, result, code=0, error=None):
        envelope = {"schema": "shardkit/fake", "tool": {"name": "iobench"}, "result": result, "error": error, "exit_code": code}
        (self.answers / f"{kind}.json").write_text(json.dumps(envelope))
        (self.answers / f"{kind}.code").write_text(str(code))

    def set_nvjpeg(self, rate, warnings=(), **decoder):
        self.answer("nvjpeg", {"samples_per_second": rate, "nvjpeg": {"name": "NVIDIA H100 80GB HBM3", "hardware": True, **decoder}})
        path = self.answers / "nvjpeg.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "warnings": list(warnings)}))

    def fail(self, kind, code, name, text):
        self.answer(kind, None, code, {"code": name, "text": text})

    def set_file(self, mode, rate):
        rows = [{"way": "pread", "bytes_per_second": 6e9}, {"way": "cufile", "bytes_per_second": rate}]
        self.answer("file", {"file": {"mode": mode, "missing": None, "rows": rows}})

    def set_link(self, **changes):
        self.answer("transfer", {"verdict": "pinned host to device", "devices": [{**LINK, **changes}]})
        self.link = {**LINK, **changes}

    def set_rates(self, *rates):
        for turn, rate in enumerate(rates, 1):
            self.answer(f"turn{turn}", {"pinned_h2d_bytes_per_second": rate, "devices": [self.link]})


class WithoutGpu(FolderTest):
    def test_one_line_and_exit_4(self):
        if run("iobench", "transfer", "--kinds", "pinned", "--bytes", "4KiB").returncode == 0:
            self.skipTest("SKIPPED: a GPU is here")
        done = check_gpu("--programs", PROGRAMS, folder=self.folder)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"\Acheck-gpu: no GPU is available: [^\n]+\n\Z")
        self.assertEqual(done.stdout, "")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["gpu-check.json"])
        result = json.loads((self.folder / "gpu-check.json").read_text())
        self.assertEqual((result["status"], result["exit_code"]), ("failed", 4))
        self.assertIn("no GPU is available", result["error"])

    def test_programs_that_are_not_there_are_a_wrong_option(self):
        done = check_gpu("--programs", self.folder, folder=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--programs DIR", done.stderr)

    def test_wrong_options_and_folders_are_reported(self):
        (self.folder / "folder").mkdir()
        (self.folder / "file").touch()
        for arguments, text in (
            (["--nothing"], "--nothing"),
            (["--data", "absent"], "'absent' is not there"),
            (["--work", "absent"], "'absent' is not there"),
            (["--work", "file"], "'file' is no folder"),
            (["--data", "/dev/null"], "'/dev/null' is no folder"),
            (["--device", "x"], "--device: 'x' is not the number of a GPU"),
            (["--file-bytes", "-4"], "--file-bytes: expected at least 4096"),
            (["--file-bytes", "0"], "--file-bytes: expected at least 4096"),
            (["--json", "absent/x.json"], "--json: cannot write 'absent/x.json': No such file or directory"),
            (["--json", "folder"], "--json: 'folder' is a folder"),
        ):
            with self.subTest(arguments):
                done = check_gpu(*arguments, folder=self.folder)
                self.assertEqual(done.returncode, 2)
                self.assertIn(text, done.stderr.splitlines()[-1])
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"folder", "file"})


class WithGpu(FakeGpuTest):
    def check(self, code, *arguments, script=SCRIPT):
        done = check_gpu("--programs", self.programs, "--json", "out.json", *arguments, folder=self.folder, script=script)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        result = json.loads((self.folder / "out.json").read_text())
        self.assertEqual(result["schema"], "shardkit/gpu-check")
        self.assertEqual(result["exit_code"], code)
        self.bars = {bar["name"]: bar for bar in result["bars"]}
        self.steps = {step["name"]: step for step in result["steps"]}
        self.output = done.stdout
        jsonschema.validate(result, json.loads(SCHEMA.read_text()), cls=jsonschema.Draft202012Validator)
        return result

    def test_the_result_has_a_schema(self):
        result = self.check(0)
        for damage in ({"schema": "shardkit/run"}, {"exit_code": 7}, {"bars": [{}]}, {"steps": None}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**result, **damage}, json.loads(SCHEMA.read_text()), cls=jsonschema.Draft202012Validator)

    def missed(self):
        return [name for name, bar in self.bars.items() if bar["met"] is False]

    def test_all_well(self):
        result = self.check(0)
        self.assertEqual(result["status"], "ok")
        self.assertEqual(list(self.steps), [
            "env", "watch", "transfer", *(f"transfer turn {turn}" for turn in range(1, 6)), "transfer batches", "transfer numa",
            "transfer all", "transfer file", "synth", "convert", "decode cpu", "decode nvjpeg", "decode torchvision",
            "decode torchcodec", "decode dali", "pipeline", "pipeline ladder", "run"])
        self.assertEqual([name for name, bar in self.bars.items() if not bar["met"]], ["decode_beside_peers"])
        self.assertAlmostEqual(self.bars["pinned_h2d_share"]["measured"], 54 / 55)
        self.assertAlmostEqual(self.bars["repeatable"]["measured"], 0.2 / 54)
        step = self.steps["transfer turn 1"]
        self.assertEqual(step["exit_code"], 0)
        self.assertEqual(step["envelope"]["result"]["pinned_h2d_bytes_per_second"], 54e9)
        self.assertEqual(step["command"][0], str(self.programs / "iobench"))
        self.assertRegex(self.output, r"(?m)^run +ok .* feeds$")

    def test_every_option_is_one_that_the_programs_have(self):
        self.check(0)
        helps = {}
        for step in self.steps.values():
            program, verb, *arguments = step["command"]
            if program == sys.executable:
                continue
            if verb not in helps:
                helps[verb] = set(re.findall(r"--[a-z-]+", run(pathlib.Path(program).name, verb, "--help").stdout))
            for option in filter(lambda argument: argument.startswith("--"), arguments):
                self.assertIn(option, helps[verb], step["command"])

    def without_python(self, *arguments):
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        for tool in ("sh", "dirname", "mkdir", "cat", "wc"):
            if not (tools / tool).exists():
                (tools / tool).symlink_to(needs.program(tool))
        shutil.copy(SCRIPT, self.programs)
        return subprocess.run([self.programs / "check-gpu", *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              env={"PATH": str(tools), "FAKE_ANSWERS": str(self.answers)}, timeout=60)

    def test_a_host_without_python_measures_and_does_not_judge(self):
        done = self.without_python("--work", self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("not compared with bars", done.stdout)
        for name in ("transfer", "transfer-all", "env", "decode-cpu", "decode-nvjpeg", "pipeline-ladder", "run", "watch"):
            self.assertIn(f"== {name}\n", done.stdout)
        self.fail("nvjpeg", 4, "unsupported", "nvJPEG is not available")
        done = self.without_python("--work", self.folder, "--data", self.folder)
        self.assertEqual((done.returncode, done.stderr), (3, "check-gpu: failed: decode-nvjpeg\n"))
        done = self.without_python("--json", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'--json': without python3 there are only", done.stderr)
        self.fail("transfer", 4, "unsupported", "no GPU is available")
        self.assertEqual(self.without_python("--work", self.folder).returncode, 4)

    def test_nothing_but_the_result_is_left(self):
        self.check(0)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"programs", "answers", "out.json"})

    def test_data_of_the_user_is_taken_instead_of_made(self):
        data = self.folder / "data"
        data.mkdir()
        self.check(0, "--data", data)
        self.assertNotIn("synth", self.steps)
        self.assertIn(str(data), self.steps["run"]["command"])

    def test_a_slow_link_misses_its_bar(self):
        self.set_rates(40e9, 40e9, 40e9, 40e9, 40e9)
        self.check(3)
        self.assertEqual(self.missed(), ["pinned_h2d_share"])
        self.assertIn("40.0 GB/s of 55.0", self.output)

    def test_the_bar_is_that_of_the_link(self):
        self.set_link(pcie_generation=4, pcie={"lanes": 8})
        self.set_rates(12.4e9, 12.4e9, 12.4e9, 12.4e9, 12.4e9)
        self.check(0)
        self.assertAlmostEqual(self.bars["pinned_h2d_share"]["measured"], 12.4 / 12.5)

    def test_what_a_link_should_reach_may_be_unknown(self):
        self.set_link(pcie_generation=None, pcie={}, wire_limit_bytes_per_second=None)
        self.set_rates(40e9, 40e9, 40e9, 40e9, 40e9)
        self.check(0)
        self.assertIsNone(self.bars["pinned_h2d_share"]["met"])
        self.assertIsNone(self.bars["link_at_its_best"]["met"])

    def test_turns_that_differ_miss_their_bar(self):
        self.set_rates(54e9, 54e9, 54e9, 54e9, 52e9)
        self.check(3)
        self.assertEqual(self.missed(), ["repeatable"])

    def test_a_link_below_its_best_and_heat_miss_theirs(self):
        self.set_link(max_wire_limit_bytes_per_second=126e9, slowdowns=["sw_thermal_slowdown"])
        self.set_rates(54e9, 54e9, 54e9, 54e9, 54e9)
        self.check(3)
        self.assertEqual(self.missed(), ["link_at_its_best", "not_slowed_down"])
        self.assertIn("slowed down by sw_thermal_slowdown", self.output)

    def test_what_cannot_be_had_is_skipped_aloud(self):
        self.fail("file", 4, "unsupported", "no such file system")
        self.check(0)
        self.assertIn("no such file system", self.steps["transfer file"]["skipped"])
        self.assertRegex(self.output, r"transfer file +skipped .* no such file system")

    def test_nvjpeg_and_nvml_must_be_there(self):
        self.fail("nvjpeg", 4, "unsupported", "nvJPEG is not available: cannot load libnvjpeg.so.13")
        self.answer("watch", {"gpus_missing": "NVIDIA driver is not available: cannot load libnvidia-ml.so.1"})
        self.check(3)
        self.assertEqual(self.missed(), ["nvml_present", "nvjpeg_present"])
        self.assertIn("nvJPEG is not available", self.bars["nvjpeg_present"]["text"])
        self.assertIn("libnvidia-ml.so.1", self.bars["nvml_present"]["text"])

    def test_slow_decoders_no_overlap_and_slow_direct_reads_miss_their_bars(self):
        self.set_nvjpeg(3000)
        self.answer("ladder", {"ladder": [{"samples_per_second": 1000}, {"samples_per_second": 1050}]})
        self.set_file("native", 5e9)
        self.check(3)
        self.assertEqual(self.missed(), ["decode_rate", "overlap_gain", "gds_gain"])
        self.assertIn("as many as 6.0 CPU cores", self.output)

    def test_healthy_machines_miss_no_bar(self):
        """cuFile may be some per cent slower, and the last loader of the ladder need not be the best."""
        self.set_file("native", 5.8e9)
        self.answer("ladder", {"ladder": [{"samples_per_second": rate} for rate in (1000, 1400, 1050)]})
        self.check(0)
        self.assertAlmostEqual(self.bars["overlap_gain"]["measured"], 1.4)

    def test_the_decode_rate_is_judged_only_with_hardware_decoders_and_for_a_whole_gpu(self):
        for changes, instance in (({"name": "NVIDIA GeForce RTX 3090", "hardware": False}, False),
                                  ({"name": "NVIDIA A100-SXM4-40GB MIG 1g.5gb"}, False), ({}, True)):
            with self.subTest(changes):
                self.answer("env", {"gpu_monitor": {"gpus": [{"mig": "on" if instance else "off"}]}})
                self.set_nvjpeg(3000, **changes)
                (self.answers / "turns").unlink(missing_ok=True)
                self.check(0)
                self.assertIsNone(self.bars["decode_rate"]["met"])
                self.assertAlmostEqual(self.bars["decode_rate"]["measured"], 6)

    def test_hardware_decoders_that_are_not_used_miss_their_bar(self):
        lost = {"code": "no_video_library", "text": "libnvcuvid.so.1 is missing"}
        for warnings, text in (((lost,), "libnvcuvid.so.1 is missing"), ((), "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video")):
            with self.subTest(text):
                self.set_nvjpeg(6000, warnings, hardware=False)
                (self.answers / "turns").unlink(missing_ok=True)
                self.check(3)
                self.assertEqual(self.missed(), ["nvjpeg_hardware"])
                self.assertIn(text, self.bars["nvjpeg_hardware"]["text"])

    def test_the_slowest_gpu_decides_about_links(self):
        good, bad = LINK, {**LINK, "device": 1, "max_wire_limit_bytes_per_second": 126e9}
        self.answer("all", {"devices": [good, bad]})
        self.check(3)
        self.assertEqual(self.missed(), ["link_at_its_best"])
        self.assertEqual(self.bars["link_at_its_best"]["measured"], 0.5)

    def test_an_idle_link_is_judged_by_its_fastest_look(self):
        self.answer("all", {"devices": [{**LINK, "wire_limit_bytes_per_second": 4e9}]})
        self.check(0)

    def test_nvlink_c2c_is_not_judged_as_pcie(self):
        self.set_link(pcie={"lanes": 1}, pcie_generation=1, c2c_bytes_per_second=447e9, max_wire_limit_bytes_per_second=447e9)
        self.set_rates(*5 * [380e9])
        self.check(0)
        self.assertIsNone(self.bars["pinned_h2d_share"]["met"])
        self.assertIsNone(self.bars["link_at_its_best"]["met"])

    def test_a_switch_with_a_slow_uplink_is_no_slow_link(self):
        self.set_link(pcie={"lanes": 16, "uplink_bytes_per_second": 31.5e9})
        self.set_rates(*5 * [26e9])
        self.check(0)
        self.assertAlmostEqual(self.bars["pinned_h2d_share"]["measured"], 26 / (0.87 * 31.5))

    def test_limits_of_the_steps_are_the_promised_time(self):
        script = {"__name__": "check_gpu", "__file__": str(SCRIPT)}
        exec(compile(SCRIPT.read_text(), SCRIPT, "exec"), script)
        self.assertEqual(script["TIME_LIMIT"], 15 * 60)
        result = self.check(0)
        self.assertLessEqual(sum(step["limit_seconds"] for step in result["steps"]) + script["LIMITS"]["gpu"]
                             + script["LIMITS"]["system"] * len(script["REPORTS"]), 15 * 60)

    def test_what_tools_of_the_system_print_is_kept(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for name, text in (("nvidia-smi", 'echo "$*"'), ("dmesg", 'printf "other\nNVRM: Xid (PCI:0000:17:00): 79, lost\n"')):
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = f"{tools}:{before}"
        reports = {report["name"]: report for report in self.check(0)["system"]}
        self.assertEqual(reports["topology"]["text"], "topo -m\n")
        self.assertEqual(reports["kernel log"]["text"], "NVRM: Xid (PCI:0000:17:00): 79, lost")
        self.assertIn("gdscheck", reports["gdscheck"]["missing"])
        shutil.rmtree(tools)

    def test_direct_reads_are_judged_only_where_they_are_direct(self):
        self.set_file("compatibility", 5e9)
        self.check(0)
        self.assertIsNone(self.bars["gds_gain"]["met"])
        self.answer("file", {"file": {"mode": "unknown", "missing": "no GPUDirect Storage: 5001", "rows": []}})
        (self.answers / "turns").unlink()
        self.check(0)
        self.assertEqual(self.bars["gds_gain"]["text"], "no GPUDirect Storage: 5001")

    def test_other_libraries_decode_the_same_images(self):
        """With substitutes for torch and torchvision."""
        data, modules = self.folder / "data", self.folder / "modules"
        data.mkdir()
        (data / "a.jpg").write_bytes(b"image")
        (modules / "torchvision").mkdir(parents=True)
        (modules / "torchvision/__init__.py").touch()
        (modules / "torchvision/io.py").write_text(
            "import time\nclass ImageReadMode: RGB = 0\ndef decode_jpeg(images, mode, device):\n"
            "    assert images == [b'image'] and device == 'cuda:0'\n    time.sleep(0.01)\n")
        (modules / "torch.py").write_text(
            "uint8 = 0\ndef frombuffer(data, dtype): return bytes(data)\n"
            "class cuda:\n    def synchronize(device): pass\n")
        os.environ["PYTHONPATH"] = str(modules)
        self.addCleanup(os.environ.pop, "PYTHONPATH")
        self.check(0, "--data", data)
        rate = self.steps["decode torchvision"]["envelope"]["result"]["samples_per_second"]
        self.assertAlmostEqual(self.bars["decode_beside_peers"]["measured"], 6000 / rate)

    def test_a_library_that_fails_is_missing(self):
        """As torchvision without CUDA: nothing that is measured here is at fault."""
        data, modules = self.folder / "data", self.folder / "modules"
        data.mkdir()
        (data / "a.jpg").write_bytes(b"image")
        (modules / "torchcodec").mkdir(parents=True)
        (modules / "torchcodec/__init__.py").touch()
        (modules / "torch.py").touch()
        (modules / "torchcodec/decoders.py").write_text("raise RuntimeError('Could not load libtorchcodec')\n")
        os.environ["PYTHONPATH"] = str(modules)
        self.addCleanup(os.environ.pop, "PYTHONPATH")
        self.check(0, "--data", data)
        self.assertEqual(self.steps["decode torchcodec"]["skipped"], "RuntimeError: Could not load libtorchcodec")

    def test_a_step_that_fails_is_a_missed_bar_with_its_words(self):
        self.fail("ladder", 1, "io", "the GPU fell off the bus")
        self.check(3)
        self.assertEqual(self.missed(), ["no_step_failed"])
        self.assertIn("pipeline ladder", self.bars["no_step_failed"]["text"])
        self.assertRegex(self.output, r"pipeline ladder +FAILED .* the GPU fell off the bus")

    def test_bytes_that_arrive_wrong_are_no_feature_that_is_missing(self):
        self.fail("file", 4, "corrupt", "1 byte differs")
        self.check(3)
        self.assertEqual(self.missed(), ["no_step_failed"])

    def test_output_that_is_no_json_is_a_failure(self):
        (self.answers / "env.json").write_text("Segmentation fault")
        self.check(3)
        self.assertIn("holds no JSON", self.steps["env"]["messages"])

    def test_without_data_the_other_steps_are_made(self):
        (self.answers / "synth.code").write_text("5")
        self.check(3)
        self.assertEqual(self.steps["run"]["skipped"], "there is no data")
        self.assertEqual(self.missed(), ["no_step_failed"])

    def test_turns_without_a_rate_miss_the_bar(self):
        self.fail("turn3", 1, "io", "gone")
        self.check(3)
        self.assertEqual(self.missed(), ["pinned_h2d_share", "no_step_failed"])

    def test_the_result_may_go_to_standard_output(self):
        done = check_gpu("--programs", self.programs, "--json", "-", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["exit_code"], 0)
        self.assertIn("transfer turn 5", done.stderr)

    def test_a_step_that_hangs_is_stopped_when_the_time_is_over(self):
        short = self.folder / "programs/check-gpu"
        limit = "        limit = min(LIMITS[limit or name], self.end - time.monotonic())\n"
        self.assertIn(limit, SCRIPT.read_text())
        over_soon = "        if name == 'decode nvjpeg':\n            self.end = time.monotonic() + 3\n"
        short.write_text(SCRIPT.read_text().replace(limit, over_soon + limit))
        (self.answers / "nvjpeg.hang").touch()
        self.check(3, script=short)
        self.assertTrue(self.steps["decode nvjpeg"]["timed_out"])
        self.assertEqual(self.steps["run"]["messages"], "no time was left")
        self.assertEqual(self.missed(), ["no_step_failed"])

    def stop_with(self, number):
        (self.answers / "nvjpeg.hang").touch()
        running = subprocess.Popen([sys.executable, SCRIPT, "--file-bytes", "65536", "--programs", self.programs], cwd=self.folder,
                                   env={**os.environ, "FAKE_ANSWERS": str(self.answers)}, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        for line in running.stdout:
            if line.startswith("decode cpu"):
                break
        running.send_signal(number)
        _, messages = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 128 + number)
        self.assertIn(f"check-gpu: stopped by {number.name}", messages)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"programs", "answers", "gpu-check.json"})

    def test_a_signal_stops_the_step_and_keeps_what_was_measured(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number.name):
                self.stop_with(number)
                result = json.loads((self.folder / "gpu-check.json").read_text())
                self.assertEqual((result["status"], result["exit_code"]), ("failed", 128 + number))
                self.assertIn("decode cpu", [step["name"] for step in result["steps"]])

    def test_where_there_is_no_gpu_the_file_that_was_asked_for_says_so(self):
        self.fail("transfer", 4, "unsupported", "no GPU is available: there is no NVIDIA driver")
        result = self.check(4)
        self.assertEqual(result["error"], "no GPU is available: there is no NVIDIA driver")
        self.assertEqual(result["status"], "failed")
        self.assertEqual(self.output, "")

    def test_links_pipes_and_files_of_others_stay(self):
        self.fail("transfer", 4, "unsupported", "no GPU")
        (self.folder / "link.json").symlink_to("real.json")
        (self.folder / "real.json").write_text("old")
        (self.folder / "link.json.tmp").write_text("mine")
        self.assertEqual(check_gpu("--programs", self.programs, "--json", "link.json", folder=self.folder).returncode, 4)
        self.assertTrue((self.folder / "link.json").is_symlink())
        self.assertEqual(json.loads((self.folder / "real.json").read_text())["error"], "no GPU")
        self.assertEqual((self.folder / "link.json.tmp").read_text(), "mine")

        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
        self.assertEqual(check_gpu("--programs", self.programs, "--json", pipe, folder=self.folder).returncode, 4)
        self.assertEqual(json.loads(reader.communicate(timeout=60)[0])["error"], "no GPU")
        self.assertTrue(pipe.is_fifo())


if __name__ == "__main__":
    unittest.main()
