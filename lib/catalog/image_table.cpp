#include "catalog/image_table.hpp"

#include <algorithm>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/portable_name.hpp"

namespace shardkit::catalog {
namespace {

std::string_view file_name(const std::string& file) {
  return is_address(file) ? std::string_view(file).substr(0, file.find("?...")) : std::string_view(file);
}

formats::TableKind kind_of(const std::string& file) {
  if (const auto kind = formats::table_kind(file_name(file))) return *kind;
  if (lower_case(file_name(file)).ends_with(".parquet")) {
    throw Error(
        ErrorCode::usage, At{file},
        "'{}' is Parquet, which shardkit does not read; write it as JSON Lines, bytes as base64 and NaN as null: {}",
        file, remedy::in_text(remedy::from_parquet(file)));
  }
  throw Error(ErrorCode::usage, At{file},
              "'{}' does not end in .csv, .tsv, .jsonl or, for COCO, .json, so its format is unknown", file);
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

bool is_coco_name(const std::string& file) { return lower_case(file_name(file)).ends_with(".json"); }

void fail_at_line(const std::string& file, std::uint64_t line, std::string_view text) {
  throw Error(ErrorCode::corrupt, At{file}, "'{}', line {}: {}", file, line, text);
}

ImageTable::ImageTable(const std::string& file, const std::string& path_column, const SourceFolder& source)
    : file_(file),
      path_column_(is_coco_name(file) && path_column == "path" ? "file_name" : path_column),
      source_(root_of(source)),
      roots_{source_.ends_with('/') ? source_ : source_ + '/'},
      kind_(is_coco_name(file) ? std::nullopt : std::optional(kind_of(file))),
      bytes_(source.inputs->open(file)) {
  if (!kind_) {
    coco_ = std::make_unique<formats::CocoFile>(*bytes_, file);
    return;
  }
  rows_ = std::make_unique<formats::TableReader>(*bytes_, *kind_, file);
  refuse_missing_header(source);
  require_column(path_column, "--path-column");
}

namespace {

/// Whether the source has an image of this name but for the extension, as tables of ids write it.
bool is_id_of_image(const std::string& text, const SourceFolder& source) {
  const net::StoreScheme* store = net::find_store_scheme(source.path);
  if ((store && store->is_web) || text.empty() || text.starts_with('/') || text.ends_with('/')) return false;
  const std::size_t name = text.rfind('/') + 1;  // npos + 1 is 0
  const std::vector<io::ObjectInfo> files = list_files(source, text.substr(0, name == 0 ? 0 : name - 1));
  const std::string start = text.substr(name) + '.';
  auto file = std::ranges::lower_bound(files, start, {}, &io::ObjectInfo::name);
  for (; file != files.end() && file->name.starts_with(start); ++file) {
    if (is_image_name(file->name) && formats::split_extension(file->name).stem.size() + 1 == start.size()) return true;
  }
  return false;
}

}  // namespace

/// A header does not name an image: a line that does is a row.
void ImageTable::refuse_missing_header(const SourceFolder& source) const {
  const std::vector<std::string>& columns = rows_->columns();
  auto image = std::ranges::find_if(columns, is_image_name);
  const bool has_path = path_column_ == "path" && std::ranges::find(columns, path_column_) != columns.end();
  if (image == columns.end() && !has_path)
    image = std::ranges::find_if(columns, [&](const std::string& name) { return is_id_of_image(name, source); });
  const bool is_named = std::ranges::find(columns, path_column_) != columns.end() && !is_image_name(path_column_) &&
                        path_column_ != (image == columns.end() ? std::string() : *image);
  if (image == columns.end() || is_named) return;
  std::vector<std::string> names(columns.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<std::size_t>(image - columns.begin());
    names[i] = i == at                    ? (path_column_ == *image ? "path" : path_column_)
               : i == (at == 0 ? 1U : 0U) ? std::string("label")
                                          : fmt::format("column{}", i + 1);
  }
  const std::string header = fmt::format("{}", fmt::join(names, kind_ == formats::TableKind::tsv ? "\\t" : ","));
  throw Error(ErrorCode::usage, At{file_},
              "'{}' has no header: its first line contains the image '{}'; add a line with names for its columns: {}",
              file_, *image, remedy::in_text(remedy::add_header(file_, header)));
}

void ImageTable::require_column(const std::string& column, std::string_view option) const {
  if (coco_) return;
  const std::vector<std::string>& columns = rows_->columns();
  if (columns.empty() || std::ranges::find(columns, column) != columns.end()) return;
  for (const auto& [separator, remedy] : {std::pair('\t', "is separated by tabs: name it .tsv"),
                                          std::pair(';', "is separated by ';': write it with commas"),
                                          std::pair('|', "is separated by '|': write it with commas"),
                                          std::pair('#', "is separated by '#': write it with commas"),
                                          std::pair(' ', "is separated by spaces: write it with commas")}) {
    if (columns.size() == 1 && columns.front().find(separator) != std::string::npos)
      throw Error(ErrorCode::usage, At{file_}, "'{}' {}", file_, remedy);
  }
  throw Error(ErrorCode::usage, At{file_}, "'{}' has no column '{}'; its columns are {}: choose one with {}", file_,
              column, fmt::join(columns, ", "), option);
}

bool ImageTable::next(formats::TableRow& row, nlohmann::ordered_json& fields, std::string& path) {
  if (!(coco_ ? coco_->next(row, fields) : rows_->next(row, fields))) return false;
  if (row.may_be_several && joined_++ == 0) joined_line_ = row.line;
  const auto cell = fields.find(path_column_);
  if (cell == fields.end() || !cell->is_string()) {
    if (coco_ && fields.contains("coco_url"))
      fail_at_line(
          file_, row.line,
          fmt::format("an image with a coco_url but no '{}', as in LVIS: add it to each image, with the image's "
                      "path below the source",
                      path_column_));
    fail_at_line(
        file_, row.line,
        fmt::format("no text in '{}', which should contain the image's path; see --path-column", path_column_));
  }
  const std::string& text = cell->get_ref<const std::string&>();
  if (text.empty()) fail_at_line(file_, row.line, "the image's path is empty");
  if (text.find('\0') != std::string::npos) fail_at_line(file_, row.line, "the image's path contains a NUL byte");
  path = below_source(text);
  if (path.empty() && finds_other_root(text)) path = below_source(text);
  if (path.empty()) {
    fail_at_line(file_, row.line, fmt::format("'{}' is not inside the source '{}'", text, source_));
  }
  return true;
}

void ImageTable::warn_of_quotes(Context& context) const {
  if (joined_ == 0) return;
  context.warn("quoted_lines",
               "'{}', line {}: a quoted value contains line ends and separators{}; if a quote is missing or too many, "
               "the rows up to the next quote are lost",
               file_, joined_line_,
               joined_ > 1 ? fmt::format(", as in {}", format_count(joined_ - 1, "other row")) : "");
}

std::string ImageTable::below_source(std::string_view path) const {
  const std::string& root = roots_.front();
  const net::StoreScheme* store = net::find_store_scheme(root);
  std::string text(path);
  if (is_address(path)) {
    if (!store || !path.starts_with(root)) return {};
    text = path.substr(root.size());
    if (store->is_web) text = net::percent_decode(text);
  }
  text = normal(text);
  if (text.starts_with('/')) {
    const auto above = std::ranges::find_if(roots_, [&](const std::string& name) { return text.starts_with(name); });
    if (above == roots_.end()) return {};
    text.erase(0, above->size());
  }
  return text == "." || text == ".." || text.starts_with("../") ? std::string() : text;
}

bool ImageTable::finds_other_root(const std::string& path) {
  const std::string text = normal(path);
  if (!text.starts_with('/') || is_address(source_)) return false;
  for (std::size_t slash = 0; (slash = text.find('/', slash + 1)) != std::string::npos;) {
    std::error_code error;
    if (!std::filesystem::equivalent(text.substr(0, slash), source_, error)) continue;
    roots_.push_back(text.substr(0, slash + 1));
    return true;
  }
  return false;
}

nlohmann::ordered_json ImageTable::row_at(std::string_view path, std::uint64_t offset, std::uint64_t length) {
  nlohmann::ordered_json fields =
      coco_ ? coco_->row_at(*bytes_, offset, length) : rows_->row_at(*bytes_, offset, length);
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

namespace {

/// Of the rows of each image; returns how many.
std::size_t drop_repeated(std::vector<RowIndex::RowPosition>& positions) {
  auto kept = positions.begin();
  auto first = kept;  // of the image's
  for (auto at = positions.begin(); at != positions.end(); ++at) {
    if (first != kept && first->path_hash != at->path_hash) first = kept;
    const auto is_same = [&](const RowIndex::RowPosition& other) { return other.row_hash == at->row_hash; };
    if (std::none_of(first, kept, is_same)) *kept++ = *at;
  }
  const auto repeated = static_cast<std::size_t>(positions.end() - kept);
  positions.erase(kept, positions.end());
  return repeated;
}

}  // namespace

RowIndex::RowIndex(const std::string& file, const std::string& path_column, const SourceFolder& source,
                   Context& context)
    : table_(file, path_column, source) {
  context.progress().start("rows");
  formats::TableRow row;
  nlohmann::ordered_json fields;
  std::string path;
  while (table_.next(row, fields, path)) {
    if (++context.progress().items % 4096 == 0) context.throw_if_stopped();
    positions_.push_back({xxh3_64(as_bytes(path)), row.hash, row.offset, static_cast<std::uint32_t>(row.length),
                          static_cast<std::uint32_t>(std::min<std::uint64_t>(row.line, UINT32_MAX))});
  }
  table_.warn_of_quotes(context);
  std::ranges::sort(positions_, {}, [](const RowPosition& p) { return std::pair(p.path_hash, p.offset); });
  if (const std::size_t repeated = drop_repeated(positions_); repeated > 0)
    context.warn("rows_repeated", "{} of '{}' repeat others exactly and count once", format_count(repeated, "row"),
                 file);
}

void RowIndex::look_for_several(const ImageFolderScan& scan) {
  for (const ScannedClass& owner : scan.classes) {
    for (const ScannedFile& file : owner.files) {
      std::string path = owner.path_of(file);
      if (find(path).size() < 2) continue;
      several_ = std::move(path);
      lists_ = true;
      return;
    }
  }
}

std::string RowIndex::several_text() const {
  std::vector<std::uint32_t> lines;
  for (const RowPosition& position : find(several_)) lines.push_back(position.line);
  return fmt::format("'{}', lines {}", several_, fmt::join(lines, " and "));
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
  return several() ? rows : std::move(rows.front());
}

void ImageNotes::add_metadata(const std::string& file, const std::string& path_column, const SourceFolder& source,
                              Context& context) {
  metadata_ = std::make_unique<RowIndex>(file, path_column, source, context);
}

void ImageNotes::add_labels(const ImageListOptions& list, const SourceFolder& source, Context& context) {
  labels_ = std::make_unique<RowIndex>(list.file, list.path_column, source, context);
  label_column_ = list.label_column;
}

void ImageNotes::complete(const ImageFolderScan& scan, Context& context, bool lists) {
  for (RowIndex* rows : {labels_.get(), metadata_.get()}) {
    if (rows == nullptr) continue;
    rows->look_for_several(scan);
    if (lists && (rows == metadata_.get() || !metadata_)) rows->make_lists();
    if (!rows->several() || lists) continue;
    context.warn("rows_several",
                 "each .json is a list of rows, because '{}' has several rows for an image, the first is {}",
                 rows->table().file(), rows->several_text());
  }
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
  result.is_fault = metadata_->table().is_coco();
  return result;
}

}  // namespace shardkit::catalog
