#include "reshard_support.hpp"
#include "support/forgetful_file_system.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;

namespace {

ReshardOptions small_reshard(const ShardFolder& inputs, const std::string& target) {
  ReshardOptions options;
  options.inputs = {inputs.path()};
  options.target = target;
  options.sizes.samples = 4;
  options.shuffle = 2;
  options.threads = 1;
  return options;
}

}  // namespace

TEST_CASE("a power cut at any moment leaves whole shards only, and the next run ends with the same bytes") {
  ShardFolder inputs;
  inputs.write("a.tar", numbered_samples(9, "a"));
  inputs.write("b.tar", numbered_samples(5, "b"));
  const TempDir dir;
  run(small_reshard(inputs, dir.path("expected")));
  const auto expected = tree_content(dir.path("expected"));

  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    const TempDir attempt;
    std::filesystem::create_directories(attempt.path("out"));
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::io);
    Context interrupted;
    try {
      reshard_on(files, small_reshard(inputs, attempt.path("out")), interrupted);
    } catch (const Error&) {
    }
    for (const auto& [name, content] : tree_content(attempt.path("out"))) CHECK(content == expected.at(name));
    std::filesystem::create_directories(attempt.path("after"));
    for (const auto& [path, content] : files.after_power_cut()) {
      if (path.starts_with(attempt.path("out/")))
        write_file(attempt.path("after") + path.substr(attempt.path("out").size()), content);
    }
    for (const auto& [name, content] : tree_content(attempt.path("after"))) {
      if (!name.ends_with(".tmp") && !name.ends_with(".run")) CHECK(content == expected.at(name));
    }
    run(small_reshard(inputs, attempt.path("after")));
    for (const auto& [name, content] : expected) CHECK(read_file(attempt.path("after/" + name)) == content);
    if (!files.failed()) {
      CHECK(moment > 20);
      break;
    }
  }
}
