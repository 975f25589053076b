#include "catalog/image_table.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace shardkit {
namespace {

TableKind kind_of(const std::string& file) {
  if (const auto kind = table_kind(file)) return *kind;
  throw Error(ErrorCode::usage,
              fmt::format("'{}' ends neither in .csv, .tsv nor .jsonl: its name says how it is written", file), file);
}

/// Normal form of a path's text, without a slash at its end.
std::string normal(const std::filesystem::path& path) {
  std::string text = path.lexically_normal();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

void fail_at_line(const std::string& file, std::uint64_t line, std::string_view text) {
  throw Error(ErrorCode::corrupt, fmt::format("'{}', line {}: {}", file, line, text), file);
}

ImageTable::ImageTable(const std::string& file, const std::string& path_column, const std::string& source)
    : file_(file),
      path_column_(path_column),
      source_(normal(std::filesystem::absolute(source))),
      bytes_(file),
      rows_(bytes_, kind_of(file), file) {
  require_column(path_column, "--path-column");
}

void ImageTable::require_column(const std::string& column, std::string_view option) const {
  const std::vector<std::string>& columns = rows_.columns();
  if (columns.empty() || std::ranges::find(columns, column) != columns.end()) return;
  throw Error(ErrorCode::usage,
              fmt::format("'{}' has no column '{}'; it has {}: name one with {}", file_, column,
                          fmt::join(columns, ", "), option),
              file_);
}

bool ImageTable::next(TableRow& row, nlohmann::ordered_json& fields, std::string& path) {
  if (!rows_.next(row, fields)) return false;
  const auto cell = fields.find(path_column_);
  if (cell == fields.end() || !cell->is_string()) {
    fail_at_line(file_, row.line,
                 fmt::format("no text in '{}', which should hold the image's path; see --path-column", path_column_));
  }
  const std::string& text = cell->get_ref<const std::string&>();
  if (text.empty()) fail_at_line(file_, row.line, "the image's path is empty");
  if (text.find('\0') != std::string::npos) fail_at_line(file_, row.line, "the image's path holds a NUL byte");
  path = below_source(text);
  if (path.empty()) {
    fail_at_line(file_, row.line, fmt::format("'{}' does not lie in the source '{}'", text, source_));
  }
  return true;
}

std::string ImageTable::below_source(std::string_view path) const {
  std::string text = normal(path);
  if (text.starts_with('/')) {
    const std::string root = source_.ends_with('/') ? source_ : source_ + '/';
    if (!text.starts_with(root)) return {};
    text.erase(0, root.size());
  }
  return text == "." || text == ".." || text.starts_with("../") ? std::string() : text;
}

nlohmann::ordered_json ImageTable::row_at(std::string_view path, std::uint64_t offset, std::uint64_t length) {
  nlohmann::ordered_json fields = rows_.row_at(bytes_, offset, length);
  const auto cell = fields.find(path_column_);
  if (cell == fields.end() || !cell->is_string() || below_source(cell->get_ref<const std::string&>()) != path) {
    fail_changed(path);
  }
  return fields;
}

void ImageTable::fail_changed(std::string_view path) const {
  throw Error(ErrorCode::conflict,
              fmt::format("'{}' has changed while it was read: the row of '{}' is not what it was; run again when "
                          "nothing writes to the file",
                          file_, path),
              file_);
}

}  // namespace shardkit
