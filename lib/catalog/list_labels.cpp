#include "catalog/list_labels.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "catalog/image_table.hpp"
#include "formats/tsv.hpp"

namespace shardkit {
namespace {

bool looks_like_a_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;  // "nan" and "inf" are names
  return error != std::errc::invalid_argument && stop == end && has_digit;
}

}  // namespace

std::vector<std::string> split_labels(std::string_view cell, std::string_view separator) {
  std::vector<std::string> parts;
  if (cell.empty()) return parts;
  while (true) {
    const std::size_t end = cell.find(separator);
    parts.emplace_back(cell.substr(0, end));
    if (end == std::string_view::npos) return parts;
    cell.remove_prefix(end + separator.size());
  }
}

ListLabels::ListLabels(const ImageListOptions& options) : options_(options) {}

void ListLabels::fail(std::uint64_t line, std::string_view text) const { fail_at_line(options_.file, line, text); }

std::vector<ListedLabel> ListLabels::read(const nlohmann::ordered_json& fields, std::uint64_t line) {
  const auto cell = fields.find(options_.label_column);
  if (cell == fields.end()) fail(line, fmt::format("it has no '{}'; see --label-column", options_.label_column));
  std::vector<ListedLabel> labels;
  if (cell->is_array()) {
    note_count(true, line);
    for (const auto& value : *cell) labels.push_back(label_of(value, line));
  } else if (!options_.label_separator.empty() && cell->is_string()) {
    note_count(true, line);
    for (std::string& part : split_labels(cell->get_ref<const std::string&>(), options_.label_separator)) {
      labels.push_back(label_of(std::move(part), line));
    }
  } else {
    note_count(false, line);
    labels.push_back(label_of(*cell, line));
  }
  return labels;
}

void ListLabels::note_count(bool several, std::uint64_t line) {
  if (!several_) first_line_ = line;
  if (several_.value_or(several) != several) {
    fail(line, fmt::format("'{}' holds {} here, but {} in line {}; write all rows alike", options_.label_column,
                           several ? "several labels" : "one label", several ? "one" : "several", first_line_));
  }
  several_ = several;
}

ListedLabel ListLabels::label_of(const nlohmann::ordered_json& value, std::uint64_t line) {
  ListedLabel label;
  if (value.is_string()) {
    label.text = value.get<std::string>();
  } else if (value.is_number_unsigned()) {
    label.text = fmt::to_string(value.get<std::uint64_t>());
  } else {
    fail(line, fmt::format("the label is {}, neither text nor a whole number from 0 up",
                           value.is_number() ? value.dump() : value.type_name()));
  }
  if (label.text.empty()) fail(line, "the label is empty");
  if (label.text.find('\0') != std::string::npos) fail(line, "the label holds a NUL byte");
  if (options_.labels_are_names || several()) return label;  // only one label of an image is numbered
  std::uint64_t number = 0;
  if (parse_number(label.text, number)) {
    label.number = number;
    label.text = fmt::to_string(number);
  } else if (looks_like_a_number(label.text)) {
    fail(line,
         fmt::format("the label '{}' is no whole number from 0 up; give names a --class-map if it is one", label.text));
  }
  if (!numbers_) number_line_ = line;
  if (numbers_.value_or(label.number.has_value()) != label.number.has_value()) {
    fail(line,
         fmt::format("the label '{}' is a {}, but in line {} it is a {}; number the names with --class-map", label.text,
                     label.number ? "number" : "name", number_line_, label.number ? "name" : "number"));
  }
  numbers_ = label.number.has_value();
  return label;
}

}  // namespace shardkit
