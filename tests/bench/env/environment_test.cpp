#include <doctest/doctest.h>
#include <sys/stat.h>

#include "bench/env/env.hpp"
#include "support/errors.hpp"
#include "support/recorded_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

EnvResult env_of(const EnvOptions& options) {
  Context context;
  return env(options, context);
}

shardkit_test::Failure failure_of(const EnvOptions& options) {
  return shardkit_test::failure_of([&] { env_of(options); });
}

EnvOptions options_for(const std::string& path) {
  EnvOptions options;
  options.path = path;
  return options;
}

}  // namespace

TEST_CASE("the environment of a recorded node holds the facts of its parts") {
  const Environment node = look_at_environment("/data/train", std::nullopt, RecordedTree::machine("two-sockets"));
  CHECK(node.usable_threads == 192);
  CHECK(node.dev_shm == 1082054934528);
  CHECK(node.gpus == 2);
  CHECK(node.gpu_driver == "550.90.07");
  CHECK(node.storage.mount_point == "/data");
  REQUIRE(node.block_device);
  CHECK(node.block_device->disk == "nvme1n1");
  CHECK_FALSE(node.nfs);
  CHECK(node.network.size() == 1);
}

TEST_CASE("normal rates are those of the class, the network where data is remote, and the GPUs' link") {
  const auto local = look_at_environment("/data", std::nullopt, RecordedTree::machine("two-sockets")).normal;
  REQUIRE(local.size() == 2);
  CHECK(local[0].part == "nvme");
  CHECK(local[0].high == 14000e6);
  CHECK(local[1].part == "gpu");
  CHECK(local[1].high == doctest::Approx(0.9 * 63e9).epsilon(0.01));
  const auto remote = look_at_environment("/data", std::nullopt, RecordedTree::machine("nfs")).normal;
  REQUIRE(remote.size() == 1);
  CHECK(remote[0].part == "network");
  CHECK(remote[0].high == 12500e6);
  CHECK(look_at_environment("/data", std::nullopt, RecordedTree::machine("arm64")).normal.empty());
}

TEST_CASE("this machine is looked at, with data and without") {
  const TempDir folder;
  const EnvResult with = env_of(options_for(folder.path()));
  CHECK(with.environment.usable_threads >= 1);
  CHECK_FALSE(with.environment.path.empty());
  CHECK(with.environment.space);
  CHECK_FALSE(with.has_findings());
  const EnvResult without = env_of({});
  CHECK(without.environment.path.empty());
  CHECK(without.environment.storage.file_system.empty());
}

TEST_CASE("findings end the command only when asked to be strict, hints never") {
  EnvResult result;
  result.warnings = 1;
  CHECK_FALSE(result.has_findings());
  result.strict = true;
  CHECK(result.has_findings());
  result.warnings = 0;
  CHECK_FALSE(result.has_findings());
  result.errors = 1;
  CHECK(result.has_findings());
}

TEST_CASE("a loader described by options is held against this machine") {
  EnvOptions options;
  options.gpus = 1000;
  options.workers = 1000;
  options.batch = 1000;
  options.strict = true;
  const EnvResult result = env_of(options);
  CHECK(result.errors == 1);
  CHECK(result.environment.findings.front().code == "dev_shm_too_small");
  CHECK(result.has_findings());
}

TEST_CASE("a path that is not there, a FIFO, a character device, a URL") {
  const TempDir folder;
  CHECK(failure_of(options_for(folder.path("absent"))) == ErrorCode::not_found);
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  CHECK(failure_of(options_for(folder.path("fifo"))) == ErrorCode::usage);
  CHECK(failure_of(options_for("/dev/null")) == ErrorCode::usage);
  CHECK(failure_of(options_for("s3://bucket/x")) == ErrorCode::usage);
}

TEST_CASE("options that say nothing or too much") {
  EnvOptions options;
  options.gpus = 8;
  CHECK(failure_of(options) == ErrorCode::usage);
  options.workers = 0;
  CHECK(failure_of(options) == ErrorCode::usage);
  options.workers = std::uint64_t{1} << 40U;
  CHECK(failure_of(options) == ErrorCode::usage);
}
