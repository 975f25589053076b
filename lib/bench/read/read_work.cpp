#include "bench/read/read_work.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/error.hpp"
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
    if (grouper_.finish()) count(shard_.bytes);
  }

  std::uint64_t samples() const { return samples_; }
  /// From the shard's start to the end of the last one counted.
  std::uint64_t sample_bytes() const { return sample_bytes_; }

  bool entry(const TarEntry& entry) override {
    if (grouper_.add(entry)) count(entry.record_offset);
    return false;
  }
  void finding(const TarFinding& finding) override {
    if (warned_) return;
    warned_ = true;
    context_.warn("damaged_shard", fmt::format("'{}' at byte {}: {}; shardctl verify tells more", shard_.path,
                                               finding.offset, finding.text));
  }

 private:
  void count(std::uint64_t end) {
    ++samples_;
    sample_bytes_ = end;
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }

  const InputFile& shard_;
  Context& context_;
  TarFeed feed_;
  SampleGrouper grouper_;
  std::uint64_t samples_ = 0;
  std::uint64_t sample_bytes_ = 0;
  bool warned_ = false;
};

constexpr std::uint64_t kPart = 64U << 20U;

/// Descriptors that are left to everything but the shards of a random read.
constexpr std::uint64_t kSpareDescriptors = 64;

bool may_keep_open(std::uint64_t files) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && files + kSpareDescriptors <= limit.rlim_cur;
}

bool passed(const std::optional<Clock::time_point>& deadline) { return deadline && Clock::now() >= *deadline; }

/// Samples of a file, by its share, from its start to `offset`: a plain file is one when all of it was read.
std::uint64_t samples_until(const InputFile& file, std::uint64_t offset) {
  const std::uint64_t samples = file.samples.value_or(0);
  if (offset >= file.bytes) return samples;
  return static_cast<std::uint64_t>(static_cast<double>(samples) * static_cast<double>(offset) /
                                    static_cast<double>(file.bytes));
}

}  // namespace

SequentialWork::SequentialWork(std::span<const InputFile> files, const ReadEngine& engine, std::uint64_t block,
                               const ReadLimits& limits, Context& context)
    : files_(files), engine_(engine), block_(block), limits_(limits), context_(context) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::uint64_t length = files[i].samples ? kPart : files[i].bytes;
    for (std::uint64_t begin = 0; begin < files[i].bytes; begin += length) {
      parts_.push_back({i, begin, std::min(begin + length, files[i].bytes)});
    }
  }
}

bool SequentialWork::limit_reached() const {
  if (limits_.samples && context_.progress().items.load(std::memory_order_relaxed) >= *limits_.samples) return true;
  return passed(limits_.deadline);
}

void SequentialWork::run(ReadTally& tally, const std::stop_token& stop) {
  AlignedBuffer buffer;
  while (!stop.stop_requested() && !limit_reached()) {
    const std::size_t part = next_part_.fetch_add(1, std::memory_order_relaxed);
    if (part >= parts_.size()) return;
    read_part(parts_[part], tally, buffer, stop);
  }
}

void SequentialWork::read_part(const Part& part, ReadTally& tally, AlignedBuffer& buffer, const std::stop_token& stop) {
  const InputFile& entry = files_[part.file];
  const auto file = engine_.open(entry.path);
  const std::uint64_t end = std::min(part.end, file->size());
  std::optional<SampleCounter> counter;
  if (!entry.samples) counter.emplace(entry, context_);
  std::uint64_t offset = part.begin;
  while (offset < end && !stop.stop_requested() && !limit_reached()) {
    const Clock::time_point begin = Clock::now();
    const Bytes bytes = file->read(offset, std::min(block_, end - offset), buffer);
    tally.latency.record(Clock::now() - begin);
    tally.bytes += bytes.size();
    context_.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    if (counter) {
      counter->feed(bytes);
    } else {
      const std::uint64_t samples = samples_until(entry, offset + bytes.size()) - samples_until(entry, offset);
      tally.samples += samples;
      tally.sample_bytes += entry.is_shard ? bytes.size() : samples * entry.bytes;
      context_.progress().items.fetch_add(samples, std::memory_order_relaxed);
    }
    offset += bytes.size();
  }
  if (!counter) return;
  if (offset == file->size()) counter->finish();
  tally.samples += counter->samples();
  tally.sample_bytes += counter->sample_bytes();
}

RandomWork::RandomWork(std::span<const InputFile> files, const ReadEngine& engine, std::vector<SampleRef> order,
                       const ReadLimits& limits, Context& context)
    : files_(files), engine_(engine), order_(std::move(order)), limits_(limits), context_(context) {
  open_.resize(files.size());
  const auto shards = std::ranges::count_if(files, &InputFile::is_shard);
  keeps_shards_open_ = may_keep_open(static_cast<std::uint64_t>(shards));
  if (!keeps_shards_open_) return;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (files[i].is_shard) open_[i] = engine.open(files[i].path);
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
    opened = engine_.open(files_[sample.file].path);
    file = opened.get();
  }
  for (std::uint64_t done = 0; done < sample.bytes;) {
    const Bytes bytes = file->read(sample.offset + done, std::min(sample.bytes - done, kMostPerRead), buffer);
    if (bytes.empty()) {
      const std::string& path = files_[sample.file].path;
      throw Error(ErrorCode::io, fmt::format("'{}' ends within a sample: it changed after it was listed", path), path,
                  sample.offset + done);
    }
    done += bytes.size();
    context_.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
  }
  tally.latency.record(Clock::now() - begin);
  tally.bytes += sample.bytes;
  tally.sample_bytes += sample.bytes;
  ++tally.samples;
  context_.progress().items.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace shardkit
