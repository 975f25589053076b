#include "dataset/reshard/sample_table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/prng.hpp"
#include "core/text.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/portable_name.hpp"
#include "formats/tar_header.hpp"
#include "formats/tsv.hpp"

namespace shardkit::dataset {
namespace {

static_assert(sizeof(SampleRecord) == 24);  // the memory that the header promises

constexpr std::uint32_t kNoPart = std::numeric_limits<std::uint32_t>::max();
constexpr unsigned kLengthBits = 24;
constexpr std::size_t kLongestLine = 1U << 20U;  // that of LineReader, which reads the plan
constexpr std::size_t kSpill = 1U << 20U;
constexpr std::uint32_t kNoLabel = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kLabelInLine = kNoLabel - 1;

std::uint32_t short_label(std::optional<std::uint64_t> label) {
  return label ? static_cast<std::uint32_t>(std::min<std::uint64_t>(*label, kLabelInLine)) : kNoLabel;
}

std::uint64_t hash_of_key(const std::string& key) { return xxh3_64(as_bytes(key)); }

bool has_label(const formats::MovedSample& sample) {
  return std::ranges::count(sample.members, kLabelExtension, &formats::IndexMember::extension) > 0;
}

/// Marks key and path: samples of one key usually also have one path, which extract would give them.
void mark_sample(formats::MovedSample& sample, SampleTable::Mark mark, std::uint32_t number) {
  std::string origin = fmt::format("{}/{}", sample.input, sample.source_key);
  if (mark != SampleTable::Mark::by_input) origin += fmt::format("@{}", SampleTable::position_of(sample));
  if (mark == SampleTable::Mark::by_number) origin += fmt::format("#{}", number);
  sample.key.resize(std::min(sample.key.size(), formats::longest_key(sample) - 9));  // '-' and 8 digits
  sample.key = formats::marked_key(sample.key, origin);
  const auto mark_path = [&](std::string& path) {
    if (path.empty()) return;
    const std::size_t stem = formats::split_extension(path).stem.size();
    path = formats::marked_key(path.substr(0, stem), origin) + path.substr(stem);
  };
  mark_path(sample.path);
  for (formats::IndexMember& member : sample.members) mark_path(member.path);
}

constexpr std::size_t kRunKeyBytes = 32U * 1024U * 1024U;
constexpr std::size_t kRunSamples = 1U << 18U;

/// A stretch of an order that is sorted, and the key of its next sample.
struct Run {
  std::string key;
  std::size_t next;
  std::size_t end;
};
struct LaterKey {
  bool operator()(const Run& a, const Run& b) const { return std::tie(a.key, a.next) > std::tie(b.key, b.next); }
};

/// Sorts the stretch of `order` from `begin` that fits into memory; returns its end.
std::size_t sort_run(const SampleTable& table, SampleOrder& order, std::size_t begin) {
  std::vector<std::pair<std::string, std::uint32_t>> run;
  std::size_t bytes = 0;
  std::size_t end = begin;
  for (; end < order.size() && bytes < kRunKeyBytes && run.size() < kRunSamples; ++end) {
    run.emplace_back(table.read(order[end]).key, order[end]);
    bytes += sizeof(run.back()) + run.back().first.size();
  }
  std::ranges::sort(run);
  for (std::size_t i = 0; i < run.size(); ++i) order[begin + i] = run[i].second;
  return end;
}

}  // namespace

void SampleTable::Batch::add(const formats::MovedSample& sample) {
  const std::string line = formats::moved_sample_line(sample);
  const std::uint64_t blocks = formats::moved_sample_tar_bytes(sample) / formats::kTarBlock;
  if (line.size() >= kLongestLine || blocks > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("sample '{}' has {} members, which is too many", sample.source_key, sample.members.size()));
  }
  has_paths_ =
      has_paths_ || std::ranges::any_of(sample.members, [](const auto& member) { return !member.path.empty(); });
  records_.push_back({hash_of_key(sample.key), text_.size() << kLengthBits | line.size(),
                      static_cast<std::uint32_t>(blocks), short_label(sample.label)});
  text_ += line;
  if (text_.size() >= kSpill) spill();
}

void SampleTable::Batch::spill() {
  const std::scoped_lock lock(table_.mutex_);
  for (; first_in_text_ < records_.size(); ++first_in_text_) {
    records_[first_in_text_].line += table_.spool_bytes_ << kLengthBits;
  }
  table_.spool_.write(as_bytes(text_));
  table_.spool_bytes_ += text_.size();
  text_.clear();
}

void SampleTable::take(std::size_t input, Batch&& batch) {
  batch.spill();
  const std::scoped_lock lock(mutex_);
  has_paths_ = has_paths_ || batch.has_paths_;
  batch.records_.shrink_to_fit();
  early_.emplace(input, std::move(batch.records_));
  for (auto next = early_.begin(); next != early_.end() && next->first == next_input_; ++next_input_) {
    records_.insert(records_.end(), next->second.begin(), next->second.end());
    next = early_.erase(next);
  }
  if (records_.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, "the inputs contain more than 4,294,967,294 samples; reshard them in portions");
  }
}

void SampleTable::close() {
  spool_.flush();
  lines_ = io::File::open_read(spool_.temp_path());
}

std::optional<std::uint64_t> SampleTable::label(std::uint32_t sample) const {
  const std::uint32_t label = records_[sample].label;
  if (label == kNoLabel) return std::nullopt;
  return label == kLabelInLine ? read(sample).label : label;
}

formats::MovedSample SampleTable::read_line(std::uint32_t sample) const {
  const std::uint64_t position = records_[sample].line;
  std::string line(position & ((1U << kLengthBits) - 1), '\0');
  const std::size_t got = lines_->read_at(position >> kLengthBits, std::as_writable_bytes(std::span(line)));
  formats::MovedSample result;
  std::vector<std::string_view> columns;
  formats::split_columns(line, columns);
  if (got != line.size() || !formats::parse_moved_sample(columns, result)) {
    throw Error(ErrorCode::io, At{spool_.temp_path(), position >> kLengthBits},
                "'{}' changed while being used; does another program write there?", spool_.temp_path());
  }
  return result;
}

formats::MovedSample SampleTable::read(std::uint32_t sample) const {
  formats::MovedSample result = read_line(sample);
  if (!next_part_.empty() && next_part_[sample] != kNoPart) {
    for (std::uint32_t at = next_part_[sample]; at != kNoPart; at = next_part_[at]) {
      formats::MovedSample part = read_line(at);
      if (!result.label || has_label(part)) result.label = part.label;
      if (result.path.empty()) result.path = part.path;
      std::ranges::move(part.members, std::back_inserter(result.members));
      keep_last_members(result);
    }
    std::ranges::sort(result.members, {}, &formats::IndexMember::extension);
  }
  if (!marks_.empty() && marks_[sample] != Mark::none) mark_sample(result, marks_[sample], sample);
  return result;
}

void SampleTable::mark(std::uint32_t sample, Mark mark) {
  marks_.resize(records_.size());
  marks_[sample] = mark;
  records_[sample].key_hash = hash_of_key(read(sample).key);
}

ReplacedMembers keep_last_members(formats::MovedSample& sample) {
  ReplacedMembers replaced;
  auto& members = sample.members;
  for (auto member = members.begin(); member != members.end();) {
    // A name is empty where an index or the table was read: then the extension tells.
    const auto again = std::find_if(member + 1, members.end(), [&](const formats::IndexMember& other) {
      return other.extension == member->extension && other.name == member->name;
    });
    if (again == members.end()) {
      ++member;
      continue;
    }
    replaced.add({1, {sample.input, again->offset}, fmt::format("{}.{}", sample.source_key, member->extension)});
    member = members.erase(member);
  }
  return replaced;
}

ReplacedMembers SampleTable::join(std::uint32_t sample, std::uint32_t part) {
  next_part_.resize(records_.size(), kNoPart);
  is_part_.resize(records_.size());
  is_part_[part] = true;
  std::uint32_t last = sample;
  while (next_part_[last] != kNoPart) last = next_part_[last];
  formats::MovedSample both = read(sample);
  const formats::MovedSample added = read_line(part);
  next_part_[last] = part;
  both.members.insert(both.members.end(), added.members.begin(), added.members.end());
  ReplacedMembers replaced = keep_last_members(both);
  SampleRecord& whole = records_[sample];
  whole.tar_blocks = static_cast<std::uint32_t>(formats::moved_sample_tar_bytes(both) / formats::kTarBlock);
  if (whole.label == kNoLabel || has_label(added)) whole.label = records_[part].label;
  return replaced;
}

SampleOrder input_order(const SampleTable& table) {
  SampleOrder order(table.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](std::uint32_t sample) { return table.is_part(sample); });
  return order;
}

std::uint64_t wanted_samples(const std::string& text, std::uint64_t available) {
  std::uint64_t count = 0;
  if (parse_number(text, count) && count > 0) return count;
  const double ratio = text.find('.') == std::string::npos ? 0 : parse_decimal(text).value_or(0);
  if (ratio > 0 && ratio <= 1) {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(available) * ratio));
  }
  throw usage_error(
      "--sample '{}': expected a number of samples of at least 1, or a share above 0 with a decimal point, such as 0.1",
      text);
}

SampleOrder draw_samples(const SampleTable& table, SampleOrder order, std::uint64_t count, std::uint64_t seed) {
  if (count >= order.size()) return order;
  const auto rank_of = [&](std::uint32_t sample) {
    Prng prng(seed ^ table.record(sample).key_hash);
    prng.next();  // decides --split, which is to be independent
    return std::pair(prng.next(), sample);
  };
  // Input order has ascending numbers, which sorting restores.
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::nth_element(order, middle, {}, rank_of);
  order.erase(middle, order.end());
  std::ranges::sort(order);
  return order;
}

void sort_by_key(const SampleTable& table, SampleOrder& order, Context& context) {
  std::priority_queue<Run, std::vector<Run>, LaterKey> runs;
  for (std::size_t begin = 0; begin < order.size();) {
    context.throw_if_stopped();
    const std::size_t end = sort_run(table, order, begin);
    runs.push({table.read(order[begin]).key, begin, end});
    begin = end;
  }
  if (runs.size() < 2) return;
  SampleOrder merged;
  merged.reserve(order.size());
  while (!runs.empty()) {
    Run run = runs.top();
    runs.pop();
    merged.push_back(order[run.next++]);
    if (merged.size() % 65536 == 0) context.throw_if_stopped();
    if (run.next == run.end) continue;
    run.key = table.read(order[run.next]).key;
    runs.push(std::move(run));
  }
  order = std::move(merged);
}

}  // namespace shardkit::dataset
