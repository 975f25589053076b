#include "dataset/reshard/sample_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/prng.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/portable_name.hpp"
#include "formats/tar_header.hpp"
#include "formats/tsv.hpp"

namespace shardkit::dataset {
namespace {

static_assert(sizeof(SampleRecord) == 24);  // the memory that the header promises

constexpr unsigned kLengthBits = 24;
constexpr std::size_t kLongestLine = 1U << 20U;  // that of LineReader, which reads the plan
constexpr std::size_t kSpill = 1U << 20U;

std::uint64_t hash_of_key(const std::string& key) { return xxh3_64(as_bytes(key)); }

/// Marks key and path: samples of one key mostly have one path too, which extract would give them.
void mark_sample(formats::MovedSample& sample) {
  const std::string origin = fmt::format("{}/{}", sample.input, sample.source_key);
  std::size_t longest = 0;
  for (const formats::MovedMember& member : sample.members) longest = std::max(longest, member.extension.size());
  sample.key.resize(std::min(sample.key.size(), formats::kTarNameLimit - 1 - longest - 9));  // '-' and 8 digits
  sample.key = formats::marked_key(sample.key, origin);
  const auto mark_path = [&](std::string& path) {
    if (path.empty()) return;
    const std::size_t stem = formats::split_extension(path).stem.size();
    path = formats::marked_key(path.substr(0, stem), origin) + path.substr(stem);
  };
  mark_path(sample.path);
  for (formats::MovedMember& member : sample.members) mark_path(member.path);
}

}  // namespace

void SampleTable::Batch::add(const formats::MovedSample& sample) {
  const std::string line = formats::moved_sample_line(sample);
  const std::uint64_t blocks = formats::moved_sample_tar_bytes(sample) / formats::kTarBlock;
  if (line.size() >= kLongestLine || blocks > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, fmt::format("sample '{}' has {} members; that is too much for one sample",
                                                    sample.source_key, sample.members.size()));
  }
  has_paths_ =
      has_paths_ || std::ranges::any_of(sample.members, [](const auto& member) { return !member.path.empty(); });
  const bool fits = sample.label && *sample.label < kNoLabel;
  records_.push_back({hash_of_key(sample.key), text_.size() << kLengthBits | line.size(),
                      static_cast<std::uint32_t>(blocks), fits ? static_cast<std::uint32_t>(*sample.label) : kNoLabel});
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
    throw Error(ErrorCode::unsupported, "the inputs hold more than 4,294,967,294 samples; reshard them in portions");
  }
}

void SampleTable::close() {
  spool_.flush();
  lines_ = io::File::open_read(spool_.temp_path());
}

formats::MovedSample SampleTable::read(std::uint32_t sample) const {
  const std::uint64_t place = records_[sample].line;
  std::string line(place & ((1U << kLengthBits) - 1), '\0');
  const std::size_t got = lines_->read_at(place >> kLengthBits, std::as_writable_bytes(std::span(line)));
  formats::MovedSample result;
  std::vector<std::string_view> columns;
  formats::split_columns(line, columns);
  if (got != line.size() || !formats::parse_moved_sample(columns, result)) {
    throw Error(ErrorCode::io,
                fmt::format("'{}' changed while it was used; does another program write there?", spool_.temp_path()),
                spool_.temp_path(), place >> kLengthBits);
  }
  if (!marked_.empty() && marked_[sample]) mark_sample(result);
  return result;
}

void SampleTable::mark(std::uint32_t sample) {
  marked_.resize(records_.size());
  marked_[sample] = true;
  records_[sample].key_hash = hash_of_key(read(sample).key);
}

namespace {

constexpr std::size_t kRunKeyBytes = 32U * 1024U * 1024U;
constexpr std::size_t kRunSamples = 1U << 18U;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

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

SampleOrder input_order(const SampleTable& table) {
  SampleOrder order(table.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

SampleDraw::SampleDraw(const std::string& text) {
  if (formats::parse_number(text, count_) && count_ > 0) return;
  if (text.find('.') != std::string::npos) ratio_ = parse_decimal(text).value_or(0);
  if (ratio_ > 0 && ratio_ <= 1) return;
  refuse(
      fmt::format("--sample '{}': say a number of samples from 1 up, or a share above 0 with a decimal point, such "
                  "as 0.1",
                  text));
}

std::uint64_t SampleDraw::count(std::uint64_t available) const {
  if (ratio_ == 0) return std::min(count_, available);
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(available) * ratio_));
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

void sort_by_key(const SampleTable& table, SampleOrder& order, Context& ctx) {
  std::priority_queue<Run, std::vector<Run>, LaterKey> runs;
  for (std::size_t begin = 0; begin < order.size();) {
    ctx.throw_if_stopped();
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
    if (merged.size() % 65536 == 0) ctx.throw_if_stopped();
    if (run.next == run.end) continue;
    run.key = table.read(order[run.next]).key;
    runs.push(std::move(run));
  }
  order = std::move(merged);
}

namespace {

std::string place(const formats::MovedSample& sample, const ReshardInputs& inputs) {
  return fmt::format("'{}' at byte {}", inputs.tars[sample.input].path, sample.members.front().offset);
}

[[noreturn]] void refuse(const formats::MovedSample& first, const formats::MovedSample& second, std::uint64_t keys,
                         const ReshardInputs& inputs) {
  const std::string more = keys > 1 ? fmt::format(" ({} in all are there twice)", format_count(keys, "key")) : "";
  const std::string remedy = first.input == second.input
                                 ? "its members are no neighbours, or it was written twice; mend that tar"
                                 : "--mark-duplicates keeps both under keys of their own";
  throw Error(ErrorCode::conflict,
              fmt::format("key '{}' is in {} and in {}{}: {}", second.key, place(first, inputs), place(second, inputs),
                          more, remedy),
              inputs.tars[second.input].path, second.members.front().offset);
}

class Settler {
 public:
  Settler(SampleTable& table, const ReshardInputs& inputs, bool mark) : table_(table), inputs_(inputs), mark_(mark) {}

  /// True when samples were marked.
  bool run(Context& ctx) {
    SampleOrder order = input_order(table_);
    const auto hash = [this](std::uint32_t sample) { return table_.record(sample).key_hash; };
    unsigned compared = 0;
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      if (++compared % 65536 == 0) ctx.throw_if_stopped();  // ten million take seconds
      return hash(a) != hash(b) ? hash(a) < hash(b) : a < b;
    });
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end =
          std::find_if(begin, order.end(), [&](std::uint32_t other) { return hash(other) != hash(*begin); });
      if (end - begin > 1) settle(std::span(begin, end));
      begin = end;
    }
    if (repeated_keys_ > 0) refuse(table_.read(refused_.first), table_.read(refused_.second), repeated_keys_, inputs_);
    for (const std::uint32_t sample : to_mark_) table_.mark(sample);
    return !to_mark_.empty();
  }

 private:
  /// Samples whose keys have one hash: nearly always one key.
  void settle(std::span<const std::uint32_t> samples) {
    std::map<std::string, std::vector<std::uint32_t>> by_key;
    for (const std::uint32_t sample : samples) by_key[table_.read(sample).key].push_back(sample);
    for (const auto& [key, same] : by_key) {
      if (same.size() == 1) continue;
      std::set<std::uint64_t> tars;
      for (const std::uint32_t sample : same) tars.insert(table_.read(sample).input);
      if (mark_ && tars.size() == same.size()) {
        to_mark_.insert(to_mark_.end(), same.begin(), same.end());
      } else {
        const auto pair = pair_to_name(same);
        if (repeated_keys_++ == 0 || pair.first < refused_.first) refused_ = pair;
      }
    }
  }

  /// Two of one tar where marks were asked for: samples of several tars would have got them.
  std::pair<std::uint32_t, std::uint32_t> pair_to_name(const std::vector<std::uint32_t>& same) const {
    const auto input = [this](std::uint32_t sample) { return table_.read(sample).input; };
    const auto twins = mark_ ? std::ranges::adjacent_find(same, {}, input) : same.end();
    return twins == same.end() ? std::pair(same[0], same[1]) : std::pair(twins[0], twins[1]);
  }

  SampleTable& table_;
  const ReshardInputs& inputs_;
  bool mark_;
  std::vector<std::uint32_t> to_mark_;
  std::pair<std::uint32_t, std::uint32_t> refused_;  ///< of the repeated keys that in input order comes first
  std::uint64_t repeated_keys_ = 0;
};

}  // namespace

void settle_duplicate_keys(SampleTable& table, const ReshardInputs& inputs, bool mark, Context& ctx) {
  ctx.progress().start("compare keys", table.size());
  // A marked key may meet one that was there before: then only an error is honest.
  if (Settler(table, inputs, mark).run(ctx)) Settler(table, inputs, false).run(ctx);
}

}  // namespace shardkit::dataset
