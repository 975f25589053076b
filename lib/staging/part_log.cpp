#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/file_copy.hpp"

namespace shardkit::staging {

void RangeSet::add(ByteRange range) {
  if (range.empty()) return;
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != ends_.end() && at->first <= range.end) {
    range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
    at = ends_.erase(at);
  }
  ends_.emplace(range.begin, range.end);
}

void RangeSet::remove(ByteRange range) {
  if (range.empty()) return;
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin()) --at;
  while (at != ends_.end() && at->first < range.end) {
    const ByteRange old{at->first, at->second};
    if (old.end <= range.begin) {
      ++at;
      continue;
    }
    at = ends_.erase(at);
    if (old.begin < range.begin) ends_.emplace(old.begin, range.begin);
    if (old.end > range.end) ends_.emplace(range.end, old.end);
  }
}

std::uint64_t RangeSet::total() const {
  std::uint64_t bytes = 0;
  for (const auto& [begin, end] : ends_) bytes += end - begin;
  return bytes;
}

std::uint64_t RangeSet::end_of_run(std::uint64_t from) const {
  const auto after = ends_.upper_bound(from);
  if (after == ends_.begin()) return from;
  return std::max(from, std::prev(after)->second);
}

std::optional<ByteRange> RangeSet::first_gap(std::uint64_t size) const {
  const std::uint64_t begin = end_of_run(0);
  if (begin >= size) return std::nullopt;
  const auto next = ends_.upper_bound(begin);
  return ByteRange{begin, next == ends_.end() ? size : std::min(size, next->first)};
}

std::vector<ByteRange> RangeSet::ranges() const {
  std::vector<ByteRange> all;
  for (const auto& [begin, end] : ends_) all.push_back({begin, end});
  return all;
}

namespace {

constexpr std::string_view kFormat = "shardkit-parts 1";
constexpr std::uint64_t kLongestLog = 64ULL << 20U;

std::string head_line(const PartialOf& of) {
  std::string line = fmt::format("{}\t{}\t", kFormat, of.size);
  formats::append_escaped(line, of.pin);
  line += '\t';
  formats::append_escaped(line, of.name);
  return line + "\n";
}

bool read_head(std::string_view line, PartialOf& of) {
  std::vector<std::string_view> columns;
  formats::split_columns(line, columns);
  return columns.size() == 4 && columns[0] == kFormat && formats::parse_number(columns[1], of.size) &&
         formats::unescape(columns[2], of.pin) && formats::unescape(columns[3], of.name);
}

/// "begin-end<tab>begin-end...<tab>."; the dot tells a whole line from one cut at a digit.
bool read_ranges(std::string_view line, std::uint64_t size, RangeSet& ranges) {
  std::vector<std::string_view> columns;
  formats::split_columns(line, columns);
  if (columns.empty() || columns.back() != ".") return false;
  columns.pop_back();
  RangeSet read;
  for (const std::string_view column : columns) {
    const std::size_t dash = column.find('-');
    ByteRange range;
    if (dash == std::string_view::npos || !formats::parse_number(column.substr(0, dash), range.begin) ||
        !formats::parse_number(column.substr(dash + 1), range.end) || range.begin > range.end || range.end > size) {
      return false;
    }
    read.add(range);
  }
  ranges = std::move(read);
  return true;
}

/// Takes the first line off `text`; false when there is no whole one left.
bool next_line(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

}  // namespace

std::optional<PartRecord> read_part_log(std::string_view text) {
  PartRecord record;
  std::string_view line;
  if (!next_line(text, line) || !read_head(line, record.of)) return std::nullopt;
  while (next_line(text, line)) read_ranges(line, record.of.size, record.durable);
  return record;
}

RangeSet PartLog::read(const PartialOf& of) const {
  try {
    auto record = read_part_log(io::read_text_file(path_, kLongestLog));
    if (record && record->of == of) return std::move(record->durable);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::corrupt) throw;
  }
  return {};
}

void PartLog::record(const PartialOf& of, const RangeSet& durable) {
  std::string line;
  for (const ByteRange& range : durable.ranges()) line += fmt::format("{}-{}\t", range.begin, range.end);
  line += ".\n";
  if (file_) return file_->write(as_bytes(line));
  // At once in the place of an older log, which counts until then.
  io::publish(files_, path_, as_bytes(head_line(of) + line));
  file_ = files_.open_append(path_);
}

void PartLog::remove() {
  file_.reset();
  files_.remove(path_);
}

}  // namespace shardkit::staging
