#include "formats/shard_index.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "formats/portable_name.hpp"
#include "formats/shard_hash.hpp"
#include "formats/tar_header.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {
namespace {

constexpr std::string_view kIndexMagic = "shardkit-index";
constexpr std::string_view kVersion = "1";
constexpr std::uint64_t kFirstLine = 4096;  // a shard's name
constexpr std::uint64_t kLastLine = 4096;   // numbers, and the hashes of about 120 parts; longer ones are read again

[[noreturn]] void damaged(const std::string& name, std::uint64_t offset, std::string_view why) {
  throw Error(ErrorCode::corrupt, At{name, offset},
              "shard index '{}' is damaged at byte {}: {}; run the command that created it again", name, offset, why);
}

void parse_head(std::string_view line, const std::string& name, ShardSummary& summary) {
  std::vector<std::string_view> columns;
  split_columns(line, columns);
  if (columns.size() != 4 || columns[0] != kIndexMagic) damaged(name, 0, "the first line is not that of a shard index");
  if (columns[1] != kVersion) {
    throw Error(ErrorCode::unsupported, At{name, 0}, "shard index '{}' has version {}; this program reads version {}",
                name, columns[1], kVersion);
  }
  if (!unescape(columns[2], summary.name)) damaged(name, 0, "invalid escape in the shard's name");
  summary.plan = columns[3];
}

std::uint64_t summary_checksum(std::string_view head, std::string_view end) {
  Xxh3Stream hash;
  for (const std::string_view text : {head, std::string_view("\n"), end}) hash.update(as_bytes(text));
  return hash.digest64();
}

/// The closing line.
struct End {
  Hash128 checksum;          ///< of everything before it
  std::string_view summary;  ///< the columns before the checksums
  std::string_view covered;  ///< by `checksum`
};

/// Columns: "end" samples skipped bytes xxh3_128 [parts], checksum of first and last line, checksum. True if `line` is
/// the closing line of an index whose first line is `head`; then `summary` and `end` have its values.
bool parse_end(std::string_view line, std::string_view head, ShardSummary& summary, End& end) {
  end.covered = line.substr(0, line.rfind('\t'));
  end.summary = end.covered.substr(0, end.covered.rfind('\t'));
  std::uint64_t own = 0;
  if (end.covered.size() == line.size() || end.summary.size() == end.covered.size() ||
      !parse_hex(line.substr(end.covered.size() + 1), end.checksum) ||
      !parse_hex(end.covered.substr(end.summary.size() + 1), own) || own != summary_checksum(head, end.summary)) {
    return false;
  }
  std::vector<std::string_view> columns;
  split_columns(end.summary, columns);
  return (columns.size() == 5 || columns.size() == 6) && columns[0] == "end" &&
         parse_number(columns[1], summary.samples) && parse_number(columns[2], summary.skipped) &&
         parse_number(columns[3], summary.bytes) && parse_hex(columns[4], summary.xxh3_128) &&
         (columns.size() == 5 || parse_part_hashes(columns[5], summary.bytes, summary.parts));
}

/// As append_member() writes it.
bool parse_member(std::string_view column, IndexMember& member) {
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

/// Columns of a sample, in an index or the plan of a reshard: key, label and path, each behind a tab; then its members,
/// each as "ext:offset:size:xxh3", with ":path" if it has one. "-" is an unknown label or checksum.
void append_names(std::string& line, const IndexSample& sample) {
  line += '\t';
  append_escaped(line, sample.key);
  line += '\t';
  line += sample.label ? fmt::format_int(*sample.label).c_str() : "-";
  line += '\t';
  append_escaped(line, sample.path);
}

/// Without `position` only its size, instead of offset, size and checksum.
void append_member(std::string& line, const IndexMember& member, bool position = true) {
  line += '\t';
  append_escaped(line, member.extension);
  if (position) fmt::format_to(std::back_inserter(line), ":{}", member.offset);
  fmt::format_to(std::back_inserter(line), ":{}", member.size);
  if (position) line += member.xxh3 ? ":" + to_hex(*member.xxh3) : ":-";
  if (member.path.empty()) return;
  line += ':';
  append_escaped(line, member.path);
}

/// False if the columns are invalid. `sample` is overwritten.
bool parse_sample(std::span<const std::string_view> columns, IndexSample& sample) {
  if (columns.size() < 4 || !unescape(columns[0], sample.key)) return false;
  sample.label.reset();
  if (columns[1] != "-" && !parse_number(columns[1], sample.label.emplace())) return false;
  if (!unescape(columns[2], sample.path)) return false;
  sample.members.resize(columns.size() - 3);
  for (std::size_t i = 0; i < sample.members.size(); ++i) {
    if (!parse_member(columns[i + 3], sample.members[i])) return false;
  }
  return true;
}

/// Columns: "+", and those of a sample with all checksums.
bool parse_row(const std::vector<std::string_view>& columns, IndexSample& sample) {
  return columns[0] == "+" && parse_sample(std::span(columns).subspan(1), sample) &&
         std::ranges::all_of(sample.members, [](const IndexMember& member) { return member.xxh3.has_value(); });
}

/// Of the member that ends last; the largest number for one that ends beyond it.
std::uint64_t end_of_members(const IndexSample& sample) {
  std::uint64_t end = 0;
  for (const IndexMember& member : sample.members) {
    const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - member.offset;
    end = std::max(end, member.offset + std::min(member.size, left));
  }
  return end;
}

bool parse_skip(const std::vector<std::string_view>& columns, IndexSkip& skip) {
  return columns.size() == 3 && columns[0] == "!" && unescape(columns[1], skip.path) &&
         unescape(columns[2], skip.reason);
}

}  // namespace

void name_members(IndexSample& sample) {
  for (IndexMember& member : sample.members) member.name = fmt::format("{}.{}", sample.key, member.extension);
  sample.offset = sample.members.front().offset - kTarBlock;
}

std::string implied_path(std::string_view sample_path, std::string_view extension) {
  const NameParts parts = split_extension(sample_path);
  if (portable_extension(parts.extension) == extension) return std::string(sample_path);
  return fmt::format("{}.{}", parts.stem, extension);
}

ShardIndexWriter::ShardIndexWriter(ByteSink& sink, std::string_view shard, std::string_view plan) : sink_(sink) {
  summary_.name = shard;
  summary_.plan = plan;
  line_ = fmt::format("{}\t{}\t", kIndexMagic, kVersion);
  append_escaped(line_, shard);
  line_ += '\t';
  line_ += plan;
  head_ = line_;
  line();
}

void ShardIndexWriter::line() {
  line_ += '\n';
  hash_.update(as_bytes(line_));
  sink_.write(as_bytes(line_));
  line_.clear();
}

void ShardIndexWriter::add(const IndexSample& sample) {
  line_ += '+';
  append_names(line_, sample);
  for (const IndexMember& member : sample.members) append_member(line_, member);
  line();
  ++summary_.samples;
}

void ShardIndexWriter::add(const IndexSkip& skip) {
  line_ += "!\t";
  append_escaped(line_, skip.path);
  line_ += '\t';
  append_escaped(line_, skip.reason);
  line();
  ++summary_.skipped;
}

ShardSummary ShardIndexWriter::finish(std::uint64_t tar_bytes, const Hash128& tar_hash, std::vector<Hash128> parts) {
  summary_.bytes = tar_bytes;
  summary_.xxh3_128 = tar_hash;
  summary_.parts = std::move(parts);
  line_ = fmt::format("end\t{}\t{}\t{}\t{}", summary_.samples, summary_.skipped, tar_bytes, to_hex(tar_hash));
  if (!summary_.parts.empty()) line_ += "\t" + part_hash_text(summary_.parts);
  line_ += "\t" + to_hex(summary_checksum(head_, line_));
  hash_.update(as_bytes(line_));
  line_ += fmt::format("\t{}\n", to_hex(hash_.digest()));
  sink_.write(as_bytes(line_));
  return summary_;
}

ShardSummary read_shard_index(ByteSource& source, const std::string& name, const ShardIndexVisitor& visitor) {
  LineReader lines(source, 0, source.size());
  std::string_view line;
  ShardSummary summary;
  if (!lines.next(line)) damaged(name, 0, "it is empty or incomplete");
  parse_head(line, name, summary);
  const std::string head(line);

  Xxh3Stream hash;
  std::uint64_t samples = 0;
  std::uint64_t skipped = 0;
  std::uint64_t members_end = 0;
  std::vector<std::string_view> columns;
  IndexSample sample;
  IndexSkip skip;
  while (true) {
    hash.update(as_bytes(line));
    hash.update(as_bytes("\n"));
    if (!lines.next(line)) damaged(name, lines.next_offset(), "the closing line is missing");
    split_columns(line, columns);
    if (parse_row(columns, sample)) {
      ++samples;
      members_end = std::max(members_end, end_of_members(sample));
      visitor.sample(std::move(sample));
    } else if (columns[0] == "!" && parse_skip(columns, skip)) {
      ++skipped;
      visitor.skip(std::move(skip));
    } else {
      break;
    }
  }
  End end;
  if (!parse_end(line, head, summary, end)) damaged(name, lines.line_offset(), "the line is not readable");
  hash.update(as_bytes(end.covered));
  if (!(hash.digest() == end.checksum)) damaged(name, lines.line_offset(), "its checksum does not match its content");
  if (samples != summary.samples || skipped != summary.skipped) {
    damaged(name, lines.line_offset(), "its closing line has another number of samples than it lists");
  }
  if (members_end > summary.bytes) {
    damaged(name, lines.line_offset(), "a member that it lists ends after the end of the shard");
  }
  if (lines.next_offset() != source.size())
    damaged(name, lines.next_offset(), "there are bytes after the closing line");
  return summary;
}

ShardSummary read_shard_summary(ByteSource& source, const std::string& name, bool whole) {
  const std::uint64_t size = source.size();
  ShardSummary summary;
  std::string_view line;
  LineReader first(source, 0, std::min(size, kFirstLine));
  if (!first.next(line)) damaged(name, 0, "it is empty or incomplete");
  parse_head(line, name, summary);
  const std::string head(line);

  std::string tail;
  std::uint64_t tail_offset = size;
  std::size_t begin = 0;
  for (std::uint64_t longest = kLastLine; begin == 0 && tail_offset > 0; longest *= 64) {
    tail_offset = size - std::min(size, longest);
    tail = read_text(source, tail_offset, size - tail_offset);
    if (!tail.ends_with('\n')) damaged(name, size, "the closing line is missing");
    begin = tail.substr(0, tail.size() - 1).rfind('\n') + 1;  // npos + 1 is 0
  }
  End end;
  if (!parse_end(std::string_view(tail).substr(begin, tail.size() - 1 - begin), head, summary, end))
    damaged(name, tail_offset + begin, "the closing line is missing or has changed");
  if (!whole) return summary;
  Xxh3Stream hash;
  source.stream(0, tail_offset + begin, [&](Bytes piece) { hash.update(piece); });
  hash.update(as_bytes(end.covered));
  if (!(hash.digest() == end.checksum)) damaged(name, tail_offset + begin, "its checksum does not match its content");
  return summary;
}

std::string shard_index_path(std::string_view shard) { return fmt::format(".shardkit/{}.index", shard); }

std::string moved_sample_line(const MovedSample& sample, bool positions) {
  std::string line = positions ? fmt::format("=\t{}\t", sample.input) : "=";
  if (positions && sample.source_key != sample.key) append_escaped(line, sample.source_key);
  append_names(line, sample);
  for (const IndexMember& member : sample.members) append_member(line, member, positions);
  return line;
}

bool parse_moved_sample(const std::vector<std::string_view>& columns, MovedSample& sample) {
  if (columns.size() < 3 || columns[0] != "=" || !parse_number(columns[1], sample.input)) return false;
  if (!unescape(columns[2], sample.source_key) || !parse_sample(std::span(columns).subspan(3), sample)) return false;
  if (sample.source_key.empty()) sample.source_key = sample.key;
  return true;
}

std::optional<std::size_t> class_of_path(const MovedSample& sample, const std::vector<std::string>& classes) {
  const std::string folder = name_in_manifest(sample.path.substr(0, sample.path.find('/')));
  const auto found = sample.path.find('/') == std::string::npos ? classes.end() : std::ranges::find(classes, folder);
  if (found == classes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - classes.begin());
}

std::uint64_t moved_sample_tar_bytes(const MovedSample& sample) {
  std::uint64_t bytes = 0;
  for (const IndexMember& member : sample.members) bytes += tar_member_bytes(member.size);
  return bytes;
}

std::size_t longest_key(const MovedSample& sample) {
  std::size_t longest = 0;
  for (const IndexMember& member : sample.members) longest = std::max(longest, member.extension.size());
  return kTarNameLimit - 1 - longest;
}

}  // namespace shardkit::formats
