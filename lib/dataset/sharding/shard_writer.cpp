#include "dataset/sharding/shard_writer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "dataset/indexes/known_shard.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::dataset {
namespace {

/// Capacities are multiples of this, so that a spare fits the next request more often.
constexpr std::size_t kGrain = 128U * 1024U;

}  // namespace

std::optional<Buffer> BufferPool::take(std::size_t size, const std::stop_token& stop) {
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
  return Buffer{std::make_unique_for_overwrite<std::byte[]>(capacity), capacity};
}

void BufferPool::give_back(Buffer buffer) {
  const std::scoped_lock lock(mutex_);
  lent_ -= buffer.capacity;
  if (lent_ + spare_ + buffer.capacity <= budget_) {
    spare_ += buffer.capacity;
    spares_.push_back(std::move(buffer));
  }
  changed_.notify_all();
}

namespace {

/// Dirty pages are sent to disk in steps of this, so that the sync at the end finds little left to do.
constexpr std::uint64_t kWritebackStep = 16U * 1024U * 1024U;

}  // namespace

ShardWriter::ShardWriter(io::FileSystem& files, const std::string& folder, const std::string& shard,
                         std::string_view plan_hash, BufferPool& pool, bool md5)
    : files_(files),
      folder_(folder),
      pool_(pool),
      tar_(files, io::join_path(folder, shard)),
      index_file_(files, io::join_path(folder, formats::shard_index_path(shard))),
      index_(index_file_, shard, plan_hash) {
  if (md5) md5_.emplace();
}

bool ShardWriter::submit(std::uint64_t number, Chunk chunk) {
  std::unique_lock lock(mutex_);
  waiting_.emplace(number, std::move(chunk));
  if (writing_) return false;  // the thread that writes will find it
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    Chunk current = std::move(waiting_.extract(waiting_.begin()).mapped());
    ++next_;
    writing_ = true;
    lock.unlock();
    write(current);
    if (current.last) {
      finish();
      return true;
    }
    lock.lock();
    writing_ = false;
  }
  return false;
}

void ShardWriter::write(Chunk& chunk) {
  const Bytes bytes = chunk.buffer.bytes().first(chunk.used);
  hash_.update(bytes);
  if (md5_) md5_->update(bytes);
  tar_.write(bytes);
  for (auto& entry : chunk.entries) {
    if (auto* sample = std::get_if<formats::IndexSample>(&entry)) {
      for (formats::IndexMember& member : sample->members) member.offset += offset_;
      index_.add(*sample);
    } else {
      index_.add(std::get<formats::IndexSkip>(entry));
    }
  }
  offset_ += chunk.used;
  pool_.give_back(std::move(chunk.buffer));
  if (offset_ - written_back_ >= kWritebackStep) tar_.file().start_writeback(written_back_ = offset_);
}

void ShardWriter::finish() {
  constexpr std::array<std::byte, formats::kTarEnd> end{};
  hash_.update(end);
  if (md5_) md5_->update(end);
  tar_.write(end);
  summary_ = index_.finish(offset_ + formats::kTarEnd, hash_.digest());
}

void ShardWriter::publish() {
  index_file_.commit();
  if (summary_.samples == 0) return;
  if (md5_)
    keep_md5(files_, folder_, {summary_.shard, summary_.samples, summary_.bytes, summary_.xxh3_128}, md5_->finish());
  tar_.commit();
}

}  // namespace shardkit::dataset
