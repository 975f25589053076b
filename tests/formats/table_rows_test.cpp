// What holds for every table: a row is the same however the source is cut, and the same when read again by its place.

#include "support/table_rows.hpp"

#include <atomic>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "core/text.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using namespace shardkit::test;

namespace {

constexpr char kSeparators[] = {',', '\t'};

struct RandomTable {
  std::string text;
  std::vector<std::vector<std::string>> rows;
};

/// Values of the bytes that matter to a CSV reader, and of some that do not.
std::string random_value(Prng& prng) {
  constexpr std::string_view kBytes = "\"\",,\t\t\r\n\n ab\xE9\xC3\xA9";
  std::string value;
  for (std::uint64_t left = prng.below(9); left > 0; --left) value += kBytes[prng.below(kBytes.size())];
  return value;
}

RandomTable random_table(Prng& prng, char separator) {
  RandomTable table;
  const std::size_t columns = 1 + prng.below(4);
  const std::string_view end = prng.below(2) == 0 ? "\n" : "\r\n";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns; ++i) names.push_back(random_value(prng) + std::to_string(i));
  if (prng.below(4) == 0) table.text = "\xEF\xBB\xBF";
  table.text += csv_record(names, separator);
  for (std::uint64_t left = prng.below(20); left > 0; --left) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (std::size_t i = 0; i < columns; ++i) row.push_back(random_value(prng));
    table.text += end;
    if (prng.below(5) == 0) table.text += end;
    table.text += csv_record(row, separator, prng.below(3) == 0);
  }
  if (prng.below(2) == 0) table.text += end;
  return table;
}

std::vector<std::string> values_of(const ReadRow& row) {
  std::vector<std::string> values;
  for (const auto& field : row.fields) values.push_back(field.get<std::string>());
  return values;
}

bool same(const ReadRow& a, const ReadRow& b) {
  return a.line == b.line && a.offset == b.offset && a.length == b.length && a.fields == b.fields;
}

}  // namespace

TEST_CASE("what a writer of CSV wrote is read back equal, and again row by row from the last to the first") {
  Prng prng(1);
  for (int round = 0; round < 2000; ++round) {
    const TableKind kind = round % 2 == 0 ? TableKind::csv : TableKind::tsv;
    const RandomTable table = random_table(prng, kSeparators[round % 2]);
    CAPTURE(table.text);
    MemorySource source(as_bytes(table.text));
    TableReader reader(source, kind, "t");
    const std::vector<ReadRow> rows = rows_of(reader);
    REQUIRE(rows.size() == table.rows.size());
    for (std::size_t i = rows.size(); i-- > 0;) {
      REQUIRE((values_of(rows[i]) == table.rows[i]));
      REQUIRE((reader.row_at(source, rows[i].offset, rows[i].length) == rows[i].fields));
    }
  }
}

TEST_CASE("rows are the same wherever the source's pieces end") {
  Prng prng(2);
  for (int round = 0; round < 200; ++round) {
    const TableKind kind = round % 2 == 0 ? TableKind::csv : TableKind::tsv;
    const RandomTable table = random_table(prng, kSeparators[round % 2]);
    CAPTURE(table.text);
    const std::vector<ReadRow> whole = rows_of(table.text, kind);
    for (const std::size_t step : {1U, 2U, 3U, 5U, 7U, 11U}) {
      const std::vector<ReadRow> cut = rows_of(table.text, kind, step);
      REQUIRE(std::equal(whole.begin(), whole.end(), cut.begin(), cut.end(), same));
    }
  }
}

TEST_CASE("rows are the same wherever the reader's own buffer ends") {
  constexpr std::size_t block = 256U * 1024U;
  const std::string tail = "\"a\"\"b\r\nc\",d\r\n\"\",e\r\n";
  for (std::size_t before = block - tail.size() - 4; before < block + 4; ++before) {
    // The header's end and a filler row bring the tail to `before`.
    const std::string text = "p,q\r\n" + std::string(before - 9, 'x') + ",y\r\n" + tail;
    REQUIRE(text.find(tail) == before);
    const std::vector<ReadRow> rows = rows_of(text, TableKind::csv);
    REQUIRE(rows.size() == 3);
    CHECK(rows[1].offset == before);
    CHECK(rows[1].fields["p"] == "a\"b\r\nc");
    CHECK(rows[2].line == 5);
    CHECK(rows[2].fields["q"] == "e");
  }
}

TEST_CASE("a source whose pieces cut JSON Lines gives the same rows") {
  const std::string text = "\xEF\xBB\xBF{\"a\":[1,{\"b\":\"\xC3\xA9\"}]}\r\n\r\n  \n{\"a\": null}\n{}";
  const std::vector<ReadRow> whole = rows_of(text, TableKind::jsonl);
  REQUIRE(whole.size() == 3);
  for (std::size_t step = 1; step < text.size(); ++step) {
    const std::vector<ReadRow> cut = rows_of(text, TableKind::jsonl, step);
    CHECK(std::equal(whole.begin(), whole.end(), cut.begin(), cut.end(), same));
  }
}

TEST_CASE("many threads read rows by their place while one reads on") {
  std::string text = "path,label\n";
  for (int i = 0; i < 20'000; ++i) text += "\"f/" + std::to_string(i) + "\"," + std::to_string(i % 10) + "\n";
  MemorySource source(as_bytes(text));
  TableReader reader(source, TableKind::csv, "t");
  std::vector<ReadRow> first;
  for (ReadRow row; first.size() < 5000 && reader.next(row, row.fields);) first.push_back(row);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t part = 0; part < 3; ++part) {
      threads.emplace_back([&, part] {
        for (std::size_t i = part; i < first.size(); i += 3) {
          wrong += reader.row_at(source, first[i].offset, first[i].length) == first[i].fields ? 0 : 1;
        }
      });
    }
    CHECK(rows_of(reader).size() == 15'000);
  }
  CHECK(wrong == 0);
}

TEST_CASE("text is UTF-8 or not from a byte on") {
  for (const char* good : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF\xEE\x80\x80",
                           "\xF4\x8F\xBF\xBF", "eight plain bytes, \xC2\x80 and more"}) {
    CAPTURE(good);
    CHECK(is_utf8(good));
  }
  // Latin-1, a stray tail, overlong forms, a surrogate, above U+10FFFF, cut short.
  for (const char* bad : {"\xE9t\xE9", "\x80", "\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_utf8(bad));
    CHECK(find_invalid_utf8("eight plain bytes, then " + std::string(bad)) == 24);
  }
}
