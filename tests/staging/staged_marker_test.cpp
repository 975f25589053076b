#include <doctest/doctest.h>

#include "core/error.hpp"
#include "staging/stage_journal.hpp"

using namespace shardkit;
using namespace shardkit::staging;

namespace {

const StagedMarker kMarker{.source = "/mnt/train",
                           .verified = Verified::checksum,
                           .verified_at = "2026-11-22T10:00:00Z",
                           .manifest = {0x0123456789abcdef, 7},
                           .files = 12,
                           .bytes = 34'000'000'000};

}  // namespace

TEST_CASE("a staged marker reads back as written, and says its hash as xxh128sum does") {
  const std::string text = write_staged_marker(kMarker);
  CHECK(formats::read_staged_marker(text, "m") == kMarker);
  CHECK(text.find("\"0123456789abcdef0000000000000007\"") != std::string::npos);
  CHECK(text.find("subsets") == std::string::npos);
}

TEST_CASE("a marker of a part of a set says which part") {
  StagedMarker part = kMarker;
  part.subsets = {"ranks 0-3 of 8 by webdataset"};
  CHECK(formats::read_staged_marker(write_staged_marker(part), "m") == part);
}

TEST_CASE("a damaged staged marker is corrupt, wherever it was cut") {
  const std::string text = write_staged_marker(kMarker);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(formats::read_staged_marker(text.substr(0, size), "m"), Error);
  }
}

TEST_CASE("a marker of another format, version or type of field is corrupt") {
  const std::string text = write_staged_marker(kMarker);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return changed.replace(changed.find(from), from.size(), to);
  };
  CHECK_THROWS_AS(formats::read_staged_marker(replaced("shardkit-staged", "shardkit-manifest"), "m"), Error);
  CHECK_THROWS_AS(formats::read_staged_marker(replaced("\"version\": 1", "\"version\": 2"), "m"), Error);
  for (const char* number : {"\"12\"", "12555555555555555555555555555555536", "-12", "1.2"}) {
    CAPTURE(number);
    CHECK_THROWS_AS(formats::read_staged_marker(replaced("\"files\": 12", std::string("\"files\": ") + number), "m"),
                    Error);
  }
  CHECK_THROWS_AS(formats::read_staged_marker(replaced("0123456789abcdef", "0123"), "m"), Error);
}
