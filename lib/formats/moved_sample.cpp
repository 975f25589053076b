#include "formats/moved_sample.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"
#include "formats/tar_header.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {

std::string moved_sample_line(const MovedSample& sample) {
  std::string line = fmt::format("=\t{}\t", sample.input);
  if (sample.source_key != sample.key) append_escaped(line, sample.source_key);
  append_names(line, sample);
  for (const IndexMember& member : sample.members) append_member(line, member);
  return line;
}

std::string moved_sample_identity(const MovedSample& sample) {
  std::string line = "=";
  append_names(line, sample);
  for (const IndexMember& member : sample.members) {
    line += '\t';
    append_escaped(line, member.extension);
    line += fmt::format(":{}", member.size);
    if (member.path.empty()) continue;
    line += ':';
    append_escaped(line, member.path);
  }
  return line;
}

bool parse_moved_sample(const std::vector<std::string_view>& columns, MovedSample& sample) {
  if (columns.size() < 3 || columns[0] != "=" || !parse_number(columns[1], sample.input)) return false;
  if (!unescape(columns[2], sample.source_key) || !parse_sample(std::span(columns).subspan(3), sample)) return false;
  if (sample.source_key.empty()) sample.source_key = sample.key;
  return true;
}

std::size_t class_of_path(const MovedSample& sample, const std::vector<std::string>& classes) {
  const std::string_view folder = std::string_view(sample.path).substr(0, sample.path.find('/'));
  const auto found = folder.size() == sample.path.size() ? classes.end() : std::ranges::find(classes, folder);
  return found == classes.end() ? 0 : static_cast<std::size_t>(found - classes.begin());
}

std::uint64_t moved_sample_tar_bytes(const MovedSample& sample) {
  std::uint64_t bytes = 0;
  for (const IndexMember& member : sample.members) bytes += tar_member_bytes(member.size);
  return bytes;
}

}  // namespace shardkit::formats
