#include "formats/table_reader.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/units.hpp"
#include "formats/json_row.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestRow = 16U * 1024U * 1024U;
constexpr std::size_t kMostColumns = 10'000;

char separator_of(TableKind kind) { return kind == TableKind::tsv ? '\t' : ','; }

bool is_blank(TableKind kind, std::string_view row) {
  return kind == TableKind::jsonl ? row.find_first_not_of(" \t\r") == std::string_view::npos : row.empty();
}

std::optional<RowFault> find_nul(std::string_view row) {
  const std::size_t at = row.find('\0');
  if (at == std::string_view::npos) return std::nullopt;
  return RowFault{"a NUL byte; the file is damaged or not UTF-8: write it again as UTF-8", at};
}

std::optional<RowFault> too_long(TableKind kind, std::string_view row) {
  if (row.size() <= kLongestRow) return std::nullopt;
  if (const auto nul = find_nul(row)) return nul;
  const char* remedy = kind == TableKind::jsonl ? "end each object's line with a line feed"
                                                : "end lines with line feeds, and close every quote opened in this row";
  return RowFault{fmt::format("a row of more than 16 MiB; {}", remedy), 0};
}

std::optional<RowFault> wrong_count(TableKind kind, std::size_t fields, std::size_t columns) {
  if (fields == columns) return std::nullopt;
  std::string_view remedy = "write an empty field for a value that is not there";
  if (fields > columns)
    remedy = kind == TableKind::tsv ? "quote a value that holds a tab" : "quote a value that holds a comma";
  return RowFault{fmt::format("{} where the header names {}; {}", format_count(fields, "field"),
                              format_count(columns, "column"), remedy),
                  0};
}

/// As many bytes as the source has there, `length` at most.
std::string read_text(ByteSource& source, std::uint64_t offset, std::uint64_t length) {
  std::string text(length, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const auto rest = std::as_writable_bytes(std::span(text)).subspan(filled);
    const std::size_t got = source.read_at(offset + filled, rest);
    if (got == 0) break;
    filled += got;
  }
  text.resize(filled);
  return text;
}

}  // namespace

std::optional<TableKind> table_kind(std::string_view file_name) {
  std::string lower(file_name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.ends_with(".csv")) return TableKind::csv;
  if (lower.ends_with(".tsv")) return TableKind::tsv;
  if (lower.ends_with(".jsonl") || lower.ends_with(".ndjson")) return TableKind::jsonl;
  return std::nullopt;
}

TableReader::TableReader(ByteSource& source, TableKind kind, std::string name)
    : kind_(kind), name_(std::move(name)), window_(source), scanner_(separator_of(kind), kMostColumns) {
  skip_byte_order_mark();
  if (kind_ != TableKind::jsonl) read_header();
}

void TableReader::skip_byte_order_mark() {
  while (window_.text().size() < 3 && window_.grow()) continue;
  const std::string_view text = window_.text();
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    fail({"the file is UTF-16; write it again as UTF-8", 0});
  }
  if (text.starts_with("\xEF\xBB\xBF")) window_.pass(3);
}

void TableReader::read_header() {
  Extent extent;
  do {
    pass(extent);
    if (!find_row(extent)) fail({"the file is empty; its first line must name the columns", 0});
  } while (extent.length == 0);
  const std::string_view text = window_.text().substr(0, extent.length);
  if (const auto nul = find_nul(text)) fail(*nul);
  if (scanner_.field_count() > kMostColumns) {
    fail({fmt::format("{}; at most {} are read", format_count(scanner_.field_count(), "column"),
                      format_count(kMostColumns)),
          0});
  }
  std::set<std::string_view> names;
  columns_.reserve(scanner_.field_count());
  for (const CsvField& field : scanner_.fields()) {
    const std::string& name = columns_.emplace_back(CsvScanner::value(text, field));
    if (name.empty()) {
      fail({fmt::format("column {} has no name; give it one, or leave it out (pandas: to_csv(..., index=False))",
                        columns_.size()),
            field.begin});
    }
    if (!names.insert(name).second) {
      fail({fmt::format("the column '{}' is named twice; rename one", name.substr(0, 100)), field.begin});
    }
  }
  pass(extent);
  scanner_ = CsvScanner(separator_of(kind_), columns_.size());
}

bool TableReader::next(TableRow& row, Json& fields) {
  Extent extent;
  while (find_row(extent)) {
    const std::string_view text = window_.text().substr(0, extent.length);
    if (is_blank(kind_, text)) {
      pass(extent);
      continue;
    }
    if (const auto fault = read_fields(text, scanner_, fields)) fail(*fault);
    row.line = line_;
    row.offset = window_.offset();
    row.length = extent.length;
    pass(extent);
    return true;
  }
  return false;
}

Json TableReader::row_at(ByteSource& source, std::uint64_t offset, std::uint64_t length) const {
  const std::string text = length > kLongestRow ? std::string() : read_text(source, offset, length);
  CsvScanner scanned(separator_of(kind_), columns_.size());
  const bool is_row = text.size() == length && !is_blank(kind_, text) &&
                      (kind_ == TableKind::jsonl || (scanned.scan(text, true) == CsvScanner::Outcome::record &&
                                                     scanned.length_with_end() == text.size()));
  Json fields;
  if (!is_row || read_fields(text, scanned, fields)) {
    throw Error(
        ErrorCode::conflict,
        fmt::format("table '{}': the row at byte {} is not there any more; run again when nothing writes to the "
                    "file",
                    name_, offset),
        name_, offset);
  }
  return fields;
}

bool TableReader::find_row(Extent& extent) {
  bool last = false;
  while (!holds_row(last, extent)) {
    if (const auto fault = too_long(kind_, window_.text())) fail(*fault);
    last = !window_.grow();
    if (last && window_.text().empty()) return false;
  }
  if (const auto fault = too_long(kind_, window_.text().substr(0, extent.length))) fail(*fault);
  return true;
}

bool TableReader::holds_row(bool last, Extent& extent) {
  const std::string_view text = window_.text();
  if (kind_ == TableKind::jsonl) {
    const std::size_t newline = text.find('\n');
    if (newline == std::string_view::npos && !last) return false;
    extent.length = std::min(newline, text.size());
    extent.length_with_end = std::min(extent.length + 1, text.size());
    if (text.substr(0, extent.length).ends_with('\r')) --extent.length;
    return true;
  }
  const CsvScanner::Outcome outcome = scanner_.scan(text, last);
  if (outcome == CsvScanner::Outcome::fault) {
    // UTF-16 looks wrong in many ways: the zeros in it say best what is.
    const auto nul = find_nul(text.substr(0, scanner_.fault().at + 1));
    fail(nul ? *nul : scanner_.fault());
  }
  extent = {scanner_.length(), scanner_.length_with_end()};
  return outcome == CsvScanner::Outcome::record;
}

void TableReader::pass(const Extent& extent) {
  const std::string_view text = window_.text().substr(0, extent.length_with_end);
  line_ += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  window_.pass(text.size());
}

std::optional<RowFault> TableReader::read_fields(std::string_view text, const CsvScanner& scanned, Json& fields) const {
  if (auto nul = find_nul(text)) return nul;
  return kind_ == TableKind::jsonl ? read_json_row(text, fields) : read_csv_fields(text, scanned, fields);
}

std::optional<RowFault> TableReader::read_csv_fields(std::string_view text, const CsvScanner& scanned,
                                                     Json& fields) const {
  if (auto fault = wrong_count(kind_, scanned.field_count(), columns_.size())) return fault;
  fields = Json::object();
  auto& members = fields.get_ref<Json::object_t&>();
  members.reserve(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    members.emplace_back(columns_[i], CsvScanner::value(text, scanned.fields()[i]));  // names differ: none to look for
  }
  return std::nullopt;
}

void TableReader::fail(const RowFault& fault) const {
  const std::string_view before = window_.text().substr(0, fault.at);
  const auto line = line_ + static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
  throw Error(ErrorCode::corrupt, fmt::format("table '{}', line {}: {}", name_, line, fault.text), name_,
              window_.offset() + fault.at);
}

}  // namespace shardkit
