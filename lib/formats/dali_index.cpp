#include "formats/dali_index.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shardkit {
namespace {

/// What the C++ streams that DALI reads lines with take for the end of a word.
bool has_space(std::string_view text) { return text.find_first_of(" \t\n\v\f\r") != std::string_view::npos; }

}  // namespace

std::string dali_index_name(std::string_view shard) {
  return fmt::format("{}.idx", shard.substr(0, shard.find('.', 1)));
}

bool DaliIndexWriter::add(const Sample& sample) {
  if (sample.key.empty() || sample.key.ends_with('/')) return true;
  const auto unreadable = [](const SampleMember& member) {
    return member.spelling.empty() || has_space(member.spelling);
  };
  if (has_space(sample.key) || std::ranges::any_of(sample.members, unreadable)) return false;
  // A hidden file between two members of one sample does not part them.
  bool first = samples_ == 0 || sample.key != key_;
  std::string text = first && samples_ > 0 ? "\n" : "";
  if (first) {
    ++samples_;
    key_ = sample.key;
  }
  for (const SampleMember& member : sample.members) {
    if (!first) text += ' ';
    first = false;
    fmt::format_to(std::back_inserter(text), "{} {} {} {}.{}", member.spelling, member.offset, member.size, sample.key,
                   member.spelling);
  }
  lines_.write(as_bytes(text));
  return true;
}

void DaliIndexWriter::finish() {
  if (samples_ > 0) lines_.write(as_bytes("\n"));
}

std::string dali_index_head(std::uint64_t samples) { return fmt::format("v1.2 {}\n", samples); }

}  // namespace shardkit
