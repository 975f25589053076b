#include "formats/plan_file.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/portable_name.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::formats {
namespace {

constexpr std::uint64_t kTailBytes = 256;  // holds the closing line

/// "ext:size:mtime", or of an object "ext:size:@version"
bool parse_file(std::string_view column, PlannedFile& file) {
  std::array<std::string_view, 3> parts;
  file.mtime_ns = 0;
  file.version.reset();
  return split_parts(column, parts) && unescape(parts[0], file.extension) && parse_number(parts[1], file.size) &&
         (parts[2].starts_with('@') ? unescape(parts[2].substr(1), file.version.emplace())
                                    : parse_number(parts[2], file.mtime_ns));
}

/// "-" where the sample has no class.
bool parse_class(std::string_view column, std::size_t classes, std::optional<std::uint32_t>& class_index) {
  class_index.reset();
  if (column == "-") return true;
  std::uint64_t number = 0;
  if (!parse_number(column, number) || number >= classes) return false;
  class_index = static_cast<std::uint32_t>(number);
  return true;
}

/// Columns: "+" class marked stem image sidecar... json. Only the last starts with a brace, as JSON objects do.
bool parse_sample(const std::vector<std::string_view>& columns, const PlanHead& head, PlannedSample& sample) {
  if (columns.size() < 5 || columns[0] != "+" || !parse_class(columns[1], head.classes.size(), sample.class_index) ||
      (!sample.class_index && !head.listed)) {
    return false;
  }
  std::uint64_t mark = 0;
  if (!parse_number(columns[2], mark) || mark > (head.keys == KeyRule::nested ? 2U : 1U)) return false;
  sample.mark = static_cast<KeyMark>(mark);
  if (!unescape(columns[3], sample.stem) || !parse_file(columns[4], sample.image)) return false;
  std::size_t end = columns.size();
  sample.json.clear();
  if (columns.back().starts_with('{') && !unescape(columns[--end], sample.json)) return false;
  if (end < 5) return false;
  sample.sidecars.resize(end - 5);
  for (std::size_t i = 0; i < sample.sidecars.size(); ++i) {
    if (!parse_file(columns[i + 5], sample.sidecars[i])) return false;
  }
  return true;
}

}  // namespace

PlanReader::PlanReader(ByteSource& source, std::string name) : source_(source), name_(std::move(name)) {
  read_head();
  read_table();
}

void PlanReader::damaged(std::uint64_t offset, std::string_view why) const {
  throw Error(
      ErrorCode::corrupt,
      fmt::format("plan '{}' is not readable at byte {}: {}; make it again with `shardctl plan`", name_, offset, why),
      name_, offset);
}

void PlanReader::read_head() {
  LineReader lines(source_, 0, source_.size());
  std::string_view line;
  const auto magics = {kPlanMagic, kObjectPlanMagic, kNestedPlanMagic, kReshardMagic};
  if (!lines.next(line) || std::ranges::find(magics, line) == magics.end()) {
    damaged(0, "it is not a shardkit plan of version 1, 2 or 3");
  }
  head_.objects = line == kObjectPlanMagic;
  if (line == kNestedPlanMagic) head_.keys = KeyRule::nested;
  std::vector<std::string_view> columns;
  while (lines.next(line)) {
    split_columns(line, columns);
    if (columns[0] == "samples") return;
    bool ok = false;
    std::string text;
    if (columns[0] == "name" && columns.size() == 2) {
      ok = unescape(columns[1], head_.name);
    } else if (columns[0] == "option" && columns.size() == 3) {
      ok = unescape(columns[2], head_.options[std::string(columns[1])]);
    } else if (columns[0] == "class" && columns.size() == 4) {
      PlanClass& item = head_.classes.emplace_back();
      ok = parse_number(columns[1], item.label) && unescape(columns[2], item.name) &&
           parse_number(columns[3], item.samples);
    } else if (columns[0] == "skip" && columns.size() == 3) {
      IndexSkip& skip = head_.skipped.emplace_back();
      ok = unescape(columns[1], skip.path) && unescape(columns[2], skip.reason);
    } else if (columns[0] == "listed" && columns.size() == 1) {
      head_.listed = true;
      ok = true;
    } else if (columns[0] == "parts" && columns.size() == 2) {
      ok = parse_number(columns[1], head_.parts.emplace());
    } else if (columns[0] == "input" && columns.size() == 4) {
      PlanInput& input = head_.inputs.emplace_back();
      ok = unescape(columns[1], input.name) && parse_number(columns[2], input.bytes) &&
           parse_number(columns[3], input.mtime_ns);
    }
    if (!ok) damaged(lines.line_offset(), "the line is not readable");
  }
  damaged(lines.next_offset(), "it is cut");
}

void PlanReader::read_table() {
  const std::uint64_t size = source_.size();
  const std::string tail = read_text(source_, size - std::min(size, kTailBytes), kTailBytes);
  const std::size_t end = tail.rfind("end\t");
  if (end == std::string::npos || !tail.ends_with('\n')) damaged(size, "it is cut");
  std::vector<std::string_view> columns;
  split_columns(std::string_view(tail).substr(end, tail.size() - 1 - end), columns);
  std::uint64_t count = 0;
  if (columns.size() != 5 || !parse_number(columns[1], table_offset_) || !parse_number(columns[2], count) ||
      !parse_hex(columns[3], hash_) || !parse_hex(columns[4], checksum_) || table_offset_ > size) {
    damaged(size - tail.size() + end, "the closing line is not readable");
  }
  LineReader lines(source_, table_offset_, size);
  std::string_view line;
  while (lines.next(line) && !line.starts_with("end\t")) {
    split_columns(line, columns);
    PlanShard& shard = shards_.emplace_back();
    if (columns.size() != 4 || columns[0] != "shard" || !parse_number(columns[1], shard.offset) ||
        !parse_number(columns[2], shard.samples) || !parse_number(columns[3], shard.bytes) ||
        shard.offset > table_offset_) {
      damaged(lines.line_offset(), "the line is not readable");
    }
  }
  if (shards_.size() != count) damaged(table_offset_, "its table of shards is cut");
}

std::uint64_t PlanReader::samples() const {
  std::uint64_t sum = 0;
  for (const PlanShard& shard : shards_) sum += shard.samples;
  return sum;
}

std::uint64_t PlanReader::bytes() const {
  std::uint64_t sum = 0;
  for (const PlanShard& shard : shards_) sum += shard.bytes;
  return sum;
}

void PlanReader::check_bytes() const {
  constexpr std::uint64_t own_column = 34;  // tab, 32 digits and newline
  const std::uint64_t length = source_.size() - own_column;
  Xxh3Stream hash;
  const std::uint64_t got = source_.stream(0, length, [&](Bytes bytes) { hash.update(bytes); });
  if (got < length) damaged(got, "it is cut");
  if (!(hash.digest() == checksum_)) damaged(0, "its bytes have changed since it was written");
}

std::string PlanReader::shard_name(std::size_t shard) const { return fmt::format("{}-{:06}.tar", head_.name, shard); }

PlanReader::ShardLines::ShardLines(const PlanReader& plan, std::size_t shard)
    : plan_(&plan),
      lines_(plan.source_, plan.shards_.at(shard).offset, plan.table_offset_),
      left_(plan.shards_.at(shard).samples) {}

bool PlanReader::ShardLines::next() {
  if (left_ == 0) return false;
  std::string_view line;
  if (!lines_.next(line)) plan_->damaged(lines_.next_offset(), "it is cut");
  split_columns(line, columns_);
  --left_;
  return true;
}

void PlanReader::ShardLines::unreadable() const { plan_->damaged(lines_.line_offset(), "the line is not readable"); }

bool PlanReader::ShardReader::next(PlannedSample& sample) {
  if (!lines_.next()) return false;
  if (!parse_sample(lines_.columns(), plan_->head_, sample)) lines_.unreadable();
  return true;
}

std::string label_text(std::uint64_t label) { return fmt::to_string(label); }

std::string file_path(const PlanHead& head, const PlannedSample& sample, const PlannedFile& file) {
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
  return image_key(head.keys, name, path, sample.mark);
}

std::uint64_t sample_tar_bytes(const PlannedSample& sample, std::size_t label_digits) {
  std::uint64_t bytes = tar_member_bytes(sample.image.size);
  if (label_digits > 0) bytes += tar_member_bytes(label_digits);
  if (!sample.json.empty()) bytes += tar_member_bytes(sample.json.size());
  for (const PlannedFile& file : sample.sidecars) bytes += tar_member_bytes(file.size);
  return bytes;
}

std::vector<std::size_t> label_digits(const PlanHead& head) {
  std::vector<std::size_t> digits;
  for (const PlanClass& item : head.classes) digits.push_back(label_text(item.label).size());
  return digits;
}

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

}  // namespace

std::string_view planned_value(std::string_view name, std::string_view value) {
  return name == "on_bad" && value == "skip" ? "fail" : value;
}

PlanWriter::PlanWriter(ByteSink& sink, const PlanHead& head) : sink_(sink), label_digits_(label_digits(head)) {
  const std::string_view plan = head.keys == KeyRule::nested ? kNestedPlanMagic : kPlanMagic;
  const std::string_view magic = head.inputs.empty() ? plan : kReshardMagic;
  put(head.objects && head.keys == KeyRule::flat ? kObjectPlanMagic : magic);
  identify(magic);  // a store and a copy of it on disk have the same plan
  std::string text = fmt::format("\nname\t{}\n", escaped(head.name));
  if (head.listed) text += "listed\n";
  put(text);
  identify(text);
  for (const auto& [name, value] : head.options) {
    const auto line = [&](std::string_view shown) { return fmt::format("option\t{}\t{}\n", name, escaped(shown)); };
    put(line(value));
    identify(line(planned_value(name, value)));
  }
  text.clear();
  for (const PlanClass& item : head.classes) {
    text += fmt::format("class\t{}\t{}\t{}\n", item.label, escaped(item.name), item.samples);
  }
  for (const IndexSkip& skip : head.skipped) {
    text += fmt::format("skip\t{}\t{}\n", escaped(skip.path), escaped(skip.reason));
  }
  put(text);
  identify(text);
  for (const PlanInput& input : head.inputs) {
    put(fmt::format("input\t{}\t{}\t{}\n", escaped(input.name), input.bytes, input.mtime_ns));
  }
  if (head.parts) put(fmt::format("parts\t{}\n", *head.parts));
  put("samples\n");
  identify("samples\n");
}

void PlanWriter::put(std::string_view text) {
  sink_.write(as_bytes(text));
  checksum_.update(as_bytes(text));
  offset_ += text.size();
}

void PlanWriter::identify(std::string_view text) { identity_.update(as_bytes(text)); }

void PlanWriter::begin_shard() {
  shards_.push_back({0, kTarEnd, offset_});
  identify("shard\n");
}

void PlanWriter::add(const PlannedSample& sample) {
  line_ = fmt::format("+\t{}\t{}\t", sample.class_index ? fmt::to_string(*sample.class_index) : "-",
                      static_cast<unsigned>(sample.mark));
  append_escaped(line_, sample.stem);
  identity_text_ = line_;
  const auto add_file = [&](const PlannedFile& file) {
    std::string column = "\t";
    append_escaped(column, file.extension);
    column += fmt::format(":{}", file.size);
    identity_text_ += column;
    line_ += column;
    line_ += file.version ? ":@" : fmt::format(":{}", file.mtime_ns);
    if (file.version) append_escaped(line_, *file.version);
  };
  add_file(sample.image);
  for (const PlannedFile& file : sample.sidecars) add_file(file);
  if (!sample.json.empty()) {
    std::string column = "\t";
    append_escaped(column, sample.json);
    identity_text_ += column;
    line_ += column;
  }
  add_line(line_, identity_text_,
           sample_tar_bytes(sample, sample.class_index ? label_digits_.at(*sample.class_index) : 0));
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
  const std::uint64_t table = offset_;
  const Hash128 hash = identity_.digest();
  for (const PlanShard& shard : shards_) {
    put(fmt::format("shard\t{}\t{}\t{}\n", shard.offset, shard.samples, shard.bytes));
  }
  const std::string end = fmt::format("end\t{}\t{}\t{}", table, shards_.size(), to_hex(hash));
  put(end);
  put(fmt::format("\t{}\n", to_hex(checksum_.digest())));
  return hash;
}

namespace {

constexpr std::size_t kFixedColumns = 6;  // "=" input source_key key label path

void append_what_is_written(std::string& line, const MovedSample& sample) {
  line += '\t';
  append_escaped(line, sample.key);
  line += sample.label ? fmt::format("\t{}\t", *sample.label) : "\t-\t";
  append_escaped(line, sample.path);
}

/// "ext:offset:size:xxh3", the last "-" when unknown.
bool parse_moved_member(std::string_view column, MovedMember& member) {
  std::array<std::string_view, 4> parts;
  member.xxh3.reset();
  return split_parts(column, parts) && unescape(parts[0], member.extension) && parse_number(parts[1], member.offset) &&
         parse_number(parts[2], member.size) && (parts[3] == "-" || parse_hex(parts[3], member.xxh3.emplace()));
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
