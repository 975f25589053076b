#include "staging/file_copy.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace shardkit::staging {
namespace {

constexpr std::size_t kBlock = 1U << 20U;              // stays in the second-level cache between read and hash
constexpr std::uint64_t kWritebackStep = 8ULL << 20U;  // early, so that the closing sync finds little left to do

}  // namespace

FileCopy::FileCopy(StageFile file, std::unique_ptr<io::PatchFile> out, PartLog log, const CopySteps& steps)
    : file_(std::move(file)), steps_(steps), out_(std::move(out)), log_(std::move(log)) {
  have_ = log_.read(identity());
  const std::uint64_t there = out_->file().size();
  // Shorter than the log says: somebody else has been at it.
  if (const auto ranges = have_.ranges(); !ranges.empty() && ranges.back().end > there) have_.clear();
  if (have_.total() == 0) out_->resize(0);
  prepare();
  taken_ = have_;
  resumed_ = have_.total();
}

/// Room for the whole file, and for a large one the way past the page cache.
void FileCopy::prepare() {
  if (file_.object.size < steps_.large_bytes()) return;
  out_->reserve(file_.object.size);
  if (!steps_.keep_cached) out_->bypass_cache();
}

std::optional<ByteRange> FileCopy::claim(std::uint64_t longest) {
  const std::scoped_lock lock(mutex_);
  if (settling_ || outdated_) return std::nullopt;
  auto range = taken_.first_gap(file_.object.size);
  if (!range) {
    const bool is_whole = claims_ == 0;  // resumed, or empty: somebody has to settle it
    if (!is_whole) return std::nullopt;
    ++claims_;
    return ByteRange{};
  }
  if (!whole_only_) range->end = std::min(range->end, range->begin + longest);
  taken_.add(*range);
  ++claims_;
  return range;
}

void FileCopy::write(std::uint64_t offset, Bytes bytes) {
  if (outdated_) throw OutdatedBytes{};
  out_->write_at(offset, bytes);
  const std::uint64_t end = offset + bytes.size();
  const std::uint64_t step = end / kWritebackStep * kWritebackStep;
  if (step > offset && step >= kWritebackStep) out_->start_writeback(step - kWritebackStep, kWritebackStep);
  const std::scoped_lock lock(mutex_);
  if (hashed_ == offset && !catching_up_) {
    hash_.update(bytes);
    hashed_ = end;
  }
  have_.add({offset, end});
  unsaved_ += bytes.size();
}

bool FileCopy::release(ByteRange claim, std::uint64_t reached) {
  const std::scoped_lock lock(mutex_);
  --claims_;
  taken_.remove({std::max(reached, claim.begin), claim.end});
  if (claims_ > 0) return false;
  settling_ = outdated_ || have_.end_of_run(0) >= file_.object.size;
  return settling_;
}

void FileCopy::tend(const std::stop_token& stop) {
  catch_up(stop);
  bool due = false;
  {
    const std::scoped_lock lock(mutex_);
    due = unsaved_ >= steps_.save_bytes && have_.total() < file_.object.size;
  }
  if (due) save();
}

void FileCopy::forget() {
  log_.remove();
  out_->resize(0);
  prepare();
  const std::scoped_lock lock(mutex_);
  have_.clear();
  taken_.clear();
  hash_ = Xxh3Stream();
  hashed_ = 0;
  unsaved_ = 0;
  resumed_ = 0;
  outdated_ = false;
  settling_ = false;
}

void FileCopy::start_over(const io::ObjectInfo& object) {
  ++restarts_;
  file_.object = object;
  forget();
}

void FileCopy::start_over_as_whole() {
  whole_only_ = true;
  forget();
}

void FileCopy::rewind() {
  const std::scoped_lock lock(mutex_);
  have_.clear();
  hash_ = Xxh3Stream();
  hashed_ = 0;
}

Hash128 FileCopy::finish_hash(const std::stop_token& stop) {
  hash_stored({hashed_, file_.object.size}, stop);
  return hash_.digest();
}

void FileCopy::close() {
  if (!steps_.keep_cached) out_->drop_cached(file_.object.size);
  log_.remove();
}

/// Reads bytes back that came out of order, into the hash. Whoever calls it is the only one to touch the hash.
void FileCopy::hash_stored(ByteRange range, const std::stop_token& stop) {
  std::vector<std::byte> block(std::min<std::uint64_t>(kBlock, range.size()));
  while (!range.empty()) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while copying");
    const std::size_t want = std::min<std::uint64_t>(block.size(), range.size());
    const std::size_t got = out_->file().read_at(range.begin, std::span(block).first(want));
    if (got == 0) return;  // shorter than it was: the hash will tell
    hash_.update(Bytes(block).first(got));
    range.begin += got;
  }
}

/// Takes into the hash what lies ready behind the bytes it is of, unless another is at it. Within a claim, so that
/// nobody settles the file meanwhile.
void FileCopy::catch_up(const std::stop_token& stop) {
  while (true) {
    ByteRange ready;
    {
      const std::scoped_lock lock(mutex_);
      ready = {hashed_, have_.end_of_run(hashed_)};
      if (catching_up_ || ready.empty()) return;
      catching_up_ = true;
    }
    hash_stored(ready, stop);
    const std::scoped_lock lock(mutex_);
    hashed_ = ready.end;
    catching_up_ = false;
  }
}

void FileCopy::save() {
  const std::unique_lock alone(save_mutex_, std::try_to_lock);
  if (!alone.owns_lock()) return;
  RangeSet durable;
  std::uint64_t hashed = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (outdated_ || whole_only_) return;
    durable = have_;
    hashed = hashed_;
    unsaved_ = 0;
  }
  out_->sync();
  log_.record(identity(), durable);
  if (!steps_.keep_cached) out_->drop_cached(hashed);
}

}  // namespace shardkit::staging
