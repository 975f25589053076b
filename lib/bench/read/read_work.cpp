#include "bench/read/read_work.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/input/sample_counter.hpp"
#include "bench/read/read_options.hpp"
#include "bench/timing/timed_run.hpp"
#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "io/page_cache.hpp"

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

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kFileBlock = 256U << 10U;  // bytes per read
/// Residency is checked for one file in so many: it needs a call that loaders do not make. It is not timed.
constexpr std::uint64_t kAskOneIn = 16;

/// Calls of one thread, or of all; the latency is that of all four of a file.
struct FileCalls : ReadTally {
  stats::LatencyHistogram open, stat, read, close;
  /// Of the files whose share in the page cache was measured, after opening and before reading.
  std::uint64_t asked_bytes = 0;
  std::uint64_t cached_bytes = 0;  ///< cached bytes of these
  bool residency_unknown = false;

  void merge(const FileCalls& other) {
    ReadTally::merge(other);
    open.merge(other.open);
    stat.merge(other.stat);
    read.merge(other.read);
    close.merge(other.close);
    asked_bytes += other.asked_bytes;
    cached_bytes += other.cached_bytes;
    residency_unknown = residency_unknown || other.residency_unknown;
  }
};

/// Opens, stats, reads and closes a file; in between, with `asks_residency`, looks how much of it is cached.
void call_file(const std::string& path, bool asks_residency, MutableBytes buffer, FileCalls& calls,
               Progress& progress) {
  const auto begin = SteadyClock::now();
  io::File file = io::File::open_read(path);
  const auto opened = SteadyClock::now();
  const std::uint64_t size = file.size();
  const auto stated = SteadyClock::now();
  if (asks_residency) {
    const auto cached = io::cached_bytes(file);
    calls.residency_unknown = calls.residency_unknown || !cached;
    calls.cached_bytes += cached.value_or(0);
    calls.asked_bytes += size;
  }
  const auto asked = SteadyClock::now();
  std::uint64_t done = 0;
  for (std::size_t got = 1; done < size && got > 0; done += got) {
    got = file.read_at(done, buffer.first(std::min<std::uint64_t>(buffer.size(), size - done)));
    ++calls.kernel_reads;
    progress.bytes.fetch_add(got, std::memory_order_relaxed);
  }
  const auto read = SteadyClock::now();
  if (done < size) {
    throw Error(ErrorCode::io, fmt::format("'{}' ends at byte {} of {}: it changed while being read", path, done, size),
                path, done);
  }
  file = io::File();
  const auto closed = SteadyClock::now();
  calls.open.record(opened - begin);
  calls.stat.record(stated - opened);
  calls.read.record(read - asked);
  calls.close.record(closed - read);
  calls.latency.record((stated - begin) + (closed - asked));
  calls.bytes += done;
}

/// Opens, stats, reads and closes the first `most` files on `threads` threads, for at most `seconds`; empty: all of
/// them, without limit. Adds the times to `calls`. Throws Error{cancelled} on a stop before the first file was read.
Timing time_file_calls(const std::vector<std::string>& files, std::uint64_t threads, std::optional<std::uint64_t> most,
                       std::optional<double> seconds, FileCalls& calls, Context& context) {
  Turns turns(std::min<std::uint64_t>(most.value_or(files.size()), files.size()), {{}, seconds, 0});
  std::vector<FileCalls> of_threads(threads);
  const auto work = [&](unsigned thread, const std::stop_token& stop) {
    turns.begin();
    io::AlignedBuffer buffer;
    while (!stop.stop_requested()) {
      const auto turn = turns.next();
      if (!turn) return;
      call_file(files[*turn], *turn % kAskOneIn == 0, buffer.get(kFileBlock), of_threads[thread], context.progress());
      context.progress().items.fetch_add(1, std::memory_order_relaxed);
    }
  };
  const Timing timing = timed_run(static_cast<unsigned>(threads), work, context.progress().bytes, context.stop_token());
  for (const FileCalls& some : of_threads) calls.merge(some);
  if (calls.close.count() == 0) context.throw_if_stopped();
  return timing;
}

void check_folders(const std::vector<std::string>& paths) {
  if (paths.empty()) throw usage_error("nothing to read: no PATH was given");
  for (const std::string& path : paths) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) throw system_error(errno, "list", path);
    if (S_ISDIR(info.st_mode)) continue;
    throw Error(ErrorCode::usage, At{path}, "'{}' is not a folder; --mode imagefolder lists folders", path);
  }
}

/// Empties the kernel's caches of names and attributes, for the whole machine. False if this user may not.
bool drop_metadata() {
  const io::File control(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC), "/proc/sys/vm/drop_caches");
  return control && ::write(control.fd(), "2", 1) == 1;
}

/// Brings contents and metadata into the requested state. Files opened for that are then in memory.
MetadataCache prepare(const ReadOptions& options, Context& context) {
  if (options.cache == CacheRequest::any) return MetadataCache::as_found;
  std::vector<InputFile> files;
  for (const std::string& path : walk_folders(options.paths, context).files) {
    files.push_back({path, io::File::open_read(path).size(), false, 1});
  }
  if (!files.empty()) prepare_cache(files, options.cache, {}, context);
  if (options.cache == CacheRequest::warm) return MetadataCache::warm;
  if (drop_metadata()) return MetadataCache::cold;
  context.warn(
      "metadata_not_cold",
      "contents are cold, but names and attributes are in memory: only root can drop those (/proc/sys/vm/drop_caches)");
  return MetadataCache::warm;
}

FolderListing list(const ReadOptions& options, Context& context) {
  context.progress().start("listing folders");
  FolderListing listing = walk_folders(options.paths, context);
  if (listing.files.empty()) {
    throw Error(ErrorCode::not_found, At{options.paths.front()}, "folder '{}' contains no files to read",
                options.paths.front());
  }
  return listing;
}

FolderOperation operation(std::string name, const stats::LatencyHistogram& latency, std::uint64_t threads, double all) {
  const double total = latency.total();
  const auto count = static_cast<double>(latency.count());
  return {std::move(name),       latency.count(),        total > 0 ? count * static_cast<double>(threads) / total : 0,
          latency.quantile(0.5), latency.quantile(0.99), all > 0 ? total / all : 0};
}

FolderReport report_of(const FolderListing& listing, const FileCalls& calls, std::uint64_t threads, double seconds) {
  FolderReport report;
  report.folders = listing.latency.count();
  report.files = listing.files.size();
  report.list_seconds = listing.latency.total();
  report.files_per_second = static_cast<double>(calls.close.count()) / seconds;
  const double metadata = calls.open.total() + calls.stat.total() + calls.close.total();
  const double all = metadata + calls.read.total();
  const auto made = static_cast<double>(calls.open.count() + calls.stat.count() + calls.close.count());
  if (metadata > 0) report.metadata_operations_per_second = made * static_cast<double>(threads) / metadata;
  if (report.files_per_second > 0) {
    report.epoch_seconds = static_cast<double>(report.files) / report.files_per_second;
  }
  report.epoch_hours = report.epoch_seconds / 3600;
  report.operations = {operation("list", listing.latency, 1, 0), operation("open", calls.open, threads, all),
                       operation("stat", calls.stat, threads, all), operation("read", calls.read, threads, all),
                       operation("close", calls.close, threads, all)};
  return report;
}

void add_rates(const FileCalls& calls, const Timing& timing, ReadResult& result) {
  const auto samples = static_cast<double>(calls.close.count());
  const auto bytes = static_cast<double>(calls.bytes);
  result.samples = calls.close.count();
  result.bytes_per_second = bytes / timing.seconds;
  result.bytes_per_second_interval = rate_interval(timing, result.bytes_per_second);
  result.steady = is_steady(timing);
  result.samples_per_second = samples / timing.seconds;
  result.mean_sample = samples > 0 ? bytes / samples : 0;
  if (calls.asked_bytes > 0 && !calls.residency_unknown) {
    result.cache.residency_before_ratio =
        static_cast<double>(calls.cached_bytes) / static_cast<double>(calls.asked_bytes);
  }
}

void hint_at_others(const std::vector<std::string>& files, ReadResult& result) {
  const auto is_other = [](const std::string& path) { return !catalog::is_image_name(file_name(path)); };
  const auto others = std::ranges::count_if(files, is_other);
  if (others == 0) return;
  result.hints.push_back(
      fmt::format("of {}, {} not an image by name but counted, although ImageFolder skips such files; one is '{}'",
                  format_count(files.size(), "file"), others == 1 ? std::string("1 is") : fmt::format("{} are", others),
                  *std::ranges::find_if(files, is_other)));
}

void add_hints(const ReadOptions& options, ReadResult& result) {
  const FolderReport& report = *result.imagefolder;
  if (*result.samples < report.files) {
    result.hints.push_back(fmt::format("only {} of {} were read; the epoch is calculated from their rate",
                                       format_count(*result.samples), format_count(report.files, "file")));
  }
  if (options.cache == CacheRequest::any) {
    result.hints.emplace_back(
        "some names and attributes were in memory: a second run is faster; to measure the first, use --cache cold as "
        "root");
  }
  const std::string elsewhere = cold_elsewhere(result.cache.state, result.storage.storage_class);
  if (!elsewhere.empty()) result.hints.push_back(elsewhere);
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

ReadResult read_folders(const ReadOptions& options, Context& context) {
  check_folders(options.paths);
  ReadResult result;
  result.mode = options.mode;
  result.engine = enum_name(io::EngineKind::pread);
  result.threads = threads_of(options);
  result.depth = 1;
  result.block = kFileBlock;
  result.storage = system::storage_of(options.paths.front());
  result.cache.requested = options.cache;
  const MetadataCache metadata = prepare(options, context);
  FolderListing listing = list(options, context);
  hint_at_others(listing.files, result);
  Prng prng(options.seed);
  shuffle(std::span(listing.files), prng);
  const auto before = system::read_disk_counters(result.storage.device);
  context.progress().start("reading", listing.files.size(), 0, "files");
  context.progress().budget_seconds = options.budget.value_or(0);
  FileCalls calls;
  NeighborWatch watch(result.storage);
  const Timing timing = time_file_calls(listing.files, result.threads, options.samples, options.budget, calls, context);
  result.neighbors = watch.so_far();
  result.interrupted = context.stop_token().stop_requested();
  ReadMeasurement measured;
  measured.add(timing, {static_cast<const ReadTally&>(calls)}, before,
               system::read_disk_counters(result.storage.device));
  measured.add_totals(result);
  add_rates(calls, timing, result);
  result.files = listing.files.size();
  result.cache.state = cache_state(result.cache, result.storage.storage_class);
  result.imagefolder = report_of(listing, calls, result.threads, timing.seconds);
  result.imagefolder->metadata_cache = metadata;
  add_hints(options, result);
  return result;
}

}  // namespace shardkit::bench
