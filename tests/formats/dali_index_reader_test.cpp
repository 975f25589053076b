#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "formats/dali_index.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

std::vector<std::vector<DaliMember>> samples_of(const std::string& text) {
  MemorySource source(as_bytes(text));
  std::vector<std::vector<DaliMember>> samples;
  read_dali_index(source, "x.idx", [&](const std::vector<DaliMember>& members) { samples.push_back(members); });
  return samples;
}

bool is_corrupt(const std::string& text) {
  try {
    samples_of(text);
  } catch (const Error& error) {
    return error.code() == ErrorCode::corrupt && error.path() == "x.idx";
  }
  return false;
}

}  // namespace

TEST_CASE("both versions of DALI's index are read") {
  for (const std::string text : {"v1.2 2\njpg 512 100 a.jpg cls 1536 1 a.cls\njpg 2560 7 b.jpg\n",
                                 "v1.1 2\njpg 512 100 cls 1536 1\njpg 2560 7\n"}) {
    const auto samples = samples_of(text);
    REQUIRE(samples.size() == 2);
    REQUIRE(samples[0].size() == 2);
    CHECK(samples[0][1].extension == "cls");
    CHECK(samples[0][1].offset == 1536);
    CHECK(samples[0][1].size == 1);
    CHECK(samples[1][0].size == 7);
  }
  CHECK(samples_of("v1.2 0\n").empty());
}

TEST_CASE("what is no index, or a part of one, is corrupt") {
  CHECK(is_corrupt(""));
  CHECK(is_corrupt("v1.3 1\njpg 512 100 a.jpg\n"));
  CHECK(is_corrupt("v1.2 many\n"));
  CHECK(is_corrupt("v1.2 2\njpg 512 100 a.jpg\n"));
  CHECK(is_corrupt("v1.2 1\njpg 512 100 a.jpg"));
  CHECK(is_corrupt("v1.2 1\njpg 512\n"));
  CHECK(is_corrupt("v1.2 1\njpg 512 -1 a.jpg\n"));
  CHECK(is_corrupt("v1.2 1\njpg 99999999999999999999 1 a.jpg\n"));
  CHECK(is_corrupt("v1.2 1\n\n"));
}
