#include <algorithm>

#include <sys/resource.h>

#include "bench/read/read_work.hpp"
#include "core/prng.hpp"

namespace shardkit::bench {
namespace {

constexpr unsigned kRounds = 4;

using Clock = std::chrono::steady_clock;

/// Descriptors that are left to everything but the files of a random read.
constexpr std::uint64_t kSpareDescriptors = 64;

bool may_keep_open(std::uint64_t files) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && files + kSpareDescriptors <= limit.rlim_cur;
}

}  // namespace

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

RandomWork::RandomWork(std::span<const InputFile> files, const io::ReadEngine& engine, const RandomOrder& order,
                       bool counts_samples, bool keep_files_open, const ReadLimits& limits, Context& context)
    : files_(files),
      engine_(engine),
      order_(order),
      counts_samples_(counts_samples),
      context_(context),
      turns_(order.size(), limits) {
  const auto stays = [&](const InputFile& file) { return keep_files_open || file.is_shard; };
  open_.resize(files.size());
  keeps_open_ = may_keep_open(static_cast<std::uint64_t>(std::ranges::count_if(files, stays)));
  if (!keeps_open_) return;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (stays(files[i])) open_[i] = engine.open(files[i].path);
  }
}

/// One thread's pieces under way: as many as it may have reads under way, so that none waits for room.
class RandomWork::Thread {
 public:
  Thread(RandomWork& work, ReadTally& tally) : work_(work), tally_(tally), pieces_(work.engine_.depth()) {
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
    if (!work_.counts_samples_) return;
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
      ref = work_.order_.at(*turn);
    } while (ref.bytes == 0 && count_empty());
    current_ = free_.back();
    free_.pop_back();
    Piece& piece = pieces_[current_];
    piece = {ref, work_.open_[ref.file].get(), {}, 0, 0, Clock::time_point::max()};
    if (piece.file == nullptr) {  // plain files are opened each time, as a loader does
      piece.begin = Clock::now();
      piece.opened = work_.engine_.open(work_.files_[ref.file].path);
      piece.file = piece.opened.get();
    }
    return true;
  }

  /// An empty file is a sample without a read.
  bool count_empty() {
    if (work_.counts_samples_) ++tally_.samples;
    return true;
  }

  RandomWork& work_;
  ReadTally& tally_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> free_;
  std::size_t current_ = 0;
  bool begun_ = false;  ///< the current piece has more to ask for
};

std::unique_ptr<io::ReadLane> RandomWork::prepare() const {
  return engine_.make_lane(static_cast<std::size_t>(std::min(order_.largest(), kMostPerRead)));
}

void RandomWork::run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) {
  turns_.begin();
  Thread thread(*this, tally);
  keep_reading(lane, engine_.depth(), stop, thread);
}

std::string RandomWork::hint(std::uint64_t) const {
  if (keeps_open_) return {};
  return "there are more shards than files that may be open at once (ulimit -n), so the time of each sample includes "
         "opening its shard";
}

}  // namespace shardkit::bench
