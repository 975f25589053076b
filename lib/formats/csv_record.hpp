#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/row_fault.hpp"

namespace shardkit {

/// One field of a record, by its bytes in the record's text, without the quotes around it.
struct CsvField {
  std::size_t begin = 0;
  std::size_t length = 0;
  bool doubled_quotes = false;  ///< holds quotes, each written twice
};

/// Splits text into the records of a CSV file (RFC 4180; TableKind in table_reader.hpp says what else goes). Reuses its
/// memory.
class CsvScanner {
 public:
  /// Keeps the first `most_fields` of a record's fields, so that a line of nothing but separators takes no memory.
  CsvScanner(char separator, std::size_t most_fields) : separator_(separator), most_fields_(most_fields) {}

  enum class Outcome {
    record,      ///< a whole record stands at the start of the text
    unfinished,  ///< the text ends before the record does
    fault,       ///< no record: see fault()
  };

  /// Reads the record at the start of `text`; `last` when nothing follows the text, so that its end ends the record.
  Outcome scan(std::string_view text, bool last);

  /// Of the record: its kept fields, how many there are in all, its bytes without and with its line end.
  const std::vector<CsvField>& fields() const { return fields_; }
  std::size_t field_count() const { return field_count_; }
  std::size_t length() const { return length_; }
  std::size_t length_with_end() const { return length_with_end_; }
  const RowFault& fault() const { return fault_; }

  /// A field's value: `text` is what was scanned.
  static std::string value(std::string_view text, const CsvField& field);

 private:
  std::optional<Outcome> take_field(bool last);
  std::optional<Outcome> take_quoted(bool last);
  std::optional<Outcome> take_plain(bool last);
  std::optional<Outcome> take_end(bool last);
  void keep(const CsvField& field);
  Outcome failed(std::size_t at, const char* text);

  char separator_;
  std::size_t most_fields_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<CsvField> fields_;
  std::size_t field_count_ = 0;
  std::size_t length_ = 0;
  std::size_t length_with_end_ = 0;
  RowFault fault_;
};

}  // namespace shardkit
