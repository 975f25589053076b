#include "formats/plan_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "formats/manifest.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::formats {
namespace {

// First lines: of a plan of convert, whose samples are files or objects of a store, and of a reshard, whose samples are
// in tars.
constexpr std::string_view kPlanMagic = "shardkit-plan\t1";
constexpr std::string_view kReshardMagic = "shardkit-reshard\t1";
constexpr std::uint64_t kTailBytes = 256;  // contains the closing line

/// The extension, a colon and the state.
bool parse_file(std::string_view column, PlannedFile& file) {
  std::array<std::string_view, 2> parts;
  return split_parts(column, parts) && unescape(parts[0], file.extension) && parse_state(parts[1], file);
}

/// "-" if the sample has no class.
bool parse_class(std::string_view column, std::size_t classes, std::optional<std::uint32_t>& class_index) {
  class_index.reset();
  if (column == "-") return true;
  std::uint64_t number = 0;
  if (!parse_number(column, number) || number >= classes) return false;
  class_index = static_cast<std::uint32_t>(number);
  return true;
}

/// Columns: "+" class marked stem [group] image sidecar... json. Only the last starts with a brace or a bracket, as
/// JSON does. A column behind a side-car that starts with '=' is its path.
bool parse_sample(const std::vector<std::string_view>& columns, const PlanHead& head, PlannedSample& sample) {
  const std::size_t image = head.grouped ? 5 : 4;
  if (columns.size() <= image || columns[0] != "+" ||
      !parse_class(columns[1], head.classes.size(), sample.class_index) || (!sample.class_index && !head.listed)) {
    return false;
  }
  std::uint64_t mark = 0;
  if (!parse_number(columns[2], mark) || mark > 2) return false;
  sample.mark = static_cast<KeyMark>(mark);
  if (!unescape(columns[3], sample.stem) || !parse_file(columns[image], sample.image)) return false;
  if (head.grouped && !parse_hex(columns[4], sample.group)) return false;
  std::size_t end = columns.size();
  sample.json.clear();
  const bool has_json = columns.back().starts_with('{') || columns.back().starts_with('[');
  if (has_json && !unescape(columns[--end], sample.json)) return false;
  if (end <= image) return false;
  sample.sidecars.clear();
  for (std::size_t i = image + 1; i < end; ++i) {
    const bool is_path = columns[i].starts_with('=');
    if (is_path && (sample.sidecars.empty() || !unescape(columns[i].substr(1), sample.sidecars.back().path)))
      return false;
    if (!is_path && !parse_file(columns[i], sample.sidecars.emplace_back())) return false;
  }
  return true;
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

struct HeadFlag {
  std::string_view line;
  bool PlanHead::*flag;
};
constexpr HeadFlag kHeadFlags[] = {{"listed", &PlanHead::listed},
                                   {"paths", &PlanHead::paths},
                                   {"grouped", &PlanHead::grouped},
                                   {"objects", &PlanHead::objects}};

}  // namespace

PlanReader::PlanReader(ByteSource& source, std::string name) : source_(source), name_(std::move(name)) {
  read_head();
  read_table();
}

void PlanReader::damaged(std::uint64_t offset, std::string_view why) const {
  throw Error(ErrorCode::corrupt, At{name_, offset},
              "plan '{}' is not readable at byte {}: {}; restore it from a copy, or {}", name_, offset, why,
              name_.find(kStateFolder) == std::string::npos ? "write it again with `shardctl plan`"
                                                            : "convert or reshard into an empty folder");
}

void PlanReader::read_head() {
  LineReader lines(source_, 0, source_.size());
  std::string_view line;
  if (!lines.next(line)) damaged(0, "it is empty or incomplete");
  if (line != kPlanMagic && line != kReshardMagic) {
    for (const std::string_view magic : {kPlanMagic, kReshardMagic}) {
      if (line.starts_with(magic.substr(0, magic.find('\t') + 1)))
        throw Error(ErrorCode::unsupported, At{name_, 0}, "plan '{}' has another version; this program reads version 1",
                    name_);
    }
    damaged(0, "it is not a shardkit plan of version 1");
  }
  std::vector<std::string_view> columns;
  while (lines.next(line)) {
    split_columns(line, columns);
    if (columns[0] == "samples") {
      head_bytes_ = lines.next_offset();
      return;
    }
    bool ok = false;
    std::string text;
    if (columns[0] == "name" && columns.size() == 2) {
      ok = unescape(columns[1], head_.name);
    } else if (columns[0] == "option" && columns.size() == 3) {
      ok = unescape(columns[2], head_.options[std::string(columns[1])]);
    } else if (columns[0] == "class" && columns.size() == 4) {
      ManifestClass& item = head_.classes.emplace_back();
      ok = parse_number(columns[1], item.label) && unescape(columns[2], item.name) &&
           parse_number(columns[3], item.samples);
    } else if (columns[0] == "skip" && columns.size() == 3) {
      IndexSkip& skip = head_.skipped.emplace_back();
      ok = unescape(columns[1], skip.path) && unescape(columns[2], skip.reason);
    } else if (columns.size() == 1) {
      const auto found = std::ranges::find(kHeadFlags, line, &HeadFlag::line);
      ok = found != std::end(kHeadFlags);
      if (ok) head_.*found->flag = true;
    } else if (columns[0] == "start" && columns.size() == 4) {
      PlanStart& start = head_.start.emplace();
      ok = parse_number(columns[1], start.shards) && parse_hex(columns[2], start.plan) &&
           parse_number(columns[3], start.readmitted);
    } else if (columns[0] == "parts" && columns.size() == 2) {
      ok = parse_number(columns[1], head_.parts.emplace());
    } else if (columns[0] == "input" && columns.size() == 4) {
      PlanInput& input = head_.inputs.emplace_back();
      ok = unescape(columns[1], input.name) && parse_number(columns[2], input.bytes) &&
           parse_number(columns[3], input.mtime_ns);
    }
    if (!ok) damaged(lines.line_offset(), "the line is not readable");
  }
  damaged(lines.next_offset(), "it is incomplete");
}

/// The closing line: "end", offset and lines of the table, plan hash, checksum of the head, and that of the table and
/// this line.
void PlanReader::read_table() {
  const std::uint64_t size = source_.size();
  const std::string tail = read_text(source_, size - std::min(size, kTailBytes), kTailBytes);
  const std::size_t end = tail.rfind("end\t");
  if (end == std::string::npos || !tail.ends_with('\n')) damaged(size, "it is incomplete");
  std::vector<std::string_view> columns;
  split_columns(std::string_view(tail).substr(end, tail.size() - 1 - end), columns);
  std::uint64_t count = 0;
  Hash128 head;
  const std::uint64_t end_offset = size - tail.size() + end;
  if (columns.size() != 6 || !parse_number(columns[1], table_offset_) || !parse_number(columns[2], count) ||
      !parse_hex(columns[3], hash_) || !parse_hex(columns.back(), end_) || !parse_hex(columns[4], head) ||
      table_offset_ > end_offset || head_bytes_ > table_offset_) {
    damaged(end_offset, "the closing line is not readable");
  }
  const std::uint64_t covered = size - 1 - columns.back().size() - 1;
  if (!(hash_of(0, head_bytes_) == head) || !(hash_of(table_offset_, covered) == end_))
    damaged(0, "its bytes have changed since it was written");
  parse_table(count, end_offset);
}

void PlanReader::parse_table(std::uint64_t count, std::uint64_t end) {
  LineReader lines(source_, table_offset_, end);
  std::vector<std::string_view> columns;
  for (std::string_view line; lines.next(line);) {
    split_columns(line, columns);
    PlanShard& shard = shards_.emplace_back();
    if (columns.size() != 5 || columns[0] != "shard" || !parse_number(columns[1], shard.offset) ||
        !parse_number(columns[2], shard.samples) || !parse_number(columns[3], shard.bytes) ||
        !parse_hex(columns[4], shard.lines) || shard.offset > table_offset_) {
      damaged(lines.line_offset(), "the line is not readable");
    }
  }
  if (shards_.size() != count) damaged(table_offset_, "its table of shards is incomplete");
}

Hash128 PlanReader::hash_of(std::uint64_t begin, std::uint64_t end) const {
  Xxh3Stream hash;
  const std::uint64_t got = source_.stream(begin, end - begin, [&](Bytes bytes) { hash.update(bytes); });
  if (got < end - begin) damaged(begin + got, "it is incomplete");
  return hash.digest();
}

/// The lines of a shard end where those of the next begin.
void PlanReader::check_lines(std::size_t shard) const {
  const std::uint64_t end = shard + 1 < shards_.size() ? shards_[shard + 1].offset : table_offset_;
  if (shards_[shard].offset > end) damaged(table_offset_, "its table of shards is not in order");
  Xxh3Stream hash;
  source_.stream(shards_[shard].offset, end - shards_[shard].offset, [&](Bytes bytes) { hash.update(bytes); });
  if (hash.digest64() != shards_[shard].lines)
    damaged(shards_[shard].offset, "the lines of a shard have changed since they were written");
}

void PlanReader::check_bytes() const {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) check_lines(shard);
}

std::string PlanReader::shard_name(std::size_t shard) const {
  return formats::shard_name(head_.name, first_shard() + shard);
}

PlanReader::ShardReader::ShardReader(const PlanReader& plan, std::size_t shard)
    : plan_(&plan),
      lines_(plan.source_, plan.shards_.at(shard).offset, plan.table_offset_),
      left_(plan.shards_.at(shard).samples) {
  plan.check_lines(shard);
}

bool PlanReader::ShardReader::next_line() {
  if (left_ == 0) return false;
  std::string_view line;
  if (!lines_.next(line)) plan_->damaged(lines_.next_offset(), "it is incomplete");
  split_columns(line, columns_);
  --left_;
  return true;
}

void PlanReader::ShardReader::unreadable() const { plan_->damaged(lines_.line_offset(), "the line is not readable"); }

bool PlanReader::ShardReader::next(PlannedSample& sample) {
  if (!next_line()) return false;
  if (!parse_sample(columns_, plan_->head_, sample)) unreadable();
  return true;
}

bool PlanReader::ShardReader::next(MovedSample& sample) {
  if (!next_line()) return false;
  if (!parse_moved_sample(columns_, sample) || sample.input >= plan_->head_.inputs.size()) unreadable();
  return true;
}

void append_state(std::string& line, const FileState& state) {
  line += state.version ? fmt::format("{}:@", state.size) : fmt::format("{}:{}", state.size, state.mtime_ns);
  if (state.version) append_escaped(line, *state.version);
}

bool parse_state(std::string_view text, FileState& state) {
  std::array<std::string_view, 2> parts;
  state = {};
  if (!split_parts(text, parts) || !parse_number(parts[0], state.size)) return false;
  return parts[1].starts_with('@') ? unescape(parts[1].substr(1), state.version.emplace())
                                   : parse_number(parts[1], state.mtime_ns);
}

std::string plan_path(std::uint64_t number) {
  return fmt::format("{}/plan{}", kStateFolder, number == 0 ? "" : fmt::format("-{}", number));
}

std::string append_path(std::uint64_t number) { return fmt::format("{}/append-{}", kStateFolder, number); }

std::string shard_name(std::string_view prefix, std::uint64_t number) {
  return fmt::format("{}-{:06}.tar", prefix, number);
}

std::optional<std::uint64_t> shard_number(std::string_view prefix, std::string_view name) {
  const std::size_t begin = prefix.size() + 1;
  const std::size_t end = name.find('.', begin);
  std::uint64_t number = 0;
  if (!name.starts_with(prefix) || !name.substr(prefix.size()).starts_with('-') || end == std::string_view::npos)
    return std::nullopt;
  return parse_number(name.substr(begin, end - begin), number) ? std::optional(number) : std::nullopt;
}

bool is_unread(const FileState& file) {
  return file.size == 0 && file.mtime_ns == 0 && file.version.value_or("").empty();
}

std::string label_text(std::uint64_t label) { return fmt::to_string(label); }

std::string file_path(const PlanHead& head, const PlannedSample& sample, const PlannedFile& file) {
  if (!file.path.empty()) return file.path;
  const bool joined = file.extension.starts_with('_') || file.extension.starts_with('-');
  std::string path = head.listed ? std::string() : head.classes.at(sample.class_index.value()).name + '/';
  path += sample.stem;
  if (!joined) path += '.';
  return path += file.extension;
}

std::string image_path(const PlanHead& head, const PlannedSample& sample) {
  return file_path(head, sample, sample.image);
}

std::string sample_key(const PlanHead& head, const PlannedSample& sample) {
  const std::string path = image_path(head, sample);
  const std::string_view name = sample.class_index ? head.classes.at(*sample.class_index).name : std::string_view();
  std::size_t longest = 0;
  for (const PlannedFile& file : sample.sidecars)
    longest = std::max(longest, portable_extension(file.extension).size());
  return image_key(name, path, sample.mark, longest);
}

void write_sample_line(const PlanHead& head, const PlannedSample& sample, SampleLine& line) {
  line.text = fmt::format("+\t{}\t{}\t", sample.class_index ? fmt::to_string(*sample.class_index) : "-",
                          static_cast<unsigned>(sample.mark));
  append_escaped(line.text, sample.stem);
  if (head.grouped) line.text += '\t' + to_hex(sample.group);
  line.identity = line.text;
  std::string column;
  const auto add = [&](std::string_view mark, std::string_view text) {
    column = mark;
    append_escaped(column, text);
    line.text += column;
    line.identity += column;
  };
  const auto add_file = [&](const PlannedFile& file) {
    add("\t", file.extension);
    line.text += ':';
    append_state(line.text, file);
    line.identity += ':' + fmt::to_string(file.size);
    if (!file.path.empty()) add("\t=", file.path);
  };
  add_file(sample.image);
  for (const PlannedFile& file : sample.sidecars) add_file(file);
  if (!sample.json.empty()) add("\t", sample.json);
}

std::uint64_t sample_tar_bytes(const PlanHead& head, const PlannedSample& sample) {
  std::uint64_t bytes = tar_member_bytes(sample.image.size);
  if (sample.class_index) bytes += tar_member_bytes(label_text(head.classes.at(*sample.class_index).label).size());
  if (!sample.json.empty()) bytes += tar_member_bytes(sample.json.size());
  for (const PlannedFile& file : sample.sidecars) bytes += tar_member_bytes(file.size);
  return bytes;
}

std::string_view planned_value(std::string_view name, std::string_view value) {
  return name == "on_bad" && value == "skip" ? "fail" : value;
}

PlanWriter::PlanWriter(ByteSink& sink, PlanHead head) : sink_(sink), head_(std::move(head)) {
  const std::string_view magic = head_.inputs.empty() ? kPlanMagic : kReshardMagic;
  put(magic);
  identify(magic);
  std::string text = fmt::format("\nname\t{}\n", escaped(head_.name));
  if (head_.listed) text += "listed\n";
  if (head_.paths) text += "paths\n";
  if (head_.grouped) text += "grouped\n";
  if (head_.start) {
    text += fmt::format("start\t{}\t{}\t{}\n", head_.start->shards, to_hex(head_.start->plan), head_.start->readmitted);
  }
  put(text);
  identify(text);
  if (head_.objects) put("objects\n");  // a store and a copy of it on disk have the same plan
  for (const auto& [name, value] : head_.options) {
    const auto line = [&](std::string_view shown) { return fmt::format("option\t{}\t{}\n", name, escaped(shown)); };
    put(line(value));
    identify(line(planned_value(name, value)));
  }
  text.clear();
  for (const ManifestClass& item : head_.classes) {
    text += fmt::format("class\t{}\t{}\t{}\n", item.label, escaped(item.name), item.samples);
  }
  for (const IndexSkip& skip : head_.skipped) {
    text += fmt::format("skip\t{}\t{}\n", escaped(skip.path), escaped(skip.reason));
  }
  put(text);
  identify(text);
  for (const PlanInput& input : head_.inputs) {
    put(fmt::format("input\t{}\t{}\t{}\n", escaped(input.name), input.bytes, input.mtime_ns));
  }
  if (head_.parts) put(fmt::format("parts\t{}\n", *head_.parts));
  put("samples\n");
  identify("samples\n");
  head_checksum_ = block_.digest();
  block_.reset();
}

void PlanWriter::put(std::string_view text) {
  sink_.write(as_bytes(text));
  block_.update(as_bytes(text));
  offset_ += text.size();
}

void PlanWriter::identify(std::string_view text) { identity_.update(as_bytes(text)); }

void PlanWriter::end_block() {
  if (!shards_.empty()) shards_.back().lines = block_.digest64();
  block_.reset();
}

void PlanWriter::begin_shard() {
  end_block();
  shards_.push_back({0, kTarEnd, offset_});
  identify("shard\n");
}

void PlanWriter::add(const PlannedSample& sample) {
  write_sample_line(head_, sample, line_);
  add_line(line_.text, line_.identity, sample_tar_bytes(head_, sample));
}

void PlanWriter::add(const MovedSample& sample) {
  add_line(moved_sample_line(sample), moved_sample_line(sample, false), moved_sample_tar_bytes(sample));
}

void PlanWriter::add_line(std::string_view line, std::string_view identity, std::uint64_t tar_bytes) {
  identify(identity);
  identify("\n");
  put(line);
  put("\n");
  shards_.back().samples += 1;
  shards_.back().bytes += tar_bytes;
}

Hash128 PlanWriter::finish() {
  end_block();
  const std::uint64_t table = offset_;
  const Hash128 hash = identity_.digest();
  for (const PlanShard& shard : shards_)
    put(fmt::format("shard\t{}\t{}\t{}\t{}\n", shard.offset, shard.samples, shard.bytes, to_hex(shard.lines)));
  put(fmt::format("end\t{}\t{}\t{}\t{}", table, shards_.size(), to_hex(hash), to_hex(head_checksum_)));
  const std::string checksum = fmt::format("\t{}\n", to_hex(block_.digest()));
  sink_.write(as_bytes(checksum));
  return hash;
}

}  // namespace shardkit::formats
