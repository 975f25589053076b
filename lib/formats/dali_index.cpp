#include "formats/dali_index.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {
namespace {

/// What the C++ streams that DALI reads lines with take for the end of a word.
bool has_space(std::string_view text) { return text.find_first_of(" \t\n\v\f\r") != std::string_view::npos; }

}  // namespace

std::string dali_index_name(std::string_view shard) {
  return fmt::format("{}.idx", shard.substr(0, shard.find('.', 1)));
}

namespace {

/// The next word of a line, which is taken from it; empty at the end.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> take_number(std::string_view& line) {
  std::uint64_t number = 0;
  return parse_number(take_word(line), number) ? std::optional(number) : std::nullopt;
}

class DaliIndexReader {
 public:
  DaliIndexReader(ByteSource& source, std::string_view name) : lines_(source, 0, source.size()), name_(name) {}

  void read(const std::function<void(const std::vector<DaliMember>&)>& sample) {
    std::string_view line;
    if (!lines_.next(line)) refuse("it is empty");
    const std::uint64_t expected = read_head(line);
    std::uint64_t count = 0;
    std::vector<DaliMember> members;
    while (lines_.next(line)) {
      read_line(line, members);
      sample(members);
      ++count;
    }
    if (count != expected) refuse(fmt::format("it holds {} samples, but its first line says {}", count, expected));
  }

 private:
  std::uint64_t read_head(std::string_view line) {
    const std::string_view version = take_word(line);
    const auto samples = take_number(line);
    if ((version != "v1.2" && version != "v1.1") || !samples)
      refuse("its first line is not that of version 1.1 or 1.2");
    has_names_ = version == "v1.2";
    return *samples;
  }

  void read_line(std::string_view line, std::vector<DaliMember>& members) {
    members.clear();
    for (std::string_view extension = take_word(line); !extension.empty(); extension = take_word(line)) {
      const auto offset = take_number(line);
      const auto size = take_number(line);
      if (!offset || !size || (has_names_ && take_word(line).empty())) refuse("a line is cut or no list of members");
      members.push_back({std::string(extension), *offset, *size});
    }
    if (members.empty()) refuse("a line names no member");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::corrupt, fmt::format("'{}' is no index of DALI's: {}", name_, why), std::string(name_),
                lines_.line_offset());
  }

  LineReader lines_;
  std::string_view name_;
  bool has_names_ = true;
};

}  // namespace

void read_dali_index(ByteSource& source, std::string_view name,
                     const std::function<void(const std::vector<DaliMember>&)>& sample) {
  DaliIndexReader(source, name).read(sample);
}

namespace {

/// Writes the lines after the first one, which counts them: they come first here so that nobody holds them in memory.
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
                fmt::format("shard '{}', at byte {}: DALI cannot read an index that names '{}.{}', because it takes "
                            "white space for the end of a name; write the shard anew with other names, or leave out "
                            "--dali",
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
          .help = "also <shard>.idx, which NVIDIA DALI's webdataset reader takes",
          .shard_file = dali_index_name,
          .shard_writer = [](ByteSink& sink, const std::string& shard) -> std::unique_ptr<ShardIndexLines> {
            return std::make_unique<DaliLines>(sink, shard);
          }};
}

}  // namespace shardkit::formats
