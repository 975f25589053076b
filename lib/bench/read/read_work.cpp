#include "bench/read/read_work.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "bench/input/sample_counter.hpp"
#include "bench/read/read_options.hpp"
#include "core/prng.hpp"

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

constexpr unsigned kRounds = 4;

/// Descriptors that are left to everything but the files of a random read.
constexpr std::uint64_t kSpareDescriptors = 64;

bool may_keep_open(std::uint64_t files) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && files + kSpareDescriptors <= limit.rlim_cur;
}

/// Keeps as many reads in flight as the engine allows: `thread.next(request)` fills the next one or returns false at
/// the end, `thread.take(completion)` gets the data. After a stop nothing new is started.
template <class Thread>
void keep_reading(io::ReadLane& lane, unsigned depth, const std::stop_token& stop, Thread& thread) {
  io::ReadRequest request;
  bool more = true;
  while (true) {
    while (more && lane.under_way() < depth) {
      more = !stop.stop_requested() && thread.next(request);
      if (more) lane.submit(request);
    }
    if (lane.under_way() == 0) return;
    thread.take(lane.wait());
  }
}

/// A part of a file.
struct Part {
  std::size_t file = 0;  ///< index into the files
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::vector<Part> parts_of(std::span<const InputFile> files, const io::ReadEngine& engine) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool whole = !files[i].samples && engine.depth() == 1;
    const std::uint64_t length = whole ? files[i].bytes : kPart;
    if (files[i].bytes == 0) parts.push_back({i, 0, 0});
    for (std::uint64_t begin = 0; begin < files[i].bytes; begin += length) {
      parts.push_back({i, begin, std::min(begin + length, files[i].bytes)});
    }
  }
  return parts;
}

class SequentialWork final : public ReadWork {
 public:
  SequentialWork(const ReadPlan& plan, const ReadLimits& limits, Context& context)
      : SequentialWork(plan, parts_of(plan.files, plan.engine), limits, context) {}

  std::unique_ptr<io::ReadLane> prepare() const override { return plan_.engine.make_lane(block_); }
  void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) override {
    turns_.begin();
    Thread thread(*this, lane, tally, stop);
    keep_reading(lane, plan_.engine.depth(), stop, thread);
  }
  std::string hint(std::uint64_t threads) const override {
    if (parts_.size() >= threads) return {};
    return fmt::format("the data fills only {} of {}; use more data ({}, or {} shards without index) to keep all busy",
                       parts_.size(), format_count(threads, "reading thread"), format_size(threads * kPart), threads);
  }

 private:
  SequentialWork(const ReadPlan& plan, std::vector<Part> parts, const ReadLimits& limits, Context& context)
      : ReadWork(plan, parts.size(), limits, context),
        samples_(limits.samples),
        block_(block_of(plan.options)),
        parts_(std::move(parts)) {}

  bool limit_reached() const {
    if (samples_ && context_.progress().items.load(std::memory_order_relaxed) >= *samples_) return true;
    return turns_.over();
  }

  /// The position of a thread in its part, and its counts.
  class Thread {
   public:
    Thread(SequentialWork& work, io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop)
        : work_(work), lane_(lane), tally_(tally), stop_(stop), open_(work.plan_.engine.depth() + 1) {}

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

    /// An empty file is a sample without a read.
    const Part* next_turn() {
      while (const auto turn = work_.turns_.next()) {
        const Part& part = work_.parts_[*turn];
        if (part.begin < part.end) return &part;
        tally_.samples += work_.plan_.files[part.file].samples.value_or(0);
      }
      return nullptr;
    }

    bool open_part() {
      end_part();
      const Part* const next = next_turn();
      if (next == nullptr) return false;
      const Part& part = *next;
      const InputFile& entry = work_.plan_.files[part.file];
      // One more than reads may be under way, so there is a free one.
      current_ = static_cast<std::size_t>(std::ranges::find(open_, nullptr, &OpenPart::file) - open_.begin());
      open_[current_] = {work_.plan_.engine.open(entry.path), &entry, 0};
      offset_ = part.begin;
      end_ = part.end;
      if (!entry.samples && work_.plan_.engine.depth() == 1 && !unpacks(entry)) counter_.emplace(entry, work_.context_);
      return true;
    }

    bool unpacks(const InputFile& entry) const { return work_.plan_.engine.depth() == 1 && is_compressed(entry); }

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

  const std::optional<std::uint64_t> samples_;
  const std::uint64_t block_;
  const std::vector<Part> parts_;
};

class RandomWork final : public ReadWork {
 public:
  RandomWork(const ReadPlan& plan, const ReadLimits& limits, Context& context)
      : ReadWork(plan, plan.order->size(), limits, context) {
    const bool keeps_files = reads_grid(plan.options);
    const auto stays = [&](const InputFile& file) { return keeps_files || file.is_shard; };
    open_.resize(plan.files.size());
    keeps_open_ = may_keep_open(static_cast<std::uint64_t>(std::ranges::count_if(plan.files, stays)));
    if (!keeps_open_) return;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (stays(plan.files[i])) open_[i] = plan.engine.open(plan.files[i].path);
    }
  }

  std::unique_ptr<io::ReadLane> prepare() const override {
    return plan_.engine.make_lane(static_cast<std::size_t>(std::min(plan_.order->largest(), kMostPerRead)));
  }

  void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) override {
    turns_.begin();
    Thread thread(*this, tally);
    keep_reading(lane, plan_.engine.depth(), stop, thread);
  }
  std::string hint(std::uint64_t) const override {
    if (keeps_open_) return {};
    return "there are more shards than files that may be open at once (ulimit -n), so the time of each sample includes "
           "opening its shard";
  }

 private:
  /// One thread's pieces under way: as many as it may have reads under way, so that none waits for room.
  class Thread {
   public:
    Thread(RandomWork& work, ReadTally& tally) : work_(work), tally_(tally), pieces_(work.plan_.engine.depth()) {
      for (std::size_t i = pieces_.size(); i > 0; --i) free_.push_back(i - 1);
    }

    bool next(io::ReadRequest& request) {
      if (!begun_ && !begin_piece()) return false;
      Piece& piece = pieces_[current_];
      const std::uint64_t length = std::min(piece.ref.bytes - piece.asked, kMostPerRead);
      request = {piece.file, piece.ref.offset + piece.asked, static_cast<std::size_t>(length), current_};
      piece.asked += length;
      begun_ = piece.asked < piece.ref.bytes;
      return true;
    }

    void take(const io::ReadCompletion& done) {
      Piece& piece = pieces_[done.tag];
      tally_.kernel_reads += done.kernel_reads;
      piece.begin = std::min(piece.begin, done.started);
      piece.came += done.bytes.size();
      const bool counts = work_.turns_.counts(done.finished);
      if (counts) work_.context_.progress().bytes.fetch_add(done.bytes.size(), std::memory_order_relaxed);
      if (piece.came < piece.ref.bytes) return;
      tally_.latency.record(done.finished - piece.begin);
      if (counts) count(piece.ref);
      piece.opened.reset();
      free_.push_back(done.tag);
    }

   private:
    struct Piece {
      SampleRef ref;
      const io::ReadFile* file = nullptr;
      std::shared_ptr<const io::ReadFile> opened;  ///< for this piece only
      std::uint64_t asked = 0;
      std::uint64_t came = 0;
      Clock::time_point begin;  ///< its first read, or the opening of its file
    };

    void count(const SampleRef& piece) {
      tally_.bytes += piece.bytes;
      if (!work_.plan_.counts_samples) return;
      ++tally_.samples;
      tally_.sample_bytes += piece.bytes;
      work_.context_.progress().items.fetch_add(1, std::memory_order_relaxed);
    }

    bool begin_piece() {
      std::optional<std::uint64_t> turn;
      SampleRef ref;
      do {
        turn = work_.turns_.next();
        if (!turn) return false;
        ref = work_.plan_.order->at(*turn);
      } while (ref.bytes == 0 && count_empty());
      current_ = free_.back();
      free_.pop_back();
      Piece& piece = pieces_[current_];
      piece = {ref, work_.open_[ref.file].get(), {}, 0, 0, Clock::time_point::max()};
      if (piece.file == nullptr) {  // plain files are opened each time, as a loader does
        piece.begin = Clock::now();
        piece.opened = work_.plan_.engine.open(work_.plan_.files[ref.file].path);
        piece.file = piece.opened.get();
      }
      return true;
    }

    /// An empty file is a sample without a read.
    bool count_empty() {
      if (work_.plan_.counts_samples) ++tally_.samples;
      return true;
    }

    RandomWork& work_;
    ReadTally& tally_;
    std::vector<Piece> pieces_;
    std::vector<std::size_t> free_;
    std::size_t current_ = 0;
    bool begun_ = false;  ///< the current piece has more to ask for
  };

  bool keeps_open_ = true;
  std::vector<std::shared_ptr<const io::ReadFile>> open_;  ///< by file; empty for files that are opened for each read
};

}  // namespace

void ReadTally::merge(const ReadTally& other) {
  latency.merge(other.latency);
  bytes += other.bytes;
  samples += other.samples;
  sample_bytes += other.sample_bytes;
  kernel_reads += other.kernel_reads;
  unpack_cpu_seconds += other.unpack_cpu_seconds;
}

ShuffledSamples::ShuffledSamples(std::vector<SampleRef> samples, std::uint64_t seed, std::uint64_t most)
    : samples_(std::move(samples)) {
  Prng prng(seed);
  shuffle(std::span(samples_), prng);
  samples_.resize(std::min<std::uint64_t>(samples_.size(), most));
  for (const SampleRef& sample : samples_) largest_ = std::max(largest_, sample.bytes);
}

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) : size_(size), seed_(split_mix(seed)) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (unsigned round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (split_mix(seed_ + right * kRounds + round) & mask);
      left = right;
      right = next;
    }
    index = left << half_bits_ | right;
  } while (index >= size_);
  return index;
}

std::vector<std::uint64_t> GridOrder::first_of_files(std::span<const InputFile> files, std::uint64_t unit) {
  std::vector<std::uint64_t> first{0};
  for (const InputFile& file : files) first.push_back(first.back() + file.bytes / unit);
  return first;
}

GridOrder::GridOrder(std::span<const InputFile> files, std::uint64_t unit, std::uint64_t seed, std::uint64_t most)
    : unit_(unit),
      first_(first_of_files(files, unit)),
      permutation_(first_.back(), seed),
      size_(std::min(first_.back(), most)) {}

SampleRef GridOrder::at(std::uint64_t index) const {
  const std::uint64_t piece = permutation_(index);
  const auto file = std::ranges::upper_bound(first_, piece) - first_.begin() - 1;
  return {static_cast<std::uint32_t>(file), (piece - first_[static_cast<std::size_t>(file)]) * unit_, unit_, 0, 0};
}

std::unique_ptr<ReadWork> make_work(const ReadPlan& plan, const ReadLimits& limits, Context& context) {
  if (plan.order == nullptr) return std::make_unique<SequentialWork>(plan, limits, context);
  return std::make_unique<RandomWork>(plan, limits, context);
}

}  // namespace shardkit::bench
