#include "formats/tsv.hpp"

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::formats;

TEST_CASE("any bytes survive escaping, and the result is one column of one line") {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  std::string line;
  append_escaped(line, all);
  CHECK(line.find_first_of("\t\n\r") == std::string::npos);
  std::string back;
  CHECK(unescape(line, back));
  CHECK(back == all);
}

TEST_CASE("an unknown escape or a lone backslash is refused") {
  std::string text;
  CHECK_FALSE(unescape("a\\x", text));
  CHECK_FALSE(unescape("a\\", text));
}

TEST_CASE("columns are split at tabs, empty ones too") {
  std::vector<std::string_view> columns;
  split_columns("a\t\tb\t", columns);
  CHECK(columns == std::vector<std::string_view>{"a", "", "b", ""});
}
