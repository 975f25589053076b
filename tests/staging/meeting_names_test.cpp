#include "staging/meeting_names.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/case_blind_file_system.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::staging;

namespace {

using Names = std::vector<std::string>;
using Pair = std::optional<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("names that differ in case meet where the disk ignores it, and nowhere else") {
  const TempDir dir;
  CaseBlindFileSystem blind;
  const auto disk = io::posix_file_system();
  for (const Names& names : {Names{"a.tar", "b.tar", "A.tar"}, {"train/x.tar", "Train/X.tar"}, {"a/x", "A/x"}}) {
    CHECK(find_meeting_names(blind, dir.path(), names) == Pair({names.front(), names.back()}));
    CHECK(find_meeting_names(*disk, dir.path(), names) == std::nullopt);
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("names that no disk takes for one cost no question") {
  const TempDir dir;
  CaseBlindFileSystem blind;
  CHECK(find_meeting_names(blind, dir.path(), {"a.tar", "b.tar", "c/a.tar", "\u56fe1.tar", "\u72471.tar"}) ==
        std::nullopt);
  CHECK(blind.questions == 0);
}

TEST_CASE("forms of Unicode are asked for too") {
  const TempDir dir;
  CaseBlindFileSystem blind;  // tells these apart
  CHECK(find_meeting_names(blind, dir.path(), {"caf\u00e9.tar", "cafe\u0301.tar"}) == std::nullopt);
  CHECK(blind.questions == 1);
}
