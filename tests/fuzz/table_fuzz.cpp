// A table of any kind is read or refused as corrupt: the same wherever its source is cut, the same row by row again,
// and what is read of CSV can be written and read back.

#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "support/table_rows.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

/// What reading gave: rows, and the error that ended them.
struct Reading {
  std::vector<std::string> columns;
  std::vector<test::ReadRow> rows;
  std::string error;
};

Reading read(std::string_view text, TableKind kind, std::size_t step) {
  Reading reading;
  test::StepSource source(text, step);
  MemorySource whole(as_bytes(text));
  try {
    TableReader reader(source, kind, "fuzz");
    reading.columns = reader.columns();
    std::uint64_t end = 0;
    std::uint64_t line = 0;
    for (test::ReadRow row; reader.next(row, row.fields);) {
      fuzz::promise(row.offset >= end && row.line > line && row.length > 0);
      end = row.offset + row.length;
      line = row.line;
      fuzz::promise(reader.row_at(whole, row.offset, row.length) == row.fields);
      reading.rows.push_back(row);
    }
    fuzz::promise(end <= text.size());
  } catch (const Error& error) {
    fuzz::promise(error.code() == ErrorCode::corrupt && error.offset() <= text.size());
    reading.error = error.what();
  }
  return reading;
}

void promise_same_rows(const Reading& a, const Reading& b) {
  fuzz::promise(a.columns == b.columns && a.rows.size() == b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) fuzz::promise(a.rows[i].fields == b.rows[i].fields);
}

void promise_round_trip(const Reading& reading, TableKind kind) {
  if (kind == TableKind::jsonl || reading.columns.empty()) return;
  const char separator = kind == TableKind::tsv ? '\t' : ',';
  std::string text = test::csv_record(reading.columns, separator, true);
  for (const test::ReadRow& row : reading.rows) {
    std::vector<std::string> values;
    for (const auto& value : row.fields) values.push_back(value.get<std::string>());
    text += "\r\n" + test::csv_record(values, separator);
  }
  promise_same_rows(reading, read(text, kind, text.size() + 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  for (const TableKind kind : {TableKind::csv, TableKind::tsv, TableKind::jsonl}) {
    const Reading whole = read(text, kind, size + 1);
    const Reading cut = read(text, kind, 1 + size / 32);
    fuzz::promise(whole.error == cut.error);
    promise_same_rows(whole, cut);
    promise_round_trip(whole, kind);
  }
  return 0;
}
