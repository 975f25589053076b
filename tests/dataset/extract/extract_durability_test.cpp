#include <filesystem>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/extract/extract.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;

TEST_CASE("a power cut or a full disk at any moment leaves whole files under their names, and the next run ends it") {
  const TempDir dir;
  ImageTree{.root = dir.path("src"), .classes = 2, .per_class = 3}.make();
  convert_tree(dir.path("src"), dir.path("shards"), 2);  // 3 shards
  const auto expected = tree_content(dir.path("src"));

  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    const TempDir attempt;
    const ExtractOptions options{.shards = {dir.path("shards")}, .target = attempt.path("out"), .threads = 1};
    std::filesystem::create_directories(attempt.path("out"));
    ForgetfulFileSystem files;
    files.fail_at(moment, moment % 2 == 0 ? ErrorCode::io : ErrorCode::no_space);
    Context interrupted;
    try {
      extract_on(files, options, interrupted);
    } catch (const Error& error) {
      CHECK((error.code() == ErrorCode::io || error.code() == ErrorCode::no_space));
    }
    for (const auto& [name, content] : tree_content(attempt.path("out"))) {
      REQUIRE_MESSAGE(expected.contains(name), name);
      CHECK(content == expected.at(name));
    }
    std::filesystem::create_directories(attempt.path("after"));
    for (const auto& [path, content] : files.after_power_cut_names_first()) {
      write_file(attempt.path("after") + path.substr(attempt.path("out").size()), content);
    }
    for (const auto& [name, content] : tree_content(attempt.path("after"))) {
      if (!name.starts_with(".shardkit/")) CHECK(content == expected.at(name));
    }
    Context again;
    extract({.shards = {dir.path("shards")}, .target = attempt.path("after"), .threads = 1}, again);
    CHECK(tree_content(attempt.path("after")) == expected);
    if (!files.failed()) {
      CHECK(moment > 20);
      break;
    }
  }
}
