#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/bytes.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {

/// Why bytes are not a row of a table. The reader adds file and line.
struct RowFault {
  std::string text;    ///< what is wrong; what to do
  std::size_t at = 0;  ///< byte within the row
};

/// Reads `text` as one JSON object (RFC 8259) into `row`, whose names keep their order. Stricter than the parser: also
/// refuses text that is not an object, a name twice in one object, more than 10,000 names in one, bytes that are not
/// UTF-8, a whole number beyond 64 bits, a decimal beyond a double's range, and more than 100 nested objects and lists.
/// Returns the fault, or nothing.
std::optional<RowFault> read_json_row(std::string_view text, nlohmann::ordered_json& row);

/// How a table of rows is written.
///
/// csv, tsv: RFC 4180, with a tab instead of the comma for tsv. The first record contains the column names: none empty,
/// none twice, at most 10,000; every other record has as many fields. A field that starts with a quote ends with one
/// and may contain separators, line ends and quotes, each written twice; a quote within any other field is text (like
/// Python's csv module). Lines end with LF or CR LF; a CR alone outside quotes is an error. Spaces belong to the value.
///
/// jsonl: JSON Lines, one object per line, as in read_json_row().
///
/// All: a byte-order mark of UTF-8 is skipped, empty lines too (in a CSV of one column a row whose value is empty is
/// written ""), the last line end may be missing. NUL bytes and UTF-16 are errors. A row has at most 16 MiB.
enum class TableKind { csv, tsv, jsonl };

/// By the extension of a file name in any case: .csv, .tsv, .jsonl or .ndjson; empty for another.
std::optional<TableKind> table_kind(std::string_view file_name);

/// Position of a row.
struct TableRow {
  std::uint64_t line = 0;    ///< of its first byte, from 1
  std::uint64_t offset = 0;  ///< of its first byte in the source
  std::uint64_t length = 0;  ///< bytes, without its line end
  std::uint64_t hash = 0;    ///< XXH3-64 of them
  /// A quoted value contains line ends and separators: it may be several rows behind a quote too many.
  bool may_be_several = false;
};

/// Reads a table row by row, with one row and one block of the source in memory.
///
/// The fields of a row are an object in the order of the columns, or of the line. In csv and tsv all values are strings
/// with the bytes of the file, UTF-8 or not, because paths may be any bytes. dump() throws for one that is not UTF-8,
/// so check first when writing JSON (is_utf8 in core/text.hpp) or replace them (dump's error handler). In jsonl values
/// keep their types.
///
/// Every method throws Error{corrupt} with path, byte and line for an invalid table, and the errors of the source. One
/// thread at a time, except for row_at.
class TableReader {
 public:
  /// Reads the header of csv and tsv. `name` is for messages; `source` must outlive the reader.
  TableReader(ByteSource& source, TableKind kind, std::string name);
  ~TableReader();

  /// The columns in the header's order; empty for jsonl. Like their values, their bytes are the file's.
  const std::vector<std::string>& columns() const { return columns_; }

  /// The next row and its fields; false at the end. After an Error the reader stays where it is and throws it again.
  bool next(TableRow& row, nlohmann::ordered_json& fields);

  /// Reads the fields of a row that next() returned again, by its position, from `source`: the same bytes, which may be
  /// opened again. From any thread, concurrently with other calls. Throws Error{conflict} if there is no such row any
  /// more.
  nlohmann::ordered_json row_at(ByteSource& source, std::uint64_t offset, std::uint64_t length) const;

 private:
  class CsvScanner;
  /// Size of the next row in the window.
  struct Extent {
    std::size_t length = 0;
    std::size_t length_with_end = 0;
  };

  void skip_byte_order_mark();
  void read_header();
  /// Finds the next row, empty or not, and extends the window to contain it; false at the end.
  bool find_row(Extent& extent);
  /// Whether the window contains a whole row; `last` if the source has nothing after the window.
  bool holds_row(bool last, Extent& extent);
  void pass(const Extent& extent);
  /// Reads the text of a whole row; for csv and tsv the result of `scanned`.
  std::optional<RowFault> read_fields(std::string_view text, const CsvScanner& scanned,
                                      nlohmann::ordered_json& fields) const;
  std::optional<RowFault> read_csv_fields(std::string_view text, const CsvScanner& scanned,
                                          nlohmann::ordered_json& fields) const;
  /// Throws for a fault in the window's first row.
  [[noreturn]] void fail(const RowFault& fault) const;

  TableKind kind_;
  std::string name_;
  SourceWindow window_;
  std::uint64_t line_ = 1;  ///< of the window's first byte
  std::unique_ptr<CsvScanner> scanner_;
  std::vector<std::string> columns_;
};

}  // namespace shardkit::formats
