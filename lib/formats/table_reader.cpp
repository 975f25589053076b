#include "formats/table_reader.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace shardkit::formats {

namespace {

/// One field of a record, by its bytes in the record's text, without the quotes around it.
struct CsvField {
  std::size_t begin = 0;
  std::size_t length = 0;
  bool doubled_quotes = false;  ///< contains quotes, each written twice
};

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestRow = 16U * 1024U * 1024U;
constexpr std::size_t kMostColumns = 10'000;
constexpr int kDeepestRow = 100;

/// Looks at a row while it is parsed and throws a RowFault. The parser takes the last of equal names and any depth, and
/// looks for a name among all before it: quadratic for an object of many.
class RowCheck {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth >= kDeepestRow) {
      throw RowFault{fmt::format("objects or lists are nested more than {} deep; flatten the row", kDeepestRow)};
    }
    if (event == Event::object_start) names_.emplace_back();
    if (event == Event::object_end) names_.pop_back();
    if (event == Event::key) add(value.get_ref<const std::string&>());
    return true;
  }

 private:
  void add(const std::string& name) {
    if (!names_.back().insert(name).second) {
      throw RowFault{fmt::format("the name '{}' is used twice in one object; keep one", name.substr(0, 100))};
    }
    if (names_.back().size() > kMostColumns) {
      throw RowFault{fmt::format("an object of more than {}; split it", format_count(kMostColumns, "name"))};
    }
  }

  std::vector<std::set<std::string>> names_;  ///< of the objects that are open
};

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
  std::string_view remedy = "write an empty field for a missing value";
  if (fields > columns)
    remedy = kind == TableKind::tsv ? "quote a value that contains a tab" : "quote a value that contains a comma";
  return RowFault{fmt::format("{} but the header has {}; {}", format_count(fields, "field"),
                              format_count(columns, "column"), remedy),
                  0};
}

/// A number of JSON that would not be stored as it is written: a whole one beyond 64 bits, which the parser makes a
/// double of, or a decimal that it rounds to 0.
std::optional<RowFault> number_fault(std::string_view number, std::size_t at) {
  if (number.find_first_of(".eE") != std::string_view::npos) {
    if (parse_decimal(number)) return std::nullopt;
    return RowFault{"a number is too small; write it as a string", at};
  }
  std::int64_t negative = 0;
  std::uint64_t positive = 0;
  if (number.starts_with('-') ? parse_number(number, negative) : parse_number(number, positive)) return std::nullopt;
  return RowFault{"a whole number is too large for 64 bits; write it as a string", at};
}

/// Looks at the numbers of valid JSON.
std::optional<RowFault> find_changed_number(std::string_view json) {
  bool in_string = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++at;
    if (in_string || (c != '-' && (c < '0' || c > '9'))) continue;
    const std::size_t end = std::min(json.find_first_not_of("+-.0123456789Ee", at), json.size());
    if (auto fault = number_fault(json.substr(at, end - at), at)) return fault;
    at = end - 1;
  }
  return std::nullopt;
}

}  // namespace

/// Splits text into the records of a CSV file (RFC 4180; TableKind lists further rules). Reuses its memory.
class TableReader::CsvScanner {
 public:
  /// Stores the first `most_fields` of a record's fields, so that a line of only separators needs no memory.
  CsvScanner(char separator, std::size_t most_fields) : separator_(separator), most_fields_(most_fields) {}

  enum class Outcome {
    record,      ///< a whole record is at the start of the text
    unfinished,  ///< the text ends before the record does
    fault,       ///< no record: see fault()
  };

  /// Reads the record at the start of `text`; `last` when nothing follows the text, so that its end ends the record.
  Outcome scan(std::string_view text, bool last) {
    text_ = text;
    at_ = 0;
    fields_.clear();
    field_count_ = 0;
    may_be_several_ = false;
    while (true) {
      if (const auto outcome = take_field(last)) return *outcome;
      if (const auto outcome = take_end(last)) return *outcome;
    }
  }

  /// Of the record: its kept fields, how many there are in all, its bytes without and with its line end.
  const std::vector<CsvField>& fields() const { return fields_; }
  std::size_t field_count() const { return field_count_; }
  std::size_t length() const { return length_; }
  std::size_t length_with_end() const { return length_with_end_; }
  bool may_be_several() const { return may_be_several_; }
  const RowFault& fault() const { return fault_; }

  /// A field's value: `text` is the scanned text.
  static std::string value(std::string_view text, const CsvField& field) {
    std::string value(text.substr(field.begin, field.length));
    if (!field.doubled_quotes) return value;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      value[kept++] = value[i];
      if (value[i] == '"') ++i;  // the second of two
    }
    value.resize(kept);
    return value;
  }

 private:
  /// A quote opens a quoted field only as its first byte; further on it is text.
  std::optional<Outcome> take_field(bool last) {
    return at_ < text_.size() && text_[at_] == '"' ? take_quoted(last) : take_plain(last);
  }

  std::optional<Outcome> take_quoted(bool last) {
    CsvField field{at_ + 1, 0, false};
    std::size_t searched = field.begin;
    while (true) {
      const std::size_t quote = text_.find('"', searched);
      if (quote == std::string_view::npos) {
        if (!last) return Outcome::unfinished;
        return failed(at_, "a quote is opened here and never closed; close it, or write a quote within a value twice");
      }
      if (quote + 1 == text_.size() && !last) return Outcome::unfinished;
      if (quote + 1 == text_.size() || text_[quote + 1] != '"') {
        field.length = quote - field.begin;
        at_ = quote + 1;
        const std::string_view value = text_.substr(field.begin, field.length);
        may_be_several_ = may_be_several_ || (value.find('\n') != std::string_view::npos &&
                                              value.find(separator_) != std::string_view::npos);
        keep(field);
        return std::nullopt;
      }
      field.doubled_quotes = true;
      searched = quote + 2;
    }
  }

  std::optional<Outcome> take_plain(bool last) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    if (at_ == text_.size() && !last) return Outcome::unfinished;
    keep({begin, at_ - begin, false});
    return std::nullopt;
  }

  /// Checks the text after a field: a separator, after which the next one starts, or the record's end.
  std::optional<Outcome> take_end(bool last) {
    const std::size_t left = text_.size() - at_;
    length_ = at_;
    length_with_end_ = at_;
    if (left == 0) return Outcome::record;
    if (text_[at_] == separator_) {
      ++at_;
      return std::nullopt;
    }
    if (text_[at_] == '\r') {
      if (left == 1 && !last) return Outcome::unfinished;
      if (left == 1 || text_[at_ + 1] != '\n') {
        return failed(at_, "a carriage return without a line feed; end lines with LF or CR LF, or quote the value");
      }
      length_with_end_ += 2;
      return Outcome::record;
    }
    if (text_[at_] == '\n') {
      length_with_end_ += 1;
      return Outcome::record;
    }
    return failed(at_, "text after a closing quote; quote the whole value, and write a quote within it twice");
  }

  void keep(const CsvField& field) {
    if (++field_count_ <= most_fields_) fields_.push_back(field);
  }

  Outcome failed(std::size_t at, const char* text) {
    fault_ = {text, at};
    return Outcome::fault;
  }

  char separator_;
  std::size_t most_fields_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<CsvField> fields_;
  std::size_t field_count_ = 0;
  std::size_t length_ = 0;
  std::size_t length_with_end_ = 0;
  bool may_be_several_ = false;
  RowFault fault_;
};

/// What is at byte `at`, if it is something that other programs write for JSON; else empty.
std::string json_habit(std::string_view text, std::size_t at) {
  if (text.starts_with('[')) return "a JSON array; write each of its objects on a line of its own";
  if (at >= text.size()) return {};
  if (text[at] == '\'') return "a text in single quotes, but JSON has double quotes";
  const std::size_t before = text.substr(0, at).find_last_not_of(" \t");
  if ((text[at] == '}' || text[at] == ']') && before != std::string_view::npos && text[before] == ',')
    return fmt::format("a comma before '{}'", text[at]);
  constexpr std::string_view kLetters = "-NaInfityoeTrulsFd";
  const std::size_t first = text.substr(0, at).find_last_not_of(kLetters) + 1;
  const std::string_view word = text.substr(first, text.find_first_not_of(kLetters, at) - first);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords{{{"NaN", "null"},
                                                                                 {"nan", "null"},
                                                                                 {"Infinity", "null"},
                                                                                 {"-Infinity", "null"},
                                                                                 {"None", "null"},
                                                                                 {"undefined", "null"},
                                                                                 {"True", "true"},
                                                                                 {"False", "false"}}};
  const auto* const found = std::ranges::find(kWords, word, &std::pair<std::string_view, std::string_view>::first);
  return found == kWords.end() ? std::string() : fmt::format("{}, but JSON has {}", word, found->second);
}

std::optional<RowFault> read_json_row(std::string_view text, Json& row) {
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    return RowFault{"bytes that are not UTF-8; JSON is written in UTF-8", bad};
  }
  try {
    row = Json::parse(text, RowCheck());
  } catch (const RowFault& fault) {
    return fault;
  } catch (const Json::out_of_range&) {
    return RowFault{"a number is too large; write it as a string"};
  } catch (const Json::parse_error& error) {  // counts the byte that it stopped at
    const std::size_t at = std::clamp<std::size_t>(error.byte, 1, text.size() + 1) - 1;
    const std::string habit = json_habit(text, at);
    return RowFault{habit.empty() ? fmt::format("not JSON from byte {} of the line onwards; a line contains one whole "
                                                "object",
                                                error.byte)
                                  : fmt::format("not JSON at byte {} of the line: {}", error.byte, habit),
                    at};
  }
  if (!row.is_object()) return RowFault{"not a JSON object; a line contains one object, {\"name\": value, ...}"};
  return find_changed_number(text);
}

std::optional<TableKind> table_kind(std::string_view file_name) {
  const std::string lower = lower_case(file_name);
  if (lower.ends_with(".csv")) return TableKind::csv;
  if (lower.ends_with(".tsv")) return TableKind::tsv;
  if (lower.ends_with(".jsonl") || lower.ends_with(".ndjson")) return TableKind::jsonl;
  return std::nullopt;
}

TableReader::TableReader(ByteSource& source, TableKind kind, std::string name)
    : kind_(kind),
      name_(std::move(name)),
      window_(source),
      scanner_(std::make_unique<CsvScanner>(separator_of(kind), kMostColumns)) {
  skip_byte_order_mark();
  if (kind_ != TableKind::jsonl) read_header();
}

TableReader::~TableReader() = default;

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
  if (scanner_->field_count() > kMostColumns) {
    fail({fmt::format("{}; at most {} are read", format_count(scanner_->field_count(), "column"),
                      format_count(kMostColumns)),
          0});
  }
  std::set<std::string_view> names;
  columns_.reserve(scanner_->field_count());
  for (const CsvField& field : scanner_->fields()) {
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
  scanner_ = std::make_unique<CsvScanner>(separator_of(kind_), columns_.size());
}

bool TableReader::next(TableRow& row, Json& fields) {
  Extent extent;
  while (find_row(extent)) {
    const std::string_view text = window_.text().substr(0, extent.length);
    if (is_blank(kind_, text)) {
      pass(extent);
      continue;
    }
    if (const auto fault = read_fields(text, *scanner_, fields)) fail(*fault);
    row.line = line_;
    row.offset = window_.offset();
    row.length = extent.length;
    row.hash = xxh3_64(as_bytes(text));
    row.may_be_several = scanner_->may_be_several();
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
    throw Error(ErrorCode::conflict, At{name_, offset},
                "table '{}': the row at byte {} no longer exists; run again when no process writes to the file", name_,
                offset);
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
  const CsvScanner::Outcome outcome = scanner_->scan(text, last);
  if (outcome == CsvScanner::Outcome::fault) {
    // UTF-16 causes many faults: the zeros in it identify it best.
    const auto nul = find_nul(text.substr(0, scanner_->fault().at + 1));
    fail(nul ? *nul : scanner_->fault());
  }
  extent = {scanner_->length(), scanner_->length_with_end()};
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
  throw Error(ErrorCode::corrupt, At{name_, window_.offset() + fault.at}, "table '{}', line {}: {}", name_, line,
              fault.text);
}

}  // namespace shardkit::formats
