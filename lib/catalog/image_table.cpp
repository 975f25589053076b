#include "catalog/image_table.hpp"

#include <algorithm>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "formats/portable_name.hpp"

namespace shardkit::catalog {
namespace {

formats::TableKind kind_of(const std::string& file) {
  const std::string_view name = is_address(file) ? std::string_view(file).substr(0, file.find("?...")) : file;
  if (const auto kind = formats::table_kind(name)) return *kind;
  throw Error(ErrorCode::usage, At{file}, "'{}' does not end in .csv, .tsv or .jsonl, so its format is unknown", file);
}

/// Normal form of a path's text, without a slash at its end.
std::string normal(const std::filesystem::path& path) {
  std::string text = path.lexically_normal();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

/// The start of absolute paths in a table.
std::string root_of(const SourceFolder& source) {
  if (!source.store) return normal(std::filesystem::absolute(source.path));
  return source.path.substr(0, source.path.find("?..."));
}

/// An image's path as tables of ids write it.
std::string_view without_extension(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  return path.substr(0, name + formats::split_extension(path.substr(name)).stem.size());
}

}  // namespace

void fail_at_line(const std::string& file, std::uint64_t line, std::string_view text) {
  throw Error(ErrorCode::corrupt, At{file}, "'{}', line {}: {}", file, line, text);
}

ImageTable::ImageTable(const std::string& file, const std::string& path_column, const SourceFolder& source)
    : file_(file),
      path_column_(path_column),
      source_(root_of(source)),
      bytes_(source.inputs->open(file)),
      rows_(*bytes_, kind_of(file), file) {
  require_column(path_column, "--path-column");
}

void ImageTable::require_column(const std::string& column, std::string_view option) const {
  const std::vector<std::string>& columns = rows_.columns();
  if (columns.empty() || std::ranges::find(columns, column) != columns.end()) return;
  for (const auto& [separator, remedy] : {std::pair(';', "is separated by ';': write it with commas"),
                                          std::pair('\t', "is separated by tabs: name it .tsv")}) {
    if (columns.size() == 1 && columns.front().find(separator) != std::string::npos)
      throw Error(ErrorCode::usage, At{file_}, "'{}' {}", file_, remedy);
  }
  throw Error(ErrorCode::usage, At{file_}, "'{}' has no column '{}'; its columns are {}: choose one with {}", file_,
              column, fmt::join(columns, ", "), option);
}

bool ImageTable::next(formats::TableRow& row, nlohmann::ordered_json& fields, std::string& path) {
  if (!rows_.next(row, fields)) return false;
  const auto cell = fields.find(path_column_);
  if (cell == fields.end() || !cell->is_string()) {
    fail_at_line(
        file_, row.line,
        fmt::format("no text in '{}', which should contain the image's path; see --path-column", path_column_));
  }
  const std::string& text = cell->get_ref<const std::string&>();
  if (text.empty()) fail_at_line(file_, row.line, "the image's path is empty");
  if (text.find('\0') != std::string::npos) fail_at_line(file_, row.line, "the image's path contains a NUL byte");
  path = below_source(text);
  if (path.empty()) {
    fail_at_line(file_, row.line, fmt::format("'{}' is not inside the source '{}'", text, source_));
  }
  return true;
}

std::string ImageTable::below_source(std::string_view path) const {
  const std::string root = source_.ends_with('/') ? source_ : source_ + '/';
  const net::StoreScheme* store = net::find_store_scheme(root);
  std::string text(path);
  if (store && is_address(path)) {
    if (!path.starts_with(root)) return {};
    text = path.substr(root.size());
    if (store->is_web) text = net::percent_decode(text);
  }
  text = normal(text);
  if (text.starts_with('/')) {
    if (!text.starts_with(root)) return {};
    text.erase(0, root.size());
  }
  return text == "." || text == ".." || text.starts_with("../") ? std::string() : text;
}

nlohmann::ordered_json ImageTable::row_at(std::string_view path, std::uint64_t offset, std::uint64_t length) {
  nlohmann::ordered_json fields = rows_.row_at(*bytes_, offset, length);
  const auto cell = fields.find(path_column_);
  if (cell == fields.end() || !cell->is_string()) fail_changed(path);
  const std::string named = below_source(cell->get_ref<const std::string&>());
  if (named != path && named != without_extension(path)) fail_changed(path);
  return fields;
}

void ImageTable::fail_changed(std::string_view path) const {
  throw Error(
      ErrorCode::conflict, At{file_},
      "'{}' changed while being read: the row of '{}' is different now; run again when no process writes to the file",
      file_, path);
}

RowIndex::RowIndex(const std::string& file, const std::string& path_column, const SourceFolder& source,
                   Context& context)
    : table_(file, path_column, source) {
  context.progress().start("rows");
  formats::TableRow row;
  nlohmann::ordered_json fields;
  std::string path;
  while (table_.next(row, fields, path)) {
    if (++context.progress().items % 4096 == 0) context.throw_if_stopped();
    positions_.push_back({xxh3_64(as_bytes(path)), row.offset, static_cast<std::uint32_t>(row.length),
                          static_cast<std::uint32_t>(std::min<std::uint64_t>(row.line, UINT32_MAX))});
  }
  std::ranges::sort(positions_, {},
                    [](const RowPosition& position) { return std::pair(position.path_hash, position.offset); });
}

void RowIndex::look_for_several(const ImageFolderScan& scan) {
  for (const ScannedClass& owner : scan.classes) {
    for (const ScannedFile& file : owner.files) {
      if (several_) return;
      several_ = find(owner.path_of(file)).size() > 1;
    }
  }
}

std::vector<RowIndex::RowPosition> RowIndex::find(std::string_view path) const {
  std::vector<RowPosition> found;
  for (const std::string_view name : {path, without_extension(path)}) {
    const auto rows = std::ranges::equal_range(positions_, xxh3_64(as_bytes(name)), {}, &RowPosition::path_hash);
    found.insert(found.end(), rows.begin(), rows.end());
    if (name.size() == without_extension(path).size()) break;  // a path without an extension
  }
  std::ranges::sort(found, {}, &RowPosition::offset);
  return found;
}

nlohmann::ordered_json RowIndex::fields(std::string_view path, const RowPosition& position) {
  return table_.row_at(path, position.offset, position.length);
}

nlohmann::ordered_json RowIndex::note(std::string_view path, const std::vector<RowPosition>& positions) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RowPosition& position : positions) {
    rows.push_back(fields(path, position));
    rows.back().erase(table_.path_column());
  }
  return several_ ? rows : std::move(rows.front());
}

void ImageNotes::add_metadata(const std::string& file, const std::string& path_column, const SourceFolder& source,
                              Context& context) {
  metadata_ = std::make_unique<RowIndex>(file, path_column, source, context);
}

void ImageNotes::add_labels(const ImageListOptions& list, const SourceFolder& source, Context& context) {
  labels_ = std::make_unique<RowIndex>(list.file, list.path_column, source, context);
  label_column_ = list.label_column;
}

void ImageNotes::complete(const ImageFolderScan& scan) {
  if (labels_) labels_->look_for_several(scan);
  if (metadata_) metadata_->look_for_several(scan);
  if (!labels_ || !metadata_ || (!labels_->several() && !metadata_->several())) return;
  const std::string& list = labels_->table().file();
  const std::string& rows = metadata_->table().file();
  if (list == rows) return metadata_.reset();  // the rows of the list are the same
  throw Error(ErrorCode::usage, At{list},
              "'{}' and '{}' both set the content of a sample's .json, and an image has several rows; join them into "
              "one table and give it with --list",
              list, rows);
}

std::string ImageNotes::lines_of(std::string_view path) const {
  std::vector<std::uint32_t> lines;
  for (const RowIndex::RowPosition& position : labels_->find(path)) lines.push_back(position.line);
  return fmt::format("'{}', lines {}", path, fmt::join(lines, " and "));
}

bool ImageNotes::knows(std::string_view path) const {
  return (!metadata_ || !metadata_->find(path).empty()) && (!labels_ || !labels_->find(path).empty());
}

std::string ImageNotes::json_of(std::string_view path) {
  nlohmann::ordered_json json;
  const RowIndex* last = nullptr;
  std::vector<RowIndex::RowPosition> positions;
  if (labels_ && !(positions = labels_->find(path)).empty()) {
    last = labels_.get();
    json = labels_->note(path, positions);
    if (!labels_->several() && !label_column_.empty()) {
      if (!json[label_column_].is_array()) labels_->table().fail_changed(path);  // ListLabels saw an array
      json = {{label_column_, std::move(json[label_column_])}};
    }
  }
  if (metadata_ && !(positions = metadata_->find(path)).empty()) {
    last = metadata_.get();
    nlohmann::ordered_json note = metadata_->note(path, positions);
    if (json.is_null()) {
      json = std::move(note);
    } else {
      for (auto& [name, value] : note.items()) {
        if (!json.contains(name)) json[name] = std::move(value);  // a label column in both is written as labels
      }
    }
  }
  if (!last) return {};
  try {
    return json.dump();
  } catch (const nlohmann::json::type_error&) {
    fail_at_line(last->table().file(), last->find(path).front().line, "a value is not UTF-8, which a .json needs");
  }
}

ImageNotes::Unused ImageNotes::unused(const ImageFolderScan& scan) const {
  if (!metadata_) return {};
  std::unordered_set<std::uint64_t> used;  // offsets of rows
  for (const ScannedClass& owner : scan.classes) {
    for (const ScannedFile& file : owner.files) {
      for (const RowIndex::RowPosition& position : metadata_->find(owner.path_of(file))) used.insert(position.offset);
    }
  }
  Unused result;
  for (const RowIndex::RowPosition& position : metadata_->all()) {
    if (used.contains(position.offset)) continue;
    ++result.rows;
    result.line = result.line == 0 ? position.line : std::min<std::uint64_t>(result.line, position.line);
  }
  result.all = result.rows > 0 && used.empty();
  return result;
}

}  // namespace shardkit::catalog
