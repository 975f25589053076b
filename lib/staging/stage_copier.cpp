#include "staging/stage_copier.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "io/publish.hpp"
#include "system/limits.hpp"

namespace shardkit::staging {
namespace {

constexpr std::uint64_t kMostGrowth = 4;
constexpr double kTolerableShare = 0.05;
constexpr int kEnough = 8;  // one slow response means nothing

}  // namespace

std::uint64_t RangeSize::bytes(std::uint64_t left, unsigned requests) const {
  const std::scoped_lock lock(mutex_);
  return std::clamp(left / std::max(1U, requests), start_, bytes_);
}

void RangeSize::took(double seconds_to_first_byte, double seconds) {
  const std::scoped_lock lock(mutex_);
  slow_starts_ = seconds_to_first_byte > seconds * kTolerableShare ? slow_starts_ + 1 : 0;
  if (slow_starts_ < kEnough) return;
  slow_starts_ = 0;
  bytes_ = std::min(bytes_ * 2, start_ * kMostGrowth);
}

void RangeSize::throttled() {
  const std::scoped_lock lock(mutex_);
  bytes_ = start_;
  slow_starts_ = 0;
}

namespace {

bool is_aligned(Bytes bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % io::AlignedBuffer::kAlignment == 0;
}

}  // namespace

void RangeWriter::begin(FileCopy& copy, std::uint64_t offset) {
  copy_ = &copy;
  gathered_ = 0;
  stored_ = offset;
}

void RangeWriter::take(Bytes bytes) {
  // Blocks of a file come whole and need no copy.
  while (gathered_ == 0 && bytes.size() >= kBlock && is_aligned(bytes)) {
    store(bytes.first(kBlock));
    bytes = bytes.subspan(kBlock);
  }
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), kBlock - gathered_);
    std::memcpy(buffer_.get(kBlock).data() + gathered_, bytes.data(), some);
    gathered_ += some;
    bytes = bytes.subspan(some);
    if (gathered_ == kBlock) flush();
  }
}

void RangeWriter::flush() {
  const std::size_t bytes = std::exchange(gathered_, 0);
  if (bytes > 0) store(buffer_.get(kBlock).first(bytes));
}

void RangeWriter::store(Bytes bytes) {
  copy_->write(stored_, bytes);
  stored_ += bytes.size();
}

namespace {

Error busy_error(const std::string& path) {
  return Error(
      ErrorCode::io,
      fmt::format("'{}' changed twice while being copied; run the same command again when no process writes to it",
                  path),
      path);
}

Error corrupt_error(const std::string& path, const std::string& what) {
  return Error(
      ErrorCode::corrupt,
      fmt::format("'{}' has wrong content, even after a second read: {}; {}", path, what, advice_for_source(path)),
      path);
}

}  // namespace

StageCopier::StageCopier(io::FileSystem& files, io::ObjectSource& source, StageTarget& target, CopyLimits limits,
                         Context& ctx)
    : files_(files),
      source_(source),
      target_(target),
      limits_(std::move(limits)),
      ctx_(ctx),
      placer_(files, target),
      small_files_({limits_.steps.large_bytes() - 1, std::min<std::size_t>(256, system::usable_descriptors() / 4)},
                   [this](const std::vector<CopiedFile>& batch) {
                     files_.sync_all(target_.contained().root());
                     placer_.put(batch);
                   }),
      workers_(limits_.start, limits_.maximum, ctx.stop_token()),
      range_size_(limits_.range_bytes) {}

void StageCopier::copy_all(const std::vector<StageFile>& wanted) {
  wanted_ = &wanted;
  if (limits_.throttled) limits_.throttled();  // earlier events do not count
  for (const StageFile& file : wanted) left_ += file.object.size;
  queue_ = std::make_unique<CopyQueue>(wanted.size(),
                                       CopyQueue::Calls{[this](std::size_t number) { return open((*wanted_)[number]); },
                                                        [this] { small_files_.flush(); }});
  try {
    workers_.run([this] { return worker(); });
  } catch (...) {
    keep_unfinished();
    throw;
  }
  ctx_.throw_if_stopped();
  small_files_.flush();
}

sync::ClimbingWorkers::Step StageCopier::worker() {
  return [this, last = std::shared_ptr<FileCopy>(),
          writer = std::make_shared<RangeWriter>()](const std::stop_token& stop) mutable {
    const auto work = queue_->next(std::move(last), range_size_.bytes(left_, workers_.level()), stop);
    if (!work) return false;
    fetch(*work, *writer, stop);
    last = work->copy;
    return true;
  };
}

CopyQueue::Opened StageCopier::open(const StageFile& file) {
  using As = CopyQueue::Opened::As;
  if (placer_.is_in_place(file, ctx_.stop_token())) {
    count_present(file);
    return {As::in_place, {}};
  }
  const std::string partial = target_.partial_path(file.object.name);
  auto out = files_.open_patch(partial);
  if (!out) {
    show_progress_elsewhere(file);
    return {As::elsewhere, {}};
  }
  target_.journal().refresh();
  if (placer_.is_in_place(file, ctx_.stop_token())) {  // another has finished it just now
    files_.remove(partial);
    count_present(file);
    return {As::in_place, {}};
  }
  auto copy = std::make_shared<FileCopy>(file, std::move(out), PartLog(files_, target_.part_log_path(file.object.name)),
                                         limits_.steps);
  ctx_.progress().bytes += copy->resumed_bytes() - forget_elsewhere(file);
  return {As::copy, std::move(copy)};
}

void StageCopier::count_present(const StageFile& file) {
  reused_ += file.object.size;
  ++files_reused_;
  left_ -= std::min<std::uint64_t>(left_, file.object.size);
  ctx_.progress().bytes += file.object.size - forget_elsewhere(file);
  ++ctx_.progress().items;
}

/// Shows the progress of another process while waiting for it, read from that process's part log.
void StageCopier::show_progress_elsewhere(const StageFile& file) {
  const PartLog log(files_, target_.part_log_path(file.object.name));
  const std::uint64_t there = log.read({file.object.name, file.pin(), file.object.size}).total();
  const std::scoped_lock lock(elsewhere_mutex_);
  ctx_.progress().bytes += there - std::exchange(elsewhere_[file.object.name], there);
}

/// The progress counted for a file that others were copying.
std::uint64_t StageCopier::forget_elsewhere(const StageFile& file) {
  const std::scoped_lock lock(elsewhere_mutex_);
  const auto node = elsewhere_.extract(file.object.name);
  return node ? node.mapped() : 0;
}

void StageCopier::fetch(const CopyQueue::Work& work, RangeWriter& writer, const std::stop_token& stop) {
  FileCopy& copy = *work.copy;
  writer.begin(copy, work.range.begin);
  try {
    if (!work.range.empty() && fetch_range(copy, work.range, writer, stop) != io::Fetched::whole) copy.mark_outdated();
    copy.tend(stop);
  } catch (const OutdatedBytes&) {
  } catch (...) {
    copy.release(work.range, writer.stored());
    throw;
  }
  if (copy.release(work.range, writer.stored())) settle(work.copy, stop);
}

io::Fetched StageCopier::fetch_range(FileCopy& copy, ByteRange range, RangeWriter& writer,
                                     const std::stop_token& stop) {
  const BodyWriter write = [&](Bytes bytes) {
    came(bytes.size(), stop);
    const std::uint64_t before = writer.stored();
    writer.take(bytes);
    // Not only at its end: of a slow source all ranges that are under way may end minutes from now.
    if (writer.stored() != before) copy.tend(stop);
  };
  const io::ObjectInfo& object = copy.file().object;
  io::Fetched fetched = io::Fetched::whole;
  if (copy.whole_only()) {
    const auto start = [&] {
      copy.rewind();
      writer.begin(copy, 0);
      return write;
    };
    fetched = source_.fetch_whole(object, start, stop);
  } else {
    fetched = fetch_part(copy, range, write, stop);
  }
  if (fetched == io::Fetched::no_ranges) copy.mark_rangeless();
  if (fetched == io::Fetched::whole) writer.flush();
  return fetched;
}

io::Fetched StageCopier::fetch_part(FileCopy& copy, ByteRange range, const BodyWriter& write,
                                    const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::optional<Clock::time_point> first;
  const auto timed = [&](Bytes bytes) {
    if (!first) first = Clock::now();
    write(bytes);
  };
  const io::Fetched fetched = source_.fetch(copy.file().object, range.begin, range.size(), timed, stop);
  const auto seconds = [&](Clock::time_point end) { return std::chrono::duration<double>(end - start).count(); };
  if (first && range.size() >= limits_.range_bytes) range_size_.took(seconds(*first), seconds(Clock::now()));
  return fetched;
}

void StageCopier::came(std::uint64_t bytes, const std::stop_token& stop) {
  if (limits_.pace) limits_.pace(bytes, stop);
  if (limits_.throttled && limits_.throttled()) {
    workers_.throttled();
    range_size_.throttled();
  }
  fetched_ += bytes;
  left_ -= std::min<std::uint64_t>(left_, bytes);
  ctx_.progress().bytes += bytes;
  workers_.moved(bytes);
}

/// Ends a file that is whole, or starts it again if its bytes are wrong or outdated.
void StageCopier::settle(const std::shared_ptr<FileCopy>& copy, const std::stop_token& stop) {
  const StageFile& file = copy->file();
  const std::string path = source_.address_of(file.object.name);
  if (copy->rangeless() && !copy->whole_only()) {
    copy->start_over_as_whole();
    return queue_->wake();
  }
  if (copy->outdated()) return start_over(copy, busy_error(path));
  const Hash128 hash = copy->finish_hash(stop);
  if (const auto wrong = mismatch(file, target_.partial_path(file.object.name), hash)) {
    return start_over(copy, corrupt_error(path, *wrong));
  }
  reused_ += copy->resumed_bytes();
  if (small_files_.takes(file.object.size)) {
    small_files_.add({copy, hash});
  } else {
    copy->sync();
    placer_.put({{copy, hash}});
  }
  ++ctx_.progress().items;
  queue_->finished(copy);
}

/// Starts a file again with the object as it is now; the second time it throws `reason`.
void StageCopier::start_over(const std::shared_ptr<FileCopy>& copy, const Error& reason) {
  const StageFile& file = copy->file();
  if (copy->restarts() > 0) {
    queue_->finished(copy);
    copy->close();
    files_.remove(target_.partial_path(file.object.name));
    throw Error(reason);
  }
  const io::ObjectInfo now = find_at_source(source_, file);
  ++refetched_;
  if (!file.hash) {
    const std::scoped_lock lock(changed_mutex_);
    changed_.push_back(now);
  }
  copy->start_over(file.hash ? file.object : now);
  queue_->wake();
}

/// Data received before a failure or a stop is kept if possible; the user sees only the failure.
void StageCopier::keep_unfinished() noexcept {
  try {
    small_files_.flush();
    for (const auto& copy : queue_->unfinished()) {
      if (!small_files_.takes(copy->file().object.size)) copy->save();
    }
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace shardkit::staging
