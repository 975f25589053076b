#include <filesystem>
#include <string>
#include <utility>

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

TEST_CASE("a file that somebody else puts in the way, at any moment, is a conflict and stays, however it begins") {
  const TempDir dir;
  ImageTree{.root = dir.path("src"), .classes = 1, .per_class = 3}.make();
  convert_tree(dir.path("src"), dir.path("shards"), 1);
  const std::string name = "class_0/img_001.jpg";
  const std::string ours = read_file(dir.path("src/" + name));
  for (const std::string& theirs : {ours + "x", ours.substr(0, ours.size() - 1), "y" + ours.substr(1), std::string()}) {
    CAPTURE(theirs.size());
    std::uint64_t conflicts = 0;
    bool came = true;
    for (std::uint64_t moment = 1; std::exchange(came, false); ++moment) {
      CAPTURE(moment);
      const TempDir attempt;
      const std::string path = attempt.path("out/" + name);
      bool was_first = false;
      ForgetfulFileSystem files;
      files.act_at(moment, [&] {
        came = true;
        was_first = !std::filesystem::exists(path);
        if (was_first) write_file(path, theirs);
      });
      Context context;
      try {
        extract_on(files, {.shards = {dir.path("shards")}, .target = attempt.path("out"), .threads = 1}, context);
        CHECK_FALSE(was_first);
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::conflict);
        CHECK(was_first);
        ++conflicts;
      }
      CHECK(read_file(path) == (was_first ? theirs : ours));
    }
    CHECK(conflicts > 3);
  }
}
