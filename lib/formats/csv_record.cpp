#include "formats/csv_record.hpp"

namespace shardkit {

CsvScanner::Outcome CsvScanner::scan(std::string_view text, bool last) {
  text_ = text;
  at_ = 0;
  fields_.clear();
  field_count_ = 0;
  while (true) {
    if (const auto outcome = take_field(last)) return *outcome;
    if (const auto outcome = take_end(last)) return *outcome;
  }
}

/// A quote opens a quoted field only as its first byte; further on it is text.
std::optional<CsvScanner::Outcome> CsvScanner::take_field(bool last) {
  return at_ < text_.size() && text_[at_] == '"' ? take_quoted(last) : take_plain(last);
}

std::optional<CsvScanner::Outcome> CsvScanner::take_quoted(bool last) {
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
      keep(field);
      return std::nullopt;
    }
    field.doubled_quotes = true;
    searched = quote + 2;
  }
}

std::optional<CsvScanner::Outcome> CsvScanner::take_plain(bool last) {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
  if (at_ == text_.size() && !last) return Outcome::unfinished;
  keep({begin, at_ - begin, false});
  return std::nullopt;
}

/// What may stand behind a field: a separator, after which the next one starts, or the record's end.
std::optional<CsvScanner::Outcome> CsvScanner::take_end(bool last) {
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
  return failed(at_, "text behind a closing quote; quote the whole value, and write a quote within it twice");
}

void CsvScanner::keep(const CsvField& field) {
  if (++field_count_ <= most_fields_) fields_.push_back(field);
}

CsvScanner::Outcome CsvScanner::failed(std::size_t at, const char* text) {
  fault_ = {text, at};
  return Outcome::fault;
}

std::string CsvScanner::value(std::string_view text, const CsvField& field) {
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

}  // namespace shardkit
