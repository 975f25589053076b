#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "catalog/image_list.hpp"
#include "core/context.hpp"
#include "formats/coco_file.hpp"
#include "formats/table_reader.hpp"
#include "io/file.hpp"

namespace shardkit::catalog {

/// Whether a table of this name is COCO.
bool is_coco_name(const std::string& file);

/// Throws Error{corrupt} with the table's file, its line and `text`.
[[noreturn]] void fail_at_line(const std::string& file, std::uint64_t line, std::string_view text);

/// A file with one row per image and a column with its path: CSV, TSV or JSON Lines, recognized by the extension; or
/// COCO's .json, whose rows are its images with their annotations, and whose path is "file_name" unless another column
/// is chosen.
///
/// Paths are relative to the source, or absolute (in a store: addresses) and below it. "." and ".." are resolved in the
/// text, without following links. One thread at a time, except for row_at().
class ImageTable {
 public:
  /// Throws Error{usage} for another extension and for a CSV or TSV without the column, and the errors of reading.
  ImageTable(const std::string& file, const std::string& path_column, const SourceFolder& source);

  /// The next row, its fields and its image's path, relative to the source; false at the end. Throws Error{corrupt}
  /// with file and line for an invalid row, or a path that is missing or leaves the source.
  bool next(formats::TableRow& row, nlohmann::ordered_json& fields, std::string& path);

  /// Throws Error{usage} if the header lacks the column. JSON Lines have no header; there each row is checked.
  void require_column(const std::string& column, std::string_view option) const;

  /// Reads the fields of an image's row again, by its position. Throws Error{conflict} if there is another row or none.
  /// Thread-safe.
  nlohmann::ordered_json row_at(std::string_view path, std::uint64_t offset, std::uint64_t length);

  /// Warns of rows that may be several, with the line of the first, once next() has returned them.
  void warn_of_quotes(Context& context) const;

  /// Throws that Error{conflict}.
  [[noreturn]] void fail_changed(std::string_view path) const;

  const std::string& file() const { return file_; }
  const std::string& path_column() const { return path_column_; }
  /// Whether it is a file about its images, all of which should be there, and not a table that may have more.
  bool is_coco() const { return coco_ != nullptr; }

 private:
  void refuse_missing_header(const SourceFolder& source) const;
  /// Empty if the path leaves the source or is the source itself.
  std::string below_source(std::string_view path) const;
  /// Whether an absolute path leads into the source by another name, such as a link to it, which is then known.
  bool finds_other_root(const std::string& path);

  std::string file_;
  std::string path_column_;
  std::string source_;                      ///< an absolute, normalized path or an address, without a slash at its end
  std::vector<std::string> roots_;          ///< the same with a slash, then other names of that folder
  std::optional<formats::TableKind> kind_;  ///< empty: COCO
  std::unique_ptr<ByteSource> bytes_;
  std::unique_ptr<formats::TableReader> rows_;
  std::unique_ptr<formats::CocoFile> coco_;  ///< instead of `rows_`
  std::uint64_t joined_ = 0;                 ///< rows that may be several
  std::uint64_t joined_line_ = 0;            ///< of the first
};

/// Positions of the rows of images in a table: 32 bytes per row. A row that repeats another one exactly counts once.
class RowIndex {
 public:
  /// Reads the whole table. Throws the errors of ImageTable::next().
  RowIndex(const std::string& file, const std::string& path_column, const SourceFolder& source, Context& context);

  struct RowPosition {
    std::uint64_t path_hash = 0;  ///< XXH3-64
    std::uint64_t row_hash = 0;   ///< XXH3-64
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t line = 0;  ///< of the first 2^32
  };
  /// The rows of the image, given with or without extension, in the table's order.
  std::vector<RowPosition> find(std::string_view path) const;
  /// Whether some image has several, so that notes are lists; requires look_for_several().
  bool several() const { return lists_; }
  void make_lists() { lists_ = true; }
  /// The first such image and the lines of its rows, for messages.
  std::string several_text() const;
  void look_for_several(const ImageFolderScan& scan);
  const std::vector<RowPosition>& all() const { return positions_; }

  /// The row of `path` at this position. Throws Error{conflict} if it no longer exists.
  nlohmann::ordered_json fields(std::string_view path, const RowPosition& position);
  /// All its rows without the path: an object, or if several() a list of objects.
  nlohmann::ordered_json note(std::string_view path, const std::vector<RowPosition>& positions);
  const ImageTable& table() const { return table_; }

 private:
  ImageTable table_;
  std::vector<RowPosition> positions_;  ///< by hash, then offset
  std::string several_;                 ///< path of the first image with several
  bool lists_ = false;
};

/// Contents of tables about images, as text for the .json members of their samples: the columns of --metadata except
/// the path, and the labels of a list in which images have several. If an image has several rows in a table, each .json
/// is a list of rows in the table's order. Values of CSV and TSV are strings, those of JSON Lines keep their types;
/// labels that are whole numbers are numbers.
class ImageNotes {
 public:
  /// Every image should have a row in the file. Throws like RowIndex.
  void add_metadata(const std::string& file, const std::string& path_column, const SourceFolder& source,
                    Context& context);
  /// The list of the images, for its labels or rows.
  void add_labels(const ImageListOptions& list, const SourceFolder& source, Context& context);

  /// Call after adding the tables: checks whether images have several rows, and warns of that. `lists`: the earlier
  /// samples of the set have lists. Throws Error{usage} if both tables are given and one has.
  void complete(const ImageFolderScan& scan, Context& context, bool lists = false);
  bool empty() const { return !metadata_ && !labels_; }
  /// An image and the lines of its rows in the list, for messages.
  std::string lines_of(std::string_view path) const;
  /// Whether the tables contain the image, so that json_of() returns something.
  bool knows(std::string_view path) const;

  /// An object or a list on one line. Throws Error{corrupt} with file and line for text that is not UTF-8, which JSON
  /// does not allow, and Error{conflict} if the table has changed. One thread at a time.
  std::string json_of(std::string_view path);

  /// How many rows of the metadata match none of `scan`'s images, and the line of the first of them.
  struct Unused {
    std::uint64_t rows = 0;
    std::uint64_t line = 0;
    bool all = false;       ///< no row matches an image
    bool is_fault = false;  ///< the file lists the images of the source
  };
  Unused unused(const ImageFolderScan& scan) const;

 private:
  std::unique_ptr<RowIndex> metadata_;
  std::unique_ptr<RowIndex> labels_;
  std::string label_column_;
};

}  // namespace shardkit::catalog
