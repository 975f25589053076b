#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "formats/table_reader.hpp"
#include "support/table_rows.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using namespace shardkit::test;
using namespace std::string_literals;

namespace {

/// What is wrong with a row; empty when it is read.
std::string fault_of(const std::string& text) {
  nlohmann::ordered_json row;
  const auto fault = read_json_row(text, row);
  if (!fault) return "";
  CHECK(fault->at <= text.size());
  CHECK_FALSE(fault->text.empty());
  return fault->text;
}

bool names(const std::string& fault, const std::string& words) { return fault.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a line is an object whose values keep their types and whose names keep their order") {
  const std::string text = R"({"z":1,"a":"x","f":1.5,"n":-3,"t":true,"l":[1,null,{"y":0,"x":[]}],"e":{}})";
  nlohmann::ordered_json row = "replaced";
  REQUIRE_FALSE(read_json_row(text, row));
  CHECK(row.dump() == text);
  CHECK(row["f"].is_number_float());
  CHECK(row["z"].is_number_unsigned());
  REQUIRE_FALSE(read_json_row("  {\"u\\u00e9\\ud83d\\ude00\" : 18446744073709551615 }\t", row));
  CHECK(row.dump() == "{\"u\xC3\xA9\xF0\x9F\x98\x80\":18446744073709551615}");
}

TEST_CASE("a line that is no object is refused") {
  for (const char* text : {"[]", "1", "null", "\"x\"", "[{}]"}) CHECK(names(fault_of(text), "not a JSON object"));
}

TEST_CASE("a line that is not JSON is refused from the byte on where it stops to be") {
  CHECK(names(fault_of(R"({"a":1)"), "not JSON from byte"));
  for (const auto& [row, words] :
       {std::pair(R"({"a":NaN})", "byte 6 of the line: NaN, but JSON has null"),
        std::pair(R"({"a":-Infinity})", "-Infinity, but"), std::pair(R"({"a":nan})", "nan, but"),
        std::pair(R"({"a":True})", "True, but JSON has true"),
        std::pair(R"({'a':1})", "byte 2 of the line: a text in single quotes"),
        std::pair(R"({"a":1, })", "a comma before '}'"), std::pair(R"({"a":[1,]})", "before ']'")})
    CHECK_MESSAGE(names(fault_of(row), words), row);
  CHECK(names(fault_of(R"({"a":1}{"b":2})"), "not JSON from byte 8"));
  for (const char* text : {"{'a':1}", "{\"a\":1,}", "{\"a\":NaN}", "{\"a\":01}", "{\"a\":\"\t\"}", "{\"a\":\"\\x\"}",
                           "path", "{\"a\":\"\\ud800\"}", "// c\n{}", "{\"a\"}", "{1:2}", ""}) {
    CAPTURE(text);
    CHECK(names(fault_of(text), "not JSON"));
  }
  CHECK(names(fault_of(R"({"a":1e999})"), "too large"));
}

TEST_CASE("a number that would change is refused where it stands, in any object or list, and not within a string") {
  for (const char* kept : {"0", "-0", "-0.0", "18446744073709551615", "-9223372036854775808", "9007199254740993", "0.1",
                           "-1.5", "1E5", "1.7e308", "5e-324", "1e-307", "0e999", "0.0e-999"}) {
    CAPTURE(kept);
    CHECK(fault_of(fmt::format(R"({{"a":{}}})", kept)).empty());
  }
  for (const auto& [number, words] : {std::pair{"18446744073709551616", "too large for 64 bits"},
                                      {"-9223372036854775809", "too large for 64 bits"},
                                      {"123456789012345678901234567890", "too large for 64 bits"},
                                      {"-99999999999999999999", "too large for 64 bits"},
                                      {"1e-400", "too small"},
                                      {"-0.1E-999", "too small"}}) {
    CAPTURE(number);
    for (const char* place : {R"({{"a":{}}})", R"({{"a":[1,{}]}})", R"({{"x":"\"","a":{{"b":[ {} ]}}}})",
                              R"({{"é\\":"\\\"1","a": {},"b":2}})"}) {
      CAPTURE(place);
      nlohmann::ordered_json row;
      const std::string text = fmt::format(fmt::runtime(place), number);
      const auto fault = read_json_row(text, row);
      REQUIRE(fault);
      CHECK(names(fault->text, words));
      CHECK(fault->at == text.find(number));
    }
    CHECK(fault_of(fmt::format(R"({{"a":"{0}","{0}":1,"b":"\"{0}"}})", number)).empty());
  }
  nlohmann::ordered_json row;
  REQUIRE_FALSE(read_json_row(R"({"a":9007199254740993,"b":-9223372036854775808,"c":-0.0})", row));
  CHECK(row.dump() == R"({"a":9007199254740993,"b":-9223372036854775808,"c":-0.0})");
}

TEST_CASE("a name twice in one object is refused, in two objects not") {
  CHECK(names(fault_of(R"({"a":1,"b":2,"a":1})"), "'a' is used twice"));
  CHECK(names(fault_of(R"({"x":[{"deep":{"q":1,"q":2}}]})"), "'q' is used twice"));
  CHECK(names(fault_of(R"({"a":1,"\u0061":1})"), "'a' is used twice"));
  CHECK(fault_of(R"({"a":{"a":[{"a":1},{"a":2}]},"A":3})").empty());
}

TEST_CASE("an object has at most as many names as a table has columns") {
  std::string text = "{\"first\":0";
  for (int i = 1; i < 10'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  CHECK(fault_of(text + "}").empty());
  CHECK(names(fault_of(text + ",\"77\":0}"), "'77' is used twice"));
  CHECK(names(fault_of(text + ",\"last\":0}"), "more than 10,000 names"));
}

TEST_CASE("bytes that are not UTF-8 are refused where they stand") {
  CHECK(names(fault_of("{\"a\":\"\xE9\"}"), "not UTF-8"));
  CHECK(names(fault_of("{\"\xED\xA0\x80\":1}"), "not UTF-8"));
  CHECK(fault_of("{\"a\":\"\xC3\xA9\"}").empty());
}

TEST_CASE("nesting is read up to 100 deep, and a million brackets end as soon") {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text = R"({"a":)";
    for (std::size_t i = 1; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 1; i < depth; ++i) text += close;
    return text + "}";
  };
  CHECK(fault_of(nested(100, "[", "]")).empty());
  CHECK(fault_of(nested(100, R"({"a":)", "}")).empty());
  CHECK(names(fault_of(nested(101, "[", "]")), "100 deep"));
  CHECK(names(fault_of(nested(101, R"({"a":)", "}")), "100 deep"));
  CHECK(names(fault_of(nested(1'000'000, "[", "]")), "100 deep"));
  CHECK(names(fault_of(std::string(1'000'000, '[')), "100 deep"));
  CHECK(names(fault_of(nested(1'000'000, R"({"a":)", "}")), "100 deep"));
}

TEST_CASE("JSON Lines: lines end with LF or CR LF, blank ones are skipped, the last may lack its end") {
  const std::string text = "\xEF\xBB\xBF{\"a\":1}\r\n\n \t\r\n{\"a\":[2]}\n{}";
  MemorySource source(as_bytes(text));
  TableReader reader(source, TableKind::jsonl, "t");
  CHECK(reader.columns().empty());
  const std::vector<ReadRow> rows = rows_of(reader);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].line == 1);
  CHECK(text.substr(rows[0].offset, rows[0].length) == "{\"a\":1}");
  CHECK(rows[1].line == 4);
  CHECK(rows[1].fields.dump() == R"({"a":[2]})");
  CHECK(rows[2].line == 5);
  for (const ReadRow& row : rows) CHECK((reader.row_at(source, row.offset, row.length) == row.fields));
  CHECK_THROWS_AS(reader.row_at(source, rows[1].offset, 4), Error);
  CHECK(rows_of("", TableKind::jsonl).empty());
  CHECK(rows_of("\xEF\xBB\xBF\n", TableKind::jsonl).empty());
}

TEST_CASE("JSON Lines: an error names file, line and byte") {
  struct Case {
    std::string text;
    std::string words;
    std::uint64_t offset;
  };
  for (const auto& [text, words, offset] : {Case{"{}\n\n{\"a\":x}\n", "line 3: not JSON from byte 6", 9},
                                            {"{}\n[]\n", "line 2: not a JSON object", 3},
                                            {"{}\n{\"a\":\"\xFF\"}", "line 2: bytes that are not UTF-8", 9},
                                            {"{}\n{\0}\n"s, "line 2: a NUL byte", 4},
                                            {"{}\n{\"a\":1,\"a\":2}\n", "line 2: the name 'a'", 3}}) {
    CAPTURE(text);
    try {
      rows_of(text, TableKind::jsonl);
      FAIL_CHECK("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt);
      CHECK(std::string_view(error.what()).starts_with("table 't', " + words));
      CHECK(error.path() == "t");
      CHECK(error.offset() == offset);
    }
  }
}
