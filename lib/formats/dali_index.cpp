#include "formats/dali_index.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::formats {
namespace {

/// The characters that end a word for the C++ streams that DALI uses.
bool has_space(std::string_view text) { return text.find_first_of(" \t\n\v\f\r") != std::string_view::npos; }

}  // namespace

std::string dali_index_name(std::string_view shard) {
  return fmt::format("{}.idx", shard.substr(0, shard.find('.', 1)));
}

namespace {

/// Writes the lines after the first one, which counts them: they come first here so that they do not stay in memory.
class DaliLines final : public ShardIndexLines {
 public:
  DaliLines(ByteSink& sink, const std::string& shard) : lines_(sink), shard_(shard) {}

  /// Leaves out hidden files ("a/.b.jpg") as wds2idx does. One between two members of a sample does not part them.
  void add(const Sample& sample) override {
    if (sample.key.empty() || sample.key.ends_with('/')) return;
    refuse_white_space(sample);
    bool first = samples_ == 0 || sample.key != key_;
    std::string text = first && samples_ > 0 ? "\n" : "";
    if (first) {
      ++samples_;
      key_ = sample.key;
    }
    for (const SampleMember& member : sample.members) {
      if (!first) text += ' ';
      first = false;
      fmt::format_to(std::back_inserter(text), "{} {} {} {}.{}", member.spelling, member.offset, member.size,
                     sample.key, member.spelling);
    }
    lines_.write(as_bytes(text));
  }

  void finish(std::uint64_t) override {
    if (samples_ > 0) lines_.write(as_bytes("\n"));
  }

  std::string head() const override { return fmt::format("v1.2 {}\n", samples_); }

 private:
  void refuse_white_space(const Sample& sample) const {
    const auto unreadable = [](const SampleMember& member) {
      return member.spelling.empty() || has_space(member.spelling);
    };
    if (!has_space(sample.key) && std::ranges::none_of(sample.members, unreadable)) return;
    throw Error(ErrorCode::unsupported,
                fmt::format("shard '{}', at byte {}: DALI cannot read an index with '{}.{}', because white space ends "
                            "a name; write the shard again with other names, or leave out --dali",
                            shard_, sample.offset, sample.key, sample.members.front().spelling),
                shard_, sample.offset);
  }

  ByteSink& lines_;
  const std::string& shard_;
  std::uint64_t samples_ = 0;
  std::string key_;  ///< of the line that is not ended yet
};

}  // namespace

IndexKind dali_index_kind() {
  return {.name = "dali",
          .help = "also write <shard>.idx for NVIDIA DALI's webdataset reader",
          .shard_file = dali_index_name,
          .shard_writer = [](ByteSink& sink, const std::string& shard) -> std::unique_ptr<ShardIndexLines> {
            return std::make_unique<DaliLines>(sink, shard);
          }};
}

}  // namespace shardkit::formats
