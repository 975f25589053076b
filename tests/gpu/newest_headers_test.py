"""Our declarations of NVIDIA's libraries against the newest headers on PyPI, and lib/gpu against CUDA 12.8.

tests/gpu/*_header_test.cpp compare them while they compile; the build does it with the headers of the toolkit. Interfaces that
grow (cuFile's statistics did in 1.19) are noticed here first. Needs some MB of PyPI, and is skipped without it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CXX", "c++")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"]  # NVIDIA deprecates what older drivers need


class NewestHeaders(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="newest-headers-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def headers(self, *requirements):
        """Include folders of these wheels."""
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                   "--retries", "1", "--timeout", "20", "--dest", self.folder, *requirements]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=180)
        except subprocess.TimeoutExpired:
            self.skipTest("SKIPPED: PyPI does not answer: NOTHING was compared with the newest headers")
        if done.returncode != 0:
            self.skipTest("SKIPPED: wheels of PyPI cannot be had: NOTHING was compared with the newest headers")
        for wheel in self.folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.folder / "wheels", [name for name in archive.namelist() if "/include/" in name])
        return sorted((self.folder / "wheels").glob("nvidia/*/include"))

    def compile(self, source, folders):
        command = [COMPILER, "-std=c++20", "-fsyntax-only", *WARNINGS, f"-I{CHECKOUT}/lib", f"-I{CHECKOUT}/tests"]
        command += [option for folder in folders for option in ("-isystem", str(folder))]
        done = subprocess.run([*command, str(CHECKOUT / source)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_newest_libraries_are_as_declared(self):
        folders = self.headers("nvidia-cufile", "nvidia-nvjpeg", "nvidia-nvml-dev", "nvidia-cuda-runtime", "nvidia-cuda-crt")
        for library in ("cufile", "nvjpeg", "nvml"):
            with self.subTest(library):
                self.compile(f"tests/gpu/{library}_header_test.cpp", folders)

    def test_libraries_of_cuda_12_are_as_declared(self):
        """Without cuFile, whose 1.14 counts nothing: the functions that it lacks may be null."""
        folders = self.headers("nvidia-nvjpeg-cu12", "nvidia-nvml-dev-cu12", "nvidia-cuda-runtime-cu12")
        for library in ("nvjpeg", "nvml"):
            with self.subTest(library):
                self.compile(f"tests/gpu/{library}_header_test.cpp", folders)

    def test_cuda_12_8_has_all_that_is_called(self):
        folders = self.headers("nvidia-cuda-runtime-cu12==12.8.*", "nvidia-nvtx-cu12==12.8.*")
        probe = self.folder / "probe.cpp"
        probe.write_text("#include <cuda_runtime_api.h>\nstatic_assert(CUDART_VERSION == 12080);\n")
        self.compile(probe, folders)
        for source in ("cuda_device", "cuda_queue", "cufile_storage", "nvjpeg_decoder"):
            with self.subTest(source):
                self.compile(f"lib/gpu/{source}.cpp", folders)


if __name__ == "__main__":
    unittest.main()
