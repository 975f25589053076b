#include "bench/read/read_work.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bench/input/sample_counter.hpp"
#include "bench/timing/timed_run.hpp"

namespace shardkit::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPart = 64U << 20U;

/// Samples of a file, by its share, from its start to `offset`: a plain file is one when all of it was read.
std::uint64_t samples_until(const InputFile& file, std::uint64_t offset) {
  const std::uint64_t samples = file.samples.value_or(0);
  if (offset >= file.bytes) return samples;
  return static_cast<std::uint64_t>(static_cast<double>(samples) * static_cast<double>(offset) /
                                    static_cast<double>(file.bytes));
}

/// Bytes of one sample of a file: for a shard including headers and padding.
double bytes_per_sample(const InputFile& file) {
  return static_cast<double>(file.bytes) / static_cast<double>(std::max<std::uint64_t>(file.samples.value_or(1), 1));
}

}  // namespace

void ReadTally::merge(const ReadTally& other) {
  latency.merge(other.latency);
  bytes += other.bytes;
  samples += other.samples;
  sample_bytes += other.sample_bytes;
  kernel_reads += other.kernel_reads;
  unpack_cpu_seconds += other.unpack_cpu_seconds;
}

void Turns::begin() {
  std::call_once(begun_, [this] {
    again_until_ = moment_in(limits_.least_seconds);
    if (limits_.most_seconds) deadline_ = moment_in(*limits_.most_seconds);
  });
}

std::optional<std::uint64_t> Turns::next() {
  if (over()) return std::nullopt;
  const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
  if (turn < count_) return turn;
  if (count_ == 0 || limits_.least_seconds <= 0 || Clock::now() >= again_until_) return std::nullopt;
  return turn % count_;
}

bool Turns::counts(Clock::time_point finished) {
  if (!limits_.most_seconds) return true;
  if (finished <= deadline_) some_in_time_ = true;
  return finished <= deadline_ || !some_in_time_;
}

bool Turns::over() const { return limits_.most_seconds && Clock::now() >= deadline_; }

SequentialWork::SequentialWork(std::span<const InputFile> files, const io::ReadEngine& engine, std::uint64_t block,
                               const ReadLimits& limits, Context& context)
    : files_(files),
      engine_(engine),
      block_(block),
      limits_(limits),
      context_(context),
      parts_(parts_of(files, engine)),
      turns_(parts_.size(), limits) {}

std::vector<SequentialWork::Part> SequentialWork::parts_of(std::span<const InputFile> files,
                                                           const io::ReadEngine& engine) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool whole = !files[i].samples && engine.depth() == 1;
    const std::uint64_t length = whole ? files[i].bytes : kPart;
    for (std::uint64_t begin = 0; begin < files[i].bytes; begin += length) {
      parts.push_back({i, begin, std::min(begin + length, files[i].bytes)});
    }
  }
  return parts;
}

bool SequentialWork::limit_reached() const {
  if (limits_.samples && context_.progress().items.load(std::memory_order_relaxed) >= *limits_.samples) return true;
  return turns_.over();
}

/// The position of a thread in its part, and its counts.
class SequentialWork::Thread {
 public:
  Thread(SequentialWork& work, io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop)
      : work_(work), lane_(lane), tally_(tally), stop_(stop), open_(work.engine_.depth() + 1) {}

  bool next(io::ReadRequest& request) {
    if (work_.limit_reached()) return end_part(), false;
    if (offset_ >= end_ && !next_part()) return false;
    request = next_block();
    return true;
  }

  void take(const io::ReadCompletion& done) {
    const InputFile& entry = *open_[done.tag].entry;
    if (!count(done)) return;
    const std::uint64_t bytes = done.bytes.size();
    if (counter_) return counter_->feed(done.bytes);
    const std::uint64_t samples = samples_until(entry, done.offset + bytes) - samples_until(entry, done.offset);
    tally_.samples += samples;
    if (entry.is_shard) {
      tally_.sample_bytes += bytes;
    } else {
      tally_.sample_bytes += static_cast<std::uint64_t>(static_cast<double>(samples) * bytes_per_sample(entry));
    }
    work_.context_.progress().items.fetch_add(samples, std::memory_order_relaxed);
  }

 private:
  /// A part of which reads are under way, or the current one.
  struct OpenPart {
    std::shared_ptr<const io::ReadFile> file;
    const InputFile* entry = nullptr;
    unsigned under_way = 0;
  };

  io::ReadRequest next_block() {
    const std::uint64_t length = std::min(work_.block_, end_ - offset_);
    OpenPart& part = open_[current_];
    const io::ReadRequest request{part.file.get(), offset_, static_cast<std::size_t>(length), current_};
    ++part.under_way;
    offset_ += length;
    return request;
  }

  /// False for a read that came too late to count.
  bool count(const io::ReadCompletion& done) {
    tally_.latency.record(done.finished - done.started);
    tally_.kernel_reads += done.kernel_reads;
    OpenPart& part = open_[done.tag];
    if (--part.under_way == 0 && done.tag != current_) part.file.reset();
    if (!work_.turns_.counts(done.finished)) {
      is_late_ = true;
      return false;
    }
    tally_.bytes += done.bytes.size();
    work_.context_.progress().bytes.fetch_add(done.bytes.size(), std::memory_order_relaxed);
    return true;
  }

  /// Compressed shards are read here; the part after them is left to next().
  bool next_part() {
    while (open_part()) {
      if (!unpacks(*open_[current_].entry)) return true;
      unpack();
      if (work_.limit_reached() || stop_.stop_requested()) break;
    }
    end_part();
    return false;
  }

  bool open_part() {
    end_part();
    const auto turn = work_.turns_.next();
    if (!turn) return false;
    const Part& part = work_.parts_[*turn];
    const InputFile& entry = work_.files_[part.file];
    // One more than reads may be under way, so there is a free one.
    current_ = static_cast<std::size_t>(std::ranges::find(open_, nullptr, &OpenPart::file) - open_.begin());
    open_[current_] = {work_.engine_.open(entry.path), &entry, 0};
    offset_ = part.begin;
    end_ = part.end;
    if (!entry.samples && work_.engine_.depth() == 1 && !unpacks(entry)) counter_.emplace(entry, work_.context_);
    return true;
  }

  bool unpacks(const InputFile& entry) const { return work_.engine_.depth() == 1 && is_compressed(entry); }

  /// The unpacker asks for the blocks: nothing else is in flight, because the depth is 1.
  void unpack() {
    const auto read = [this]() -> Bytes {
      if (offset_ >= end_) return {};
      lane_.submit(next_block());
      const io::ReadCompletion done = lane_.wait();
      count(done);
      return done.bytes;
    };
    UnpackedSamples content(*open_[current_].entry, read, work_.context_);
    while (!is_late_ && !work_.limit_reached() && !stop_.stop_requested() && content.next()) {
    }
    tally_.samples += content.samples();
    tally_.sample_bytes += content.sample_bytes();
    tally_.unpack_cpu_seconds += content.cpu_seconds();
    offset_ = end_;
  }

  /// With a counter there is no read under way here: its depth is 1.
  void end_part() {
    if (open_[current_].under_way == 0) open_[current_].file.reset();
    if (!counter_) return;
    if (offset_ == end_ && !is_late_) counter_->finish();  // else bytes are missing that the shard has
    tally_.samples += counter_->samples();
    tally_.sample_bytes += counter_->sample_bytes();
    counter_.reset();
  }

  SequentialWork& work_;
  io::ReadLane& lane_;
  ReadTally& tally_;
  const std::stop_token& stop_;
  std::vector<OpenPart> open_;
  std::size_t current_ = 0;
  std::optional<SampleCounter> counter_;
  std::uint64_t offset_ = 0;
  std::uint64_t end_ = 0;
  bool is_late_ = false;  ///< a read arrived that did not count
};

void SequentialWork::run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) {
  turns_.begin();
  Thread thread(*this, lane, tally, stop);
  keep_reading(lane, engine_.depth(), stop, thread);
}

std::string SequentialWork::hint(std::uint64_t threads) const {
  if (parts_.size() >= threads) return {};
  return fmt::format("the data fills only {} of {}; use more data ({}, or {} shards without index) to keep all busy",
                     parts_.size(), format_count(threads, "reading thread"), format_size(threads * kPart), threads);
}

}  // namespace shardkit::bench
