#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/index_kinds.hpp"

namespace shardkit::formats {
namespace {

/// The characters that end a word for the C++ streams that DALI uses.
bool has_space(std::string_view text) { return text.find_first_of(" \t\n\v\f\r") != std::string_view::npos; }

/// Writes the lines after the first one, which counts them: they come first here so that they do not stay in memory.
class DaliLines final : public ShardIndexLines {
 public:
  DaliLines(ByteSink& sink, const std::string& shard) : lines_(sink), shard_(shard) {}

  /// Leaves out hidden files ("a/.b.jpg") as wds2idx does. One between two members of a sample does not part them.
  void add(const IndexSample& sample) override {
    if (sample.key.empty() || sample.key.ends_with('/')) return;
    refuse_white_space(sample);
    bool first = samples_ == 0 || sample.key != key_;
    std::string text = first && samples_ > 0 ? "\n" : "";
    if (first) {
      ++samples_;
      key_ = sample.key;
    }
    for (const IndexMember& member : sample.members) {
      if (!first) text += ' ';
      first = false;
      fmt::format_to(std::back_inserter(text), "{} {} {} {}", sample.spelling(member), member.offset, member.size,
                     member.name);
    }
    lines_.write(as_bytes(text));
  }

  void finish(std::uint64_t) override {
    if (samples_ > 0) lines_.write(as_bytes("\n"));
  }

  std::string head() const override { return fmt::format("v1.2 {}\n", samples_); }

 private:
  void refuse_white_space(const IndexSample& sample) const {
    const auto unreadable = [&](const IndexMember& member) {
      return sample.spelling(member).empty() || has_space(member.name);
    };
    if (std::ranges::none_of(sample.members, unreadable)) return;
    throw Error(ErrorCode::unsupported, At{shard_, sample.offset},
                "shard '{}', at byte {}: DALI cannot read an index with '{}', because white space ends a name; {} "
                "writes the shard with other names. Or write no index for DALI",
                shard_, sample.offset, sample.members.front().name, remedy::in_text(remedy::reshard({shard_})));
  }

  ByteSink& lines_;
  const std::string& shard_;
  std::uint64_t samples_ = 0;
  std::string key_;  ///< of the line that is not ended yet
};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Reads the first line and the last member. Version 1.1 has no names.
ShardCount read_dali_index(std::string_view text, const std::string& path) {
  const std::vector<std::string> head = words_of(text.substr(0, text.find('\n')));
  ShardCount count;
  bool valid = head.size() == 2 && head[0].starts_with("v1.") && parse_number(head[1], count.samples);
  if (valid && count.samples > 0) {
    text.remove_suffix(text.size() - std::min(text.size(), text.find_last_not_of('\n') + 1));
    const std::vector<std::string> last = words_of(text.substr(text.rfind('\n') + 1));
    const std::size_t words = head[0] == "v1.1" ? 3 : 4;  // of a member
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    valid = last.size() >= words && last.size() % words == 0 && parse_number(last[last.size() - words + 1], offset) &&
            parse_number(last[last.size() - words + 2], size);
    count.bytes = offset + size;
  }
  if (!valid) throw Error(ErrorCode::corrupt, At{path}, "'{}' is not an index of DALI", path);
  return count;
}

}  // namespace

std::string dali_index_name(std::string_view shard) {
  return fmt::format("{}.idx", shard.substr(0, shard.find('.', 1)));
}

IndexKind dali_index_kind() {
  return {.name = "dali",
          .shard_file = dali_index_name,
          .shard_writer = [](ByteSink& sink, const std::string& shard) -> std::unique_ptr<ShardIndexLines> {
            return std::make_unique<DaliLines>(sink, shard);
          },
          .read_shard = read_dali_index};
}

}  // namespace shardkit::formats
