#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/bytes.hpp"
#include "formats/table_reader.hpp"

namespace shardkit::formats {

/// Annotations of images in the format of COCO (https://cocodataset.org/#format-data): a JSON object with the arrays
/// "images" and "annotations", and "categories" if annotations have a category_id. Other members are skipped.
///
/// Read once from start to end, one element at a time: in memory are 24 bytes for each annotation, 32 for each image,
/// and the categories. Every element has at most 16 MiB. One thread at a time, except for row_at().
class CocoFile {
 public:
  /// Reads the file. `name` is for messages; `source` must outlive this. Throws Error{corrupt} with line and byte for
  /// text that is not JSON or is cut, other shapes, ids that are missing, unknown or used twice, and a file name that
  /// two images have.
  CocoFile(ByteSource& source, std::string name);

  /// The next image without its annotations; false at the end.
  bool next(TableRow& row, nlohmann::ordered_json& image);

  /// An image that next() returned, by its position, with the list "annotations": each without image_id, and with the
  /// name of its category in "category". From any thread. Throws Error{conflict} if the file has changed.
  nlohmann::ordered_json row_at(ByteSource& source, std::uint64_t offset, std::uint64_t length) const;

 private:
  class Scanner;
  /// An image, or an annotation of one.
  struct Element {
    std::uint64_t image_hash = 0;  ///< XXH3-64 of the image's id, as JSON
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t line = 0;
  };

  ByteSource& source_;
  std::string name_;
  std::vector<Element> images_;                      ///< in the file's order
  std::vector<Element> annotations_;                 ///< by image, then offset
  std::map<std::uint64_t, std::string> categories_;  ///< names by XXH3-64 of their ids, as JSON
  std::size_t next_ = 0;
};

}  // namespace shardkit::formats
