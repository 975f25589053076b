#include "formats/table_reader.hpp"

#include <array>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/table_rows.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using namespace shardkit::test;
using namespace std::string_literals;

namespace {

/// The rows' values, each row joined by '|'.
std::vector<std::string> values(std::string_view text, TableKind kind = TableKind::csv) {
  std::vector<std::string> lines;
  for (const ReadRow& row : rows_of(text, kind)) {
    std::string line;
    for (const auto& field : row.fields) line += field.get<std::string>() + '|';
    line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

using Values = std::vector<std::string>;

/// What reading all of `text` throws.
Error error_of(std::string_view text, TableKind kind = TableKind::csv) {
  try {
    rows_of(text, kind);
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return {ErrorCode::io, ""};
}

/// Expects an error in `line` whose words hold `words`, with path and byte.
void check_error(std::string_view text, std::string_view line, std::string_view words, std::uint64_t offset,
                 TableKind kind = TableKind::csv) {
  CAPTURE(text);
  const Error error = error_of(text, kind);
  const std::string prefix = "table 't', line " + std::string(line) + ": ";
  CAPTURE(error.what());
  CHECK(error.code() == ErrorCode::corrupt);
  CHECK(std::string_view(error.what()).starts_with(prefix));
  CHECK(std::string_view(error.what()).find(words) != std::string_view::npos);
  CHECK(error.path() == "t");
  CHECK(error.offset() == offset);
}

}  // namespace

TEST_CASE("a file's ending names the kind of table, in any case") {
  CHECK(table_kind("a/list.csv") == TableKind::csv);
  CHECK(table_kind("LIST.TSV") == TableKind::tsv);
  CHECK(table_kind("x.jsonl") == TableKind::jsonl);
  CHECK(table_kind("x.NdJson") == TableKind::jsonl);
  for (const char* other : {"x.json", "csv", "x.csv.gz", "", "x.csv/"}) CHECK_FALSE(table_kind(other));
}

TEST_CASE("the header names the columns, and a row is an object in their order") {
  const std::string text = "path,label,note\na.jpg,7,\nb.jpg,8,new\n";
  MemorySource source(as_bytes(text));
  TableReader reader(source, TableKind::csv, "t");
  CHECK(reader.columns() == Values{"path", "label", "note"});
  const std::vector<ReadRow> rows = rows_of(reader);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].fields.dump() == R"({"path":"a.jpg","label":"7","note":""})");
  CHECK(rows[1].fields.dump() == R"({"path":"b.jpg","label":"8","note":"new"})");
  ReadRow row;
  CHECK_FALSE(reader.next(row, row.fields));
}

TEST_CASE("a row knows its line and its bytes, whatever lines stand before it") {
  const std::string text = "\xEF\xBB\xBFp,q\r\n\r\n\"two\nlines\",1\r\n\nx,2";
  const std::vector<ReadRow> rows = rows_of(text, TableKind::csv);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].line == 3);
  CHECK(text.substr(rows[0].offset, rows[0].length) == "\"two\nlines\",1");
  CHECK(rows[1].line == 6);
  CHECK(text.substr(rows[1].offset, rows[1].length) == "x,2");
}

TEST_CASE("quotes take separators, line ends and doubled quotes into a value") {
  CHECK(values("p,q\n\"a,b\",c\n") == Values{"a,b|c"});
  CHECK(values("p,q\n\"a\r\nb\rc\n\",d\n") == Values{"a\r\nb\rc\n|d"});
  CHECK(values("p,q\n\"say \"\"hi\"\"\",\"\"\"\"\n") == Values{"say \"hi\"|\""});
  CHECK(values("p,q\n\"\",\"\"\n") == Values{"|"});
  CHECK(values("\"p,\"\"1\"\"\",q\n\"x\",\"y\"") == Values{"x|y"});
}

TEST_CASE("a quote within an unquoted value is text, and so are spaces") {
  CHECK(values("p,q\na\"b\"c,d\"\n") == Values{"a\"b\"c|d\""});
  CHECK(values("p,q\n a , \"b\"\n") == Values{" a | \"b\""});
}

TEST_CASE("a tab takes the comma's place in TSV, and nothing else changes") {
  CHECK(values("p\tq\na,b\t\"c\td\"\n", TableKind::tsv) == Values{"a,b|c\td"});
  CHECK(values("p\tq\n\\t\t\"\"\"\"\r\n\r\n", TableKind::tsv) == Values{"\\t|\""});
}

TEST_CASE("lines end with LF or CR LF, blank ones are skipped, the last may lack its end") {
  for (const char* text :
       {"p,q\na,b\nc,d\n", "p,q\r\na,b\r\nc,d\r\n", "p,q\na,b\r\nc,d", "\n\r\np,q\n\na,b\n\n\r\nc,d\n\n",
        "\xEF\xBB\xBFp,q\na,b\nc,d\n", "\xEF\xBB\xBF\"p\",q\na,b\n\"c\",\"d\""}) {
    CAPTURE(text);
    CHECK(values(text) == Values{"a|b", "c|d"});
  }
  CHECK(values("p,q\n1,") == Values{"1|"});
  CHECK(values("p,q\n").empty());
  CHECK(values("p,q").empty());
  CHECK(values("p\n\n\"\"\nx\n") == Values{"", "x"});
}

TEST_CASE("values that are not UTF-8 are kept byte by byte") {
  const std::vector<ReadRow> rows = rows_of("p\ncaf\xE9.jpg\n", TableKind::csv);
  CHECK(rows.at(0).fields["p"].get<std::string>() == "caf\xE9.jpg");
}

TEST_CASE("a table without a header, or with one that does not tell columns apart, is refused") {
  check_error("", "1", "is empty", 0);
  check_error("\n\r\n", "3", "is empty", 3);
  check_error("p,,q\n", "1", "column 2 has no name; give it one, or leave it out", 2);
  check_error("p,q,\n", "1", "column 3 has no name", 4);
  check_error("\n\"\"\n", "2", "column 1 has no name", 2);
  check_error("p,q,\"p\"\n", "1", "'p' is named twice", 5);
  check_error(std::string(11'000, ',') + "\n", "1", "11,001 columns; at most 10,000", 0);
}

TEST_CASE("a record has as many fields as the header has columns") {
  check_error("p,q\na,b\nc\n", "3", "1 field but the header has 2 columns; write an empty", 8);
  check_error("p,q\na,b,c\n", "2", "3 fields but the header has 2 columns; quote a value that contains a comma", 4);
  check_error("p\tq\na\tb\tc\n", "2", "quote a value that contains a tab", 4, TableKind::tsv);
  check_error("p,q\n \n", "2", "1 field", 4);
}

TEST_CASE("text behind a closing quote is an error where it stands") {
  check_error("p,q\n\"a\"b,c\n", "2", "after a closing quote", 7);
  check_error("p,q\n\"a\" ,c\n", "2", "after a closing quote", 7);
  check_error("p,q\n\"a\n\nx\"y,c\n", "4", "after a closing quote", 10);
}

TEST_CASE("a quote that is never closed is named by the line that it opens on") {
  check_error("p,q\na,b\n\"c\nd,\"\"e\nf,g\n", "3", "never closed", 8);
  check_error("p,q\n\"x\ny\",\"d\ne", "3", "never closed", 10);
  check_error("\"p", "1", "never closed", 0);
}

TEST_CASE("a carriage return alone ends no line and is no text") {
  check_error("p,q\ra,b\r", "1", "carriage return", 3);
  check_error("p,q\na,b\r", "2", "carriage return", 7);
  check_error("p,q\n\"a\"\rb,c", "2", "carriage return", 7);
}

TEST_CASE("NUL bytes and UTF-16 are reported by name") {
  check_error("p,q\na,b\nx\0y,c\n"s, "3", "NUL", 9);
  check_error("p,q\n\"a\nb\0\",c\n"s, "3", "NUL", 8);
  check_error("p\0,\0q\0\r\0\n\0"s, "1", "NUL", 1);
  for (const TableKind kind : {TableKind::csv, TableKind::tsv, TableKind::jsonl}) {
    check_error("\xFF\xFEp\0,\0"s, "1", "UTF-16", 0, kind);
    check_error("\xFE\xFF\0p\0,"s, "1", "UTF-16", 0, kind);
  }
}

TEST_CASE("a row of more than 16 MiB is refused, one of 16 MiB read") {
  constexpr std::size_t limit = 16U << 20U;
  const std::string fits = "p,q\n" + std::string(limit - 2, 'x') + ",y";
  CHECK(rows_of(fits + "\nz,z\n", TableKind::csv).size() == 2);
  check_error("p,q\na,b\nc" + fits.substr(4) + "\n", "3", "more than 16 MiB", 8);
  check_error("p,q\na,b\n\"" + std::string(limit + 100, '\n') + "\",b\n", "3", "close every quote", 8);
  check_error("p,q\n" + std::string(limit + 100, '\0') + "\n", "2", "NUL", 4);
  check_error("p,q\n" + std::string(limit, ',') + "\n", "2", "16,777,217 fields", 4);
  const std::string object = R"({"a":")" + std::string(limit, 'x') + "\"}\n";
  check_error("{}\n" + object, "2", "more than 16 MiB", 3, TableKind::jsonl);
}

TEST_CASE("an error stands: reading on gives it again") {
  MemorySource source(as_bytes("p,q\na,b\nc\nd,e\n"));
  TableReader reader(source, TableKind::csv, "t");
  ReadRow row;
  CHECK(reader.next(row, row.fields));
  CHECK_THROWS_AS(reader.next(row, row.fields), Error);
  CHECK_THROWS_AS(reader.next(row, row.fields), Error);
}

TEST_CASE("a row that is not there any more is a conflict") {
  const std::string text = "p,q\na,b\n\"c\",d\n";
  MemorySource source(as_bytes(text));
  const TableReader reader(source, TableKind::csv, "t");
  CHECK(reader.row_at(source, 8, 5).dump() == R"({"p":"c","q":"d"})");
  struct Range {
    std::uint64_t offset;
    std::uint64_t length;
  };
  // Half a row, two rows, an open quote, past the end, nothing, more than any row has.
  for (const auto& [offset, length] : {Range{4, 1}, {4, 9}, {8, 2}, {8, 50}, {90, 3}, {4, 0}, {0, 1ULL << 60U}}) {
    CAPTURE(offset);
    CAPTURE(length);
    try {
      reader.row_at(source, offset, length);
      FAIL_CHECK("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::conflict);
      CHECK(error.path() == "t");
      CHECK(error.offset() == offset);
    }
  }
}
