#include "bench/read_work.hpp"

#include <fmt/format.h>

#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit {
namespace {

using Clock = std::chrono::steady_clock;

/// Counts the samples of a shard whose bytes come by, and warns of the first fault.
class SampleCounter final : public TarHandler {
 public:
  SampleCounter(const InputFile& shard, Context& context)
      : shard_(shard), context_(context), feed_(*this, shard.bytes) {}

  void feed(Bytes bytes) { feed_.feed(bytes); }
  void finish() {
    feed_.finish();
    if (grouper_.finish()) count();
  }

  std::uint64_t samples() const { return samples_; }

  bool entry(const TarEntry& entry) override {
    if (grouper_.add(entry)) count();
    return false;
  }
  void finding(const TarFinding& finding) override {
    if (warned_) return;
    warned_ = true;
    context_.warn("damaged_shard", fmt::format("'{}' at byte {}: {}; shardctl verify tells more", shard_.path,
                                               finding.offset, finding.text));
  }

 private:
  void count() {
    ++samples_;
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }

  const InputFile& shard_;
  Context& context_;
  TarFeed feed_;
  SampleGrouper grouper_;
  std::uint64_t samples_ = 0;
  bool warned_ = false;
};

/// More open files than this are not kept: the usual soft limit is 1024.
constexpr std::size_t kMostOpenFiles = 512;

bool passed(const std::optional<Clock::time_point>& deadline) { return deadline && Clock::now() >= *deadline; }

}  // namespace

bool SequentialWork::limit_reached() const {
  if (limits_.samples && context_.progress().items.load(std::memory_order_relaxed) >= *limits_.samples) return true;
  return passed(limits_.deadline);
}

void SequentialWork::run(ReadTally& tally, const std::stop_token& stop) {
  AlignedBuffer buffer;
  while (!stop.stop_requested() && !limit_reached()) {
    const std::size_t file = next_file_.fetch_add(1, std::memory_order_relaxed);
    if (file >= input_.files.size()) return;
    read_file(input_.files[file], tally, buffer, stop);
  }
}

void SequentialWork::read_file(const InputFile& entry, ReadTally& tally, AlignedBuffer& buffer,
                               const std::stop_token& stop) {
  const auto file = engine_.open(entry.path);
  const bool count_by_reading = entry.is_shard && (!entry.samples || limits_.any());
  std::optional<SampleCounter> counter;
  if (count_by_reading) counter.emplace(entry, context_);
  std::uint64_t offset = 0;
  while (offset < file->size() && !stop.stop_requested() && !limit_reached()) {
    const Clock::time_point begin = Clock::now();
    const Bytes bytes = file->read(offset, block_, buffer);
    tally.latency.record(Clock::now() - begin);
    offset += bytes.size();
    context_.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    if (counter) counter->feed(bytes);
  }
  tally.bytes += offset;
  const bool whole = offset == file->size();
  if (counter) {
    if (whole) counter->finish();
    tally.samples += counter->samples();
  } else if (whole) {
    tally.samples += entry.samples.value_or(0);
    context_.progress().items.fetch_add(entry.samples.value_or(0), std::memory_order_relaxed);
  }
}

RandomWork::RandomWork(const InputSet& input, const ReadEngine& engine, std::vector<SampleRef> order,
                       const ReadLimits& limits, Context& context)
    : input_(input), engine_(engine), order_(std::move(order)), limits_(limits), context_(context) {
  open_.resize(input.files.size());
  if (input.files.size() > kMostOpenFiles) return;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (input.files[i].is_shard) open_[i] = engine.open(input.files[i].path);
  }
}

void RandomWork::run(ReadTally& tally, const std::stop_token& stop) {
  AlignedBuffer buffer;
  while (!stop.stop_requested() && !passed(limits_.deadline)) {
    const std::size_t next = next_sample_.fetch_add(1, std::memory_order_relaxed);
    if (next >= order_.size()) return;
    read_sample(order_[next], tally, buffer);
  }
}

void RandomWork::read_sample(const SampleRef& sample, ReadTally& tally, AlignedBuffer& buffer) {
  const Clock::time_point begin = Clock::now();
  const ReadFile* file = open_[sample.file].get();
  std::unique_ptr<ReadFile> opened;  // plain files are opened each time, as a loader does
  if (file == nullptr) {
    opened = engine_.open(input_.files[sample.file].path);
    file = opened.get();
  }
  const Bytes bytes = file->read(sample.offset, sample.bytes, buffer);
  tally.latency.record(Clock::now() - begin);
  tally.bytes += bytes.size();
  ++tally.samples;
  context_.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
  context_.progress().items.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace shardkit
