#include "dataset/sharding/shard_writer.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/units.hpp"
#include "dataset/indexes/reader_indexes.hpp"
#include "formats/shard_hash.hpp"
#include "formats/tar_header.hpp"
#include "io/large_file.hpp"
#include "io/publish.hpp"
#include "sync/bounded_queue.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kMemory = 96U * 1024U * 1024U;
constexpr std::size_t kSmallestChunk = 64U * 1024U;
constexpr std::size_t kLargestChunk = 1024U * 1024U;
constexpr unsigned kFewestInFlight = 8;
constexpr unsigned kPublishers = 4;          // to a bucket, where each object takes several requests
constexpr unsigned kDescriptorsPerRead = 2;  // the file, and the wait meter's

std::int64_t since(std::chrono::steady_clock::time_point start) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

double to_seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

/// Aligned memory that is reused, because fresh pages cost a fault each. Bytes start undefined.
struct Buffer {
  io::AlignedBuffer memory;
  std::size_t capacity = 0;
  MutableBytes bytes() { return memory.get(capacity); }
};

/// Capacities are multiples of this, so that a spare fits the next request more often.
constexpr std::size_t kGrain = 128U * 1024U;

/// Lends buffers and keeps the sum of lent buffers below a budget. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::uint64_t budget) : budget_(budget) {}

  /// Waits for free budget; a buffer larger than the whole budget is lent if nothing else is. Empty if the stop is
  /// requested first.
  std::optional<Buffer> take(std::size_t size, const std::stop_token& stop) {
    const std::size_t capacity = (size + kGrain - 1) / kGrain * kGrain;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return lent_ == 0 || lent_ + capacity <= budget_; });
    if (stop.stop_requested()) return std::nullopt;
    const auto fit = std::ranges::find_if(
        spares_, [&](const Buffer& spare) { return spare.capacity >= capacity && spare.capacity <= 2 * capacity; });
    if (fit != spares_.end()) {
      Buffer buffer = std::move(*fit);
      *fit = std::move(spares_.back());
      spares_.pop_back();
      spare_ -= buffer.capacity;
      lent_ += buffer.capacity;
      return buffer;
    }
    while (!spares_.empty() && lent_ + spare_ + capacity > budget_) {
      spare_ -= spares_.back().capacity;
      spares_.pop_back();
    }
    lent_ += capacity;
    lock.unlock();
    return Buffer{{}, capacity};
  }

  void give_back(Buffer buffer) {
    const std::scoped_lock lock(mutex_);
    lent_ -= buffer.capacity;
    if (lent_ + spare_ + buffer.capacity <= budget_) {
      spare_ += buffer.capacity;
      spares_.push_back(std::move(buffer));
    }
    changed_.notify_all();
  }

 private:
  const std::uint64_t budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t lent_ = 0;   ///< bytes
  std::uint64_t spare_ = 0;  ///< bytes in spares_
  std::vector<Buffer> spares_;
};

/// A run of a shard's samples as tar bytes, with their index entries. Offsets of members count from the chunk's first
/// byte.
struct Chunk {
  Buffer buffer;
  std::size_t begin = 0;  ///< of the tar bytes in the buffer
  std::size_t used = 0;
  std::vector<std::variant<formats::IndexSample, formats::IndexSkip>> entries;  ///< in shard order
  std::vector<BadFile> bad;                                                     ///< of its samples; corrected ones, too
  bool last = false;                                                            ///< the shard ends with it

  bool is_open() const {
    return std::ranges::any_of(bad, [](const BadFile& file) { return file.state == BadState::open; });
  }
};

/// Writes one shard and its index from chunks that workers finish in any order.
///
/// Chunks are numbered from 0. The thread with the next one appends it, and those after it that already wait; no thread
/// blocks on a lock meanwhile. Appending is short; then the thread stores the chunk while others append. Since a chunk
/// is appended where the last one ended, a sample that was left out only makes the shard shorter.
class ShardWriter {
 public:
  /// `setup.target` contains the shards and has a .shardkit folder. Buffers of written chunks return to `pool`.
  ShardWriter(io::OutputFiles& files, const WriteRequest& setup, std::size_t number, BufferPool& pool)
      : files_(files),
        folder_(setup.target),
        shard_(setup.plan.shard_name(number)),
        plan_(to_hex(setup.plan.hash())),
        pool_(pool),
        tar_(files, io::join_path(folder_, shard_), setup.plan.shards()[number].bytes),
        index_file_(files, io::join_path(folder_, formats::shard_index_path(shard_))),
        index_(index_file_, shard_, plan_) {
    if (setup.md5) md5_.emplace(ChecksumKind::md5);
  }

  /// Takes a chunk; true for the one call after which all of the shard is stored. Thread-safe.
  bool submit(std::uint64_t number, Chunk chunk) {
    std::unique_lock lock(mutex_);
    waiting_.emplace(number, std::move(chunk));
    bool is_complete = false;
    while (!appending_ && !waiting_.empty() && waiting_.begin()->first == next_) {
      Chunk current = std::move(waiting_.extract(waiting_.begin()).mapped());
      ++next_;
      ++storing_;
      appending_ = true;
      lock.unlock();
      const io::LargeFile::Pages pages = append(current);
      lock.lock();
      appending_ = false;
      has_ended_ = has_ended_ || current.last;
      lock.unlock();
      tar_.store(pages);
      pool_.give_back(std::move(current.buffer));
      lock.lock();
      is_complete = --storing_ == 0 && has_ended_;
    }
    lock.unlock();
    if (is_complete && !open_) tar_.end();
    return is_complete;
  }

  /// Makes index and shard durable under their names, the index first: an existing shard always has its index. A shard
  /// of which every sample was left out gets only an index, one with open bad files neither. The list of bad files
  /// comes before. Called once, after submit() returned true.
  std::optional<formats::ShardSummary> publish() {
    keep_one_each();
    keep_bad_files(files_, folder_, shard_, bad_);
    if (open_) return std::nullopt;
    const bool has_tar = has_same_tar_there();
    index_file_.commit();
    if (summary_.samples == 0) return std::move(summary_);
    if (md5_) keep_md5(files_, folder_, summary_, md5_->finish());
    if (!has_tar) tar_.commit();
    return std::move(summary_);
  }

  /// The list that publish() makes durable.
  const std::vector<BadFile>& bad() const { return bad_; }

 private:
  /// Of what has the shard's names, a damaged index is replaced, and a tar with an index of this plan; true if the tar
  /// is there with its bytes.
  bool has_same_tar_there() {
    const std::string tar = io::join_path(folder_, shard_);
    const std::string index = io::join_path(folder_, formats::shard_index_path(shard_));
    bool is_damaged = false;
    std::string plan;
    try {
      if (files_.exists(index)) plan = formats::read_shard_summary(*files_.open(index), index).plan;
    } catch (const Error& error) {
      is_damaged = error.code() == ErrorCode::corrupt;
      if (!is_damaged && error.code() != ErrorCode::not_found) throw;
    }
    if (is_damaged || plan == plan_) files_.give_up(index);
    if (plan != plan_) return files_.is_local() && has_same_tar(files_, tar, summary_);
    files_.give_up(tar);
    return false;
  }

  /// Of a file that several samples have. The first state counts: a shard with an open file stays open.
  void keep_one_each() {
    std::ranges::stable_sort(bad_, {},
                             [](const BadFile& file) { return std::pair(std::string_view(file.path), file.state); });
    const auto repeated = std::ranges::unique(bad_, {}, &BadFile::path);
    bad_.erase(repeated.begin(), repeated.end());
  }

  io::LargeFile::Pages append(Chunk& chunk) {
    open_ = open_ || chunk.is_open();
    bad_.insert(bad_.end(), chunk.bad.begin(), chunk.bad.end());
    if (open_) return {};
    const MutableBytes memory = chunk.buffer.bytes();
    if (chunk.last) {
      std::ranges::fill(memory.subspan(chunk.begin + chunk.used, formats::kTarEnd), std::byte{0});
      chunk.used += formats::kTarEnd;
    }
    const Bytes bytes = memory.subspan(chunk.begin, chunk.used);
    hash_.update(bytes);
    if (md5_) md5_->update(bytes);
    for (auto& entry : chunk.entries) {
      if (auto* sample = std::get_if<formats::IndexSample>(&entry)) {
        for (formats::IndexMember& member : sample->members) member.offset += offset_;
        index_.add(*sample);
      } else {
        index_.add(std::get<formats::IndexSkip>(entry));
      }
    }
    offset_ += chunk.used;
    if (chunk.last) summary_ = index_.finish(offset_, hash_.whole(), hash_.parts());
    return tar_.append(memory, chunk.begin, chunk.used);
  }

  io::OutputFiles& files_;
  const std::string folder_;
  const std::string shard_;
  const std::string plan_;  ///< its hash
  BufferPool& pool_;
  io::LargeFile tar_;
  io::AtomicFile index_file_;
  formats::ShardIndexWriter index_;
  formats::ShardHasher hash_;
  std::optional<ChecksumStream> md5_;
  std::uint64_t offset_ = 0;  ///< bytes of the tar so far
  formats::ShardSummary summary_;
  std::vector<BadFile> bad_;
  bool open_ = false;  ///< it waits for files to be corrected: nothing of it is published

  std::mutex mutex_;
  std::map<std::uint64_t, Chunk> waiting_;
  std::uint64_t next_ = 0;
  bool appending_ = false;
  unsigned storing_ = 0;    ///< chunks that are being appended or stored
  bool has_ended_ = false;  ///< the last chunk is appended
};

/// One call of write_shards().
class WriterPool {
 public:
  WriterPool(const WriteRequest& setup, io::OutputFiles& files, Context& context)
      : setup_(setup),
        files_(files),
        context_(context),
        pool_(kMemory),
        finished_(files.is_local() ? 16 : kPublishers) {}

  WriteResult run(const std::vector<std::size_t>& shards) {
    todo_ = shards;
    summaries_.resize(shards.size());
    sync::TaskGroup publisher(context_.stop_token());
    const unsigned fewest = files_.is_local() ? kFewestInFlight : 2 * kFewestInFlight;  // half of them send
    sync::LatencyPool workers({setup_.cores, fewest, system::most_reads_in_flight(kDescriptorsPerRead)},
                              publisher.stop_token());
    workers_ = &workers;
    for (unsigned i = 0; i < (files_.is_local() ? 1 : kPublishers); ++i)
      publisher.spawn([this](const std::stop_token& stop) { publish_finished(stop); });
    workers.run([this](sync::WaitMeter& meter, const std::stop_token& stop) { return step(meter, stop); });
    finished_.close();
    publisher.wait();
    context_.throw_if_stopped();
    keep_first();
    bad_.samples = bad_samples_;
    return {std::move(summaries_),
            std::move(bad_),
            {0, to_seconds(setup_.source.read_ns()), to_seconds(write_ns_), to_seconds(sync_ns_)},
            workers.in_flight()};
  }

  /// After a stop: shards that were begun and not published are written from their start.
  void warn_of_repeated_work() {
    if (next_todo_ == published_) return;
    const std::uint64_t read = context_.progress().bytes;
    if (read <= published_bytes_) return;
    const std::string again = format_size(read - published_bytes_);
    const std::string unfinished = format_count(next_todo_ - published_, "unfinished shard");
    context_.warn("read_again", "the next run reads {} of {} again", again, unfinished);
  }

 private:
  /// A shard that is being dealt out and written.
  struct OpenShard {
    OpenShard(SampleSource& source, std::size_t in_plan, std::size_t position)
        : shard(in_plan), number(position), samples(source.open(in_plan)), next(samples()) {}

    std::size_t shard;   ///< in the plan
    std::size_t number;  ///< among the requested ones
    SampleCursor samples;
    std::once_flag is_begun;
    std::optional<ShardWriter> writer;  ///< see begin()
    std::optional<PendingSample> next;  ///< the first sample not yet dealt; empty after the last
    std::uint64_t chunks = 0;
    std::uint64_t planned_bytes = 0;  ///< of the samples dealt so far
  };

  /// Samples that one worker turns into a chunk.
  struct Claim {
    std::shared_ptr<OpenShard> shard;
    std::uint64_t number = 0;
    std::vector<PendingSample> samples;
    Chunk chunk;
  };

  bool step(sync::WaitMeter& meter, const std::stop_token& stop) {
    std::optional<Claim> work = claim(stop);
    if (!work) return false;
    begin(*work->shard);
    Chunk chunk = read_chunk(*work, meter);
    context_.progress().items += work->samples.size();
    context_.progress().bytes += chunk.used;
    const auto start = std::chrono::steady_clock::now();
    const bool complete = work->shard->writer->submit(work->number, std::move(chunk));
    write_ns_ += since(start);
    return !complete || finished_.push(std::move(work->shard), 1, stop);
  }

  std::optional<Claim> claim(const std::stop_token& stop) {
    const std::scoped_lock lock(mutex_);
    // Two cores write two files at a time, as fast as the page cache takes them; more than eight gain nothing.
    const std::size_t wanted_open = std::min(setup_.cores, 8U);
    while (open_.size() < wanted_open && open_next()) {
    }
    if (open_.empty()) return std::nullopt;
    files_.wait_for_memory(stop);
    turn_ = (turn_ + 1) % open_.size();
    Claim claim{open_[turn_], open_[turn_]->chunks++, {}, {}};
    OpenShard& shard = *claim.shard;
    claim.chunk.begin = io::LargeFile::begin_for(shard.planned_bytes);
    std::size_t bytes = 0;
    const std::size_t limit = chunk_bytes();
    while (shard.next && (bytes == 0 || bytes < limit)) {
      const std::size_t sample_bytes = shard.next->tar_bytes;
      if (bytes > 0 && bytes + sample_bytes > kLargestChunk) break;
      bytes += sample_bytes;
      claim.samples.push_back(std::move(*shard.next));
      shard.next = shard.samples();
    }
    shard.planned_bytes += bytes;
    claim.chunk.last = !shard.next;
    if (claim.chunk.last) open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(turn_));
    std::optional<Buffer> buffer = pool_.take(io::LargeFile::memory_for(bytes + formats::kTarEnd), stop);
    if (!buffer) return std::nullopt;
    claim.chunk.buffer = std::move(*buffer);
    return claim;
  }

  bool open_next() {
    if (next_todo_ == todo_.size()) return false;
    open_.push_back(std::make_shared<OpenShard>(setup_.source, todo_[next_todo_], next_todo_));
    ++next_todo_;
    return true;
  }

  /// Makes the files of a shard. Not while samples are dealt out, because it takes as long as dealing hundreds.
  void begin(OpenShard& shard) {
    std::call_once(shard.is_begun, [&] { shard.writer.emplace(files_, setup_, shard.shard, pool_); });
  }

  Chunk read_chunk(Claim& claim, sync::WaitMeter& meter) {
    Chunk chunk = std::move(claim.chunk);
    const MutableBytes room = chunk.buffer.bytes().subspan(chunk.begin);
    for (const PendingSample& pending : claim.samples) {
      chunk.bad.insert(chunk.bad.end(), pending.corrected.begin(), pending.corrected.end());
      try {
        formats::IndexSample sample = pending.read(room.subspan(chunk.used, pending.tar_bytes), meter);
        const formats::IndexMember& last = sample.members.back();
        const std::size_t taken = last.offset + formats::tar_padded(last.size);
        for (formats::IndexMember& member : sample.members) member.offset += chunk.used;
        chunk.entries.emplace_back(std::move(sample));
        chunk.used += taken;
      } catch (BadSample& bad) {
        leave_out(bad, chunk);
      }
    }
    return chunk;
  }

  void leave_out(BadSample& bad, Chunk& chunk) {
    const BadState state = bad.files.empty() ? BadState::left_out : bad.files.front().state;
    const bool over = state != BadState::deleted && bad_samples_.fetch_add(1) >= setup_.may_skip;
    for (BadFile& file : bad.files) {
      std::erase_if(chunk.bad, [&](const BadFile& listed) {
        return listed.state == BadState::corrected && listed.path == file.path;
      });
      if (over) file.state = BadState::open;
      chunk.bad.push_back(std::move(file));
    }
    if (!over && state != BadState::open) chunk.entries.emplace_back(formats::IndexSkip{bad.in_index, bad.what()});
  }

  void note_open(const BadFile& file) {
    if (file.state != BadState::open) return;
    ++bad_.open_files;
    if (file.seen.gone && !formats::is_unread(file.planned)) ++bad_.gone_files;
    bad_.open.push_back(file);
    if (bad_.open.size() == 2 * kMostBadListed) keep_first();
  }

  void keep_first() {
    std::ranges::sort(bad_.open, {}, &BadFile::path);
    if (bad_.open.size() > kMostBadListed) bad_.open.erase(bad_.open.begin() + kMostBadListed, bad_.open.end());
  }

  void publish_finished(const std::stop_token& stop) {
    while (std::optional<std::shared_ptr<OpenShard>> shard = finished_.pop(stop)) {
      const auto start = std::chrono::steady_clock::now();
      if (setup_.before_publishing) setup_.before_publishing();
      ShardWriter& writer = *(*shard)->writer;
      std::optional<formats::ShardSummary> summary = writer.publish();
      const std::scoped_lock lock(published_mutex_);
      for (const BadFile& file : writer.bad()) note_open(file);
      if (summary) {
        ++published_;
        published_bytes_ += summary->bytes - std::min<std::uint64_t>(summary->bytes, formats::kTarEnd);
      }
      summaries_[(*shard)->number] = std::move(summary);
      sync_ns_ += since(start);
    }
  }

  std::size_t chunk_bytes() const {
    // A quarter of the memory receives reads; the other three quarters wait to be written.
    return std::clamp<std::size_t>(kMemory / 4 / std::max(workers_->in_flight(), 1U), kSmallestChunk, kLargestChunk);
  }

  const WriteRequest& setup_;
  io::OutputFiles& files_;
  Context& context_;
  BufferPool pool_;
  sync::LatencyPool* workers_ = nullptr;
  sync::BoundedQueue<std::shared_ptr<OpenShard>> finished_;

  std::mutex mutex_;  ///< guards the members below: the assignment of samples
  std::vector<std::size_t> todo_;
  std::size_t next_todo_ = 0;
  std::vector<std::shared_ptr<OpenShard>> open_;
  std::size_t turn_ = 0;

  std::mutex published_mutex_;  ///< guards the members below: what was published
  std::vector<std::optional<formats::ShardSummary>> summaries_;
  std::size_t published_ = 0;
  std::uint64_t published_bytes_ = 0;  ///< of their samples
  BadFiles bad_;

  std::atomic<std::uint64_t> bad_samples_{0};
  std::atomic<std::int64_t> write_ns_{0};
  std::atomic<std::int64_t> sync_ns_{0};
};

}  // namespace

void SampleSource::timed(sync::WaitMeter& meter, const std::function<void()>& read) {
  const auto start = std::chrono::steady_clock::now();
  {
    const sync::WaitMeter::Scope waiting(meter);
    read();
  }
  read_ns_ += since(start);
}

formats::IndexMember SampleSource::finish_member(MutableBytes room, std::uint64_t at, std::string_view key,
                                                 const std::string& extension, std::uint64_t size) {
  formats::write_ustar_header(room.subspan(at, formats::kTarBlock), fmt::format("{}.{}", key, extension), size);
  const std::uint64_t begin = at + formats::kTarBlock;
  std::ranges::fill(room.subspan(begin + size, formats::tar_padded(size) - size), std::byte{0});
  return {extension, begin, size, xxh3_64(room.subspan(begin, size))};
}

bool has_same_tar(io::OutputFiles& files, const std::string& path, const formats::ManifestShard& shard) {
  const std::optional<std::uint64_t> size = files.size_of(path);
  if (!size || (size == shard.bytes && xxh3_128(*files.open(path)) == shard.xxh3_128)) return size.has_value();
  throw Error(ErrorCode::conflict, At{path},
              "'{}' is not of this set, and a shard needs its name: move it out of the folder, then run this command "
              "again",
              path);
}

WriteResult write_shards(const WriteRequest& setup, const std::vector<std::size_t>& shards, io::OutputFiles& files,
                         Context& context) {
  WriterPool job(setup, files, context);
  try {
    return job.run(shards);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) job.warn_of_repeated_work();
    throw;
  }
}

}  // namespace shardkit::dataset
