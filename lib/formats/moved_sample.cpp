#include "formats/moved_sample.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/text.hpp"
#include "formats/tar_header.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {

namespace {

constexpr std::size_t kFixedColumns = 6;  // "=" input source_key key label path

void append_what_is_written(std::string& line, const MovedSample& sample) {
  line += '\t';
  append_escaped(line, sample.key);
  line += sample.label ? fmt::format("\t{}\t", *sample.label) : "\t-\t";
  append_escaped(line, sample.path);
}

/// "ext:offset:size:xxh3", the last "-" if unknown, and ":path" if the member has one.
bool parse_moved_member(std::string_view column, MovedMember& member) {
  std::array<std::string_view, 4> parts;
  member.xxh3.reset();
  member.path.clear();
  if (!split_parts(column, parts) || !unescape(parts[0], member.extension) || !parse_number(parts[1], member.offset) ||
      !parse_number(parts[2], member.size)) {
    return false;
  }
  const std::size_t colon = parts[3].find(':');
  const std::string_view xxh3 = parts[3].substr(0, colon);
  return (xxh3 == "-" || parse_hex(xxh3, member.xxh3.emplace())) &&
         (colon == std::string_view::npos || unescape(parts[3].substr(colon + 1), member.path));
}

void append_path(std::string& line, const MovedMember& member) {
  if (member.path.empty()) return;
  line += ':';
  append_escaped(line, member.path);
}

}  // namespace

std::string moved_sample_line(const MovedSample& sample) {
  std::string line = fmt::format("=\t{}\t", sample.input);
  if (sample.source_key != sample.key) append_escaped(line, sample.source_key);
  append_what_is_written(line, sample);
  for (const MovedMember& member : sample.members) {
    line += '\t';
    append_escaped(line, member.extension);
    fmt::format_to(std::back_inserter(line), ":{}:{}:{}", member.offset, member.size,
                   member.xxh3 ? to_hex(*member.xxh3) : "-");
    append_path(line, member);
  }
  return line;
}

std::string moved_sample_identity(const MovedSample& sample) {
  std::string line = "=";
  append_what_is_written(line, sample);
  for (const MovedMember& member : sample.members) {
    line += '\t';
    append_escaped(line, member.extension);
    fmt::format_to(std::back_inserter(line), ":{}", member.size);
    append_path(line, member);
  }
  return line;
}

bool parse_moved_sample(const std::vector<std::string_view>& columns, MovedSample& sample) {
  if (columns.size() <= kFixedColumns || columns[0] != "=" || !parse_number(columns[1], sample.input)) return false;
  if (!unescape(columns[2], sample.source_key) || !unescape(columns[3], sample.key)) return false;
  if (sample.source_key.empty()) sample.source_key = sample.key;
  sample.label.reset();
  if (columns[4] != "-" && !parse_number(columns[4], sample.label.emplace())) return false;
  if (!unescape(columns[5], sample.path)) return false;
  sample.members.resize(columns.size() - kFixedColumns);
  for (std::size_t i = 0; i < sample.members.size(); ++i) {
    if (!parse_moved_member(columns[i + kFixedColumns], sample.members[i])) return false;
  }
  return true;
}

std::size_t class_of_path(const MovedSample& sample, const std::vector<std::string>& classes) {
  const std::string_view folder = std::string_view(sample.path).substr(0, sample.path.find('/'));
  const auto found = folder.size() == sample.path.size() ? classes.end() : std::ranges::find(classes, folder);
  return found == classes.end() ? 0 : static_cast<std::size_t>(found - classes.begin());
}

std::uint64_t moved_sample_tar_bytes(const MovedSample& sample) {
  std::uint64_t bytes = 0;
  for (const MovedMember& member : sample.members) bytes += tar_member_bytes(member.size);
  return bytes;
}

}  // namespace shardkit::formats
