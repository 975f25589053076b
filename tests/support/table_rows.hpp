#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/table_reader.hpp"

/// Tables of rows in memory: a source that gives few bytes a call, a reader of all rows, a writer of CSV.
namespace shardkit::test {

/// Memory that is read at most `step` bytes a call, so that every row is cut where a step ends.
class StepSource final : public ByteSource {
 public:
  StepSource(std::string_view text, std::size_t step) : memory_(as_bytes(text)), step_(step) {}
  std::uint64_t size() const override { return memory_.size(); }
  std::size_t read_at(std::uint64_t offset, MutableBytes buffer) override {
    return memory_.read_at(offset, buffer.first(std::min(buffer.size(), step_)));
  }

 private:
  MemorySource memory_;
  std::size_t step_;
};

struct ReadRow : formats::TableRow {
  nlohmann::ordered_json fields;
};

inline std::vector<ReadRow> rows_of(formats::TableReader& reader) {
  std::vector<ReadRow> rows;
  for (ReadRow row; reader.next(row, row.fields);) rows.push_back(row);
  return rows;
}

inline std::vector<ReadRow> rows_of(std::string_view text, formats::TableKind kind, std::size_t step = 1U << 20U) {
  StepSource source(text, step);
  formats::TableReader reader(source, kind, "t");
  return rows_of(reader);
}

/// One record without its line end. Quotes a field where it must be, or every one.
inline std::string csv_record(const std::vector<std::string>& fields, char separator, bool quote_all = false) {
  std::string record;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) record += separator;
    const bool lone_empty = fields.size() == 1 && field.empty();  // would be a blank line
    if (!quote_all && !lone_empty && field.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) {
      record += field;
      continue;
    }
    record += '"';
    for (const char c : field) record += c == '"' ? std::string("\"\"") : std::string(1, c);
    record += '"';
  }
  return record;
}

}  // namespace shardkit::test
