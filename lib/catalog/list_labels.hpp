#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "catalog/image_list.hpp"

namespace shardkit {

/// A label as a list writes it.
struct ListedLabel {
  std::string text;
  std::optional<std::uint64_t> number;  ///< where it is a whole number, then `text` is its shortest form
};

/// The labels of a list, read row by row, with what has to hold over all rows: each image has exactly one label, and
/// all are whole numbers or all are names; or each has any number of any labels.
class ListLabels {
 public:
  /// `options` outlive it.
  explicit ListLabels(const ImageListOptions& options);

  /// The labels in a row's cell. Throws Error{corrupt} that names file and line for what is no label, or is of another
  /// kind than in the rows before.
  std::vector<ListedLabel> read(const nlohmann::ordered_json& fields, std::uint64_t line);

  /// Whether images have any number of labels: lists of JSON, or text with the separator given.
  bool several() const { return several_.value_or(false); }

 private:
  void note_count(bool several, std::uint64_t line);
  ListedLabel label_of(const nlohmann::ordered_json& value, std::uint64_t line);
  [[noreturn]] void fail(std::uint64_t line, std::string_view text) const;

  const ImageListOptions& options_;
  std::optional<bool> several_;
  std::optional<bool> numbers_;
  std::uint64_t first_line_ = 0;   ///< that decided several_
  std::uint64_t number_line_ = 0;  ///< that decided numbers_
};

/// The parts of a cell between separators; none of an empty cell.
std::vector<std::string> split_labels(std::string_view cell, std::string_view separator);

}  // namespace shardkit
