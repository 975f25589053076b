#include <string>

#include <doctest/doctest.h>

#include "formats/tsv.hpp"

using namespace shardkit;
using namespace shardkit::formats;

TEST_CASE("lines come with their offsets, however long the file") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + '\n';
  MemorySource source(as_bytes(text));
  LineReader lines(source, 0, text.size());
  std::string_view line;
  int count = 0;
  while (lines.next(line)) {
    REQUIRE(line == std::to_string(count));
    REQUIRE(text.compare(lines.line_offset(), line.size(), line) == 0);
    ++count;
  }
  CHECK(count == 100'000);
  CHECK(lines.next_offset() == text.size());
}

TEST_CASE("a last line without newline is not a line") {
  MemorySource source(as_bytes("one\ntwo"));
  LineReader lines(source, 0, 7);
  std::string_view line;
  CHECK(lines.next(line));
  CHECK_FALSE(lines.next(line));
}

TEST_CASE("reading stays within its range") {
  MemorySource source(as_bytes("one\ntwo\nsix\n"));
  LineReader lines(source, 4, 8);
  std::string_view line;
  CHECK(lines.next(line));
  CHECK(line == "two");
  CHECK_FALSE(lines.next(line));
}

TEST_CASE("a line of megabytes ends the reading instead of filling memory") {
  const std::string text = std::string(3U << 20U, 'x') + "\n";
  MemorySource source(as_bytes(text));
  LineReader lines(source, 0, text.size());
  std::string_view line;
  CHECK_FALSE(lines.next(line));
}
