#include "bench/torch/calibration.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/torch/loader_advice.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
using doctest::Approx;

namespace {

/// A program in place of Python.
std::string interpreter(const ShardFolder& folder, const std::string& script) {
  folder.write("python3", "#!/bin/sh\n" + script + "\n");
  std::filesystem::permissions(folder.path("python3"), std::filesystem::perms::owner_all);
  return folder.path("python3");
}

Calibration calibrate_with(const std::string& program, double seconds = 60) {
  const ShardFolder data;
  data.write("x.tar", image_shard(3, "a"));
  Context context;
  const InputSet input = find_input({data.path()}, context);
  return calibrate(program, look_at_loader_data(input, true, context), input, {}, seconds, context);
}

Error failure_of(const std::string& program, double seconds = 60) {
  try {
    calibrate_with(program, seconds);
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("no error came");
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the program's numbers become the costs of a sample") {
  const ShardFolder folder;
  const Calibration calibration = calibrate_with(interpreter(
      folder,
      R"(echo '{"python": "3.11", "torch": "2.15", "load_seconds": 0.002, "augment_seconds": 0.001, "reads": 3.1,
"worker_seconds": 0.0035, "alone_seconds": 0.003, "trainer_seconds": 0.0001, "worker_bytes": 1e8, "trainer_bytes": 8e8}')"));
  CHECK(calibration.torch == "2.15");
  CHECK(calibration.worker_seconds == Approx(0.0035));
  CHECK(calibration.trainer_bytes == Approx(8e8));
}

TEST_CASE("an interpreter that cannot measure is an error with its path, the reason and the remedy") {
  const ShardFolder folder;
  const std::string path = folder.path("python3");
  const auto check = [&](const std::string& reason, double seconds = 60) {
    CAPTURE(reason);
    const Error error = failure_of(path, seconds);
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(error.path() == path);
    CHECK(contains(error.what(), "--python: '" + path + "' " + reason));
    CHECK(contains(error.what(), "give the python3 of the environment that has torch, torchvision and webdataset"));
  };
  check("does not exist");
  folder.write("python3", "#!/bin/sh\n");
  check("is not executable");
  interpreter(folder, "echo 'it has no torch' >&2; exit 1");
  check("ended with exit code 1: it has no torch");
  interpreter(folder, "echo Traceback >&2; echo 'ValueError: torch is broken' >&2; exit 1");
  check("ended with exit code 1: Traceback ... ValueError: torch is broken");
  interpreter(folder, "kill -SEGV $$");
  check("was ended by signal 11");
  for (const std::string text : {"hello", "{}", ""}) {
    interpreter(folder, "echo '" + text + "'");
    check("printed something else than the measurement");
  }
  interpreter(folder, "sleep 60");
  check("takes longer than 1 s: ", 1);
  CHECK(contains(failure_of(path, 1).what(), "use a longer --budget"));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  check("is a folder");
}

TEST_CASE("a Python that is too old is named with its version, not with a syntax error") {
  const ShardFolder folder;
  // Python as it is, but for its version.
  const std::string old = interpreter(folder, R"py(exec python3 -c 'import sys
sys.version_info, sys.version = (3, 6, 9), "3.6.9 (old)"
code, sys.argv = sys.argv[2], sys.argv[2:]
exec(code)' "$@")py");
  CHECK(contains(failure_of(old).what(), "Python 3.6.9 is too old: 3.8 or newer is needed"));
}

TEST_CASE("a name that PATH does not have is an error with that name") {
  const Error error = failure_of("python-of-nobody");
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK(contains(error.what(), "'python-of-nobody' ended with exit code 127"));
}

TEST_CASE("data without code for PyTorch has nothing to calibrate") {
  const ShardFolder data;
  data.write("1.jpg", small_jpeg());
  Context context;
  const InputSet input = find_input({data.path()}, context);
  CHECK(error_code_of([&] {
          calibrate("python3", look_at_loader_data(input, true, context), input, {}, 60, context);
        }) == ErrorCode::usage);
}

TEST_CASE("auto is the python3 in PATH") {
  CHECK(python_of("auto") == "python3");
  CHECK(python_of("/opt/venv/bin/python") == "/opt/venv/bin/python");
}
