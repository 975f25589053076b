#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "formats/table_reader.hpp"
#include "io/file.hpp"

namespace shardkit {

/// Raises Error{corrupt} that names the table's file, its line and `text`.
[[noreturn]] void fail_at_line(const std::string& file, std::uint64_t line, std::string_view text);

/// A file with one row for each image and a column that holds its path: CSV, TSV or JSON Lines, told by its ending.
///
/// Paths are relative to the source, or absolute and below it; "." and ".." are resolved in the text, without looking
/// at links. One thread at a time, but row_at().
class ImageTable {
 public:
  /// Throws Error{usage} for an ending of another kind and for a CSV or TSV without the column, and what reading a file
  /// throws.
  ImageTable(const std::string& file, const std::string& path_column, const std::string& source);

  /// The next row, its fields and its image's path, relative to the source; false at the end. Throws Error{corrupt}
  /// with file and line for what is no row, or has no path, or one that leaves the source.
  bool next(TableRow& row, nlohmann::ordered_json& fields, std::string& path);

  /// Throws Error{usage} where the header lacks the column. JSON Lines have none: there each row tells.
  void require_column(const std::string& column, std::string_view option) const;

  /// The fields of the row of an image again, by its place. Throws Error{conflict} when another row stands there, or
  /// none. Thread-safe.
  nlohmann::ordered_json row_at(std::string_view path, std::uint64_t offset, std::uint64_t length);

  /// Raises that Error{conflict}.
  [[noreturn]] void fail_changed(std::string_view path) const;

  const std::string& file() const { return file_; }
  const std::string& path_column() const { return path_column_; }

 private:
  /// Empty when the path leaves the source or names it itself.
  std::string below_source(std::string_view path) const;

  std::string file_;
  std::string path_column_;
  std::string source_;  ///< absolute, normal, without a slash at its end
  FileSource bytes_;
  TableReader rows_;
};

}  // namespace shardkit
