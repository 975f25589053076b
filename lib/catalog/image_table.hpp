#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "catalog/image_list.hpp"
#include "core/context.hpp"
#include "formats/table_reader.hpp"
#include "io/file.hpp"

namespace shardkit::catalog {

/// Raises Error{corrupt} that names the table's file, its line and `text`.
[[noreturn]] void fail_at_line(const std::string& file, std::uint64_t line, std::string_view text);

/// A file with one row for each image and a column that holds its path: CSV, TSV or JSON Lines, told by its ending.
///
/// Paths are relative to the source, or absolute (of a store: addresses) and below it; "." and ".." are resolved in the
/// text, without looking at links. One thread at a time, but row_at().
class ImageTable {
 public:
  /// Throws Error{usage} for an ending of another kind and for a CSV or TSV without the column, and what reading a file
  /// throws.
  ImageTable(const std::string& file, const std::string& path_column, const SourceFolder& source);

  /// The next row, its fields and its image's path, relative to the source; false at the end. Throws Error{corrupt}
  /// with file and line for what is no row, or has no path, or one that leaves the source.
  bool next(formats::TableRow& row, nlohmann::ordered_json& fields, std::string& path);

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
  std::string source_;  ///< an absolute, normal path or an address, without a slash at its end
  std::unique_ptr<ByteSource> bytes_;
  formats::TableReader rows_;
};

/// Where the row of each image lies in a table: 24 bytes a row, whatever it holds.
class RowIndex {
 public:
  /// Reads the whole table. Throws what ImageTable::next() throws.
  RowIndex(const std::string& file, const std::string& path_column, const SourceFolder& source, Context& ctx);

  struct Place {
    std::uint64_t path_hash = 0;  ///< XXH3-64
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t line = 0;  ///< of the first 2^32
  };
  /// The rows that name the image, with its extension or without, in the table's order.
  std::vector<Place> find(std::string_view path) const;
  /// Whether some image has several; only after look_for_several().
  bool several() const { return several_; }
  void look_for_several(const ImageFolderScan& scan);
  const std::vector<Place>& all() const { return places_; }

  /// The row of `path`, whose place this is. Throws Error{conflict} when it is not there any more.
  nlohmann::ordered_json fields(std::string_view path, const Place& place);
  /// All its rows without the path: an object, or where several() a list of objects.
  nlohmann::ordered_json note(std::string_view path, const std::vector<Place>& places);
  const ImageTable& table() const { return table_; }

 private:
  ImageTable table_;
  std::vector<Place> places_;  ///< by hash, then offset
  bool several_ = false;
};

/// What tables say of images, as text for the .json members of their samples: the columns of --metadata but the path,
/// and the labels of a list whose images have several. Of a table in which an image has several rows, each .json is a
/// list of rows in the table's order. Values of CSV and TSV are strings, those of JSON Lines keep
/// their types; labels that are whole numbers are numbers.
class ImageNotes {
 public:
  /// Every image is to have a row of the file. Throws as RowIndex.
  void add_metadata(const std::string& file, const std::string& path_column, const SourceFolder& source, Context& ctx);
  /// The list that the images are of, for its labels or rows.
  void add_labels(const ImageListOptions& list, const SourceFolder& source, Context& ctx);

  /// To be called when the tables are there: looks whether images have several rows. Throws Error{usage} where both
  /// tables are given and one has.
  void settle(const ImageFolderScan& scan);
  bool empty() const { return !metadata_ && !labels_; }
  /// Whether the tables know the image, so that json_of() has something to say.
  bool knows(std::string_view path) const;

  /// An object or a list on one line. Throws Error{corrupt} that names file and line for text that is not UTF-8, which
  /// JSON cannot hold, and Error{conflict} when the table has changed meanwhile. One thread at a time.
  std::string json_of(std::string_view path);

  /// How many rows of the metadata name none of `scan`'s images, and the line of the first of them.
  struct Unused {
    std::uint64_t rows = 0;
    std::uint64_t line = 0;
  };
  Unused unused(const ImageFolderScan& scan) const;

 private:
  nlohmann::ordered_json labels_in(nlohmann::ordered_json cell, std::string_view path) const;

  std::unique_ptr<RowIndex> metadata_;
  std::unique_ptr<RowIndex> labels_;
  std::string label_column_;
  std::string label_separator_;
};

}  // namespace shardkit::catalog
