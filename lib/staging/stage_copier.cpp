#include "staging/stage_copier.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "formats/shard_hash.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::staging {
namespace {

Error busy_error(const std::string& path) {
  return Error(ErrorCode::io, At{path},
               "'{}' changed twice while being copied; run the same command again when no process writes to it", path);
}

/// After two reads with wrong content: of a damaged source both have the same bytes.
Error corrupt_error(const std::string& path, const std::string& what, bool reads_differ) {
  if (reads_differ) {
    return Error(
        ErrorCode::io, At{path},
        "'{}' has wrong content, and other content in a second read: {}; something changes the bytes: a writer of "
        "the source, the network, a proxy, or the memory of this machine. Correct that, then run the same command "
        "again",
        path, what);
  }
  return Error(ErrorCode::corrupt, At{path}, "'{}' has wrong content, even after a second read: {}; {}", path, what,
               advice_for_source(path));
}

/// Distinguishes a file that was removed after it was listed from one that a manifest lists and that is missing.
io::ObjectInfo find_again(io::ObjectSource& source, const FileCopy& copy) {
  const StageFile& file = copy.file();
  try {
    return find_at_source(source, file);
  } catch (const Error& error) {
    const bool existed = !file.hash || copy.stored_bytes() > 0;
    if (error.code() != ErrorCode::not_found || !existed) throw;
    throw Error(ErrorCode::io, At{source.address_of(file.object.name)},
                "'{}' was removed from the source after it was listed; run the same command again to stage "
                "the files that exist then",
                source.address_of(file.object.name));
  }
}

constexpr auto kLookAgain = std::chrono::milliseconds(100);

constexpr std::uint64_t kBatchBytes = 16ULL << 20U;

constexpr std::uint64_t kMostGrowth = 4;
constexpr double kTolerableShare = 0.05;
constexpr int kEnough = 8;  // one slow response means nothing

}  // namespace

StageCopier::StageCopier(io::FileSystem& files, io::ObjectSource& source, Peers& peers, StageTarget& target,
                         CopyLimits limits, Context& context)
    : files_(files),
      source_(source),
      peers_(peers),
      target_(target),
      limits_(std::move(limits)),
      context_(context),
      gate_(context.stop_token()),
      small_files_(std::min<std::size_t>(256, system::usable_descriptors() / 4),
                   [this](const std::vector<CopiedFile>& batch) { commit(batch); }),
      workers_(limits_.start, limits_.maximum, context.stop_token()),
      climber_(limits_.start, limits_.maximum),
      range_size_(limits_.range_bytes) {}

CopyResult StageCopier::copy_all(const std::vector<StageFile>& wanted) {
  journal_before_ = target_.journal().state().files;
  if (limits_.throttled) limits_.throttled();  // earlier events do not count
  for (const StageFile& file : wanted) left_ += file.object.size;
  queue_ = std::make_unique<CopyQueue>(
      wanted.size(),
      CopyQueue::Calls{[&](std::size_t number) { return open(wanted[number]); }, [this] { small_files_.flush(); }});
  try {
    workers_.run([this] { return worker(); });
  } catch (...) {
    keep_unfinished();
    throw;
  }
  context_.throw_if_stopped();
  small_files_.flush();
  result_.bytes_fetched = fetched_;
  return std::move(result_);
}

sync::WorkerPool::Step StageCopier::worker() {
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
  if (target_.is_in_place(file, context_.stop_token())) {
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
  if (target_.is_in_place(file, context_.stop_token())) {  // another has finished it just now
    files_.remove(partial);
    count_present(file);
    return {As::in_place, {}};
  }
  auto copy = std::make_shared<FileCopy>(file, std::move(out), PartLog(files_, target_.part_log_path(file.object.name)),
                                         limits_.steps, gate_);
  context_.progress().bytes += copy->resumed_bytes() - forget_elsewhere(file);
  return {As::copy, std::move(copy)};
}

void StageCopier::count_present(const StageFile& file) {
  const auto staged = target_.journal().find(file.object.name);
  const bool is_new = staged && !staged->found && !journal_before_.contains(file.object.name);
  left_ -= std::min<std::uint64_t>(left_, file.object.size);
  context_.progress().bytes += file.object.size - forget_elsewhere(file);
  ++context_.progress().items;
  const std::scoped_lock lock(mutex_);
  result_.bytes_reused += file.object.size;
  ++(is_new ? result_.files_by_others : result_.files_reused);
}

/// Shows the progress of another process while waiting for it, read from that process's part log.
void StageCopier::show_progress_elsewhere(const StageFile& file) {
  const std::uint64_t there = target_.partial_bytes(file);
  const std::scoped_lock lock(mutex_);
  context_.progress().bytes += there - std::exchange(elsewhere_[file.object.name], there);
}

/// The progress counted for a file that others were copying.
std::uint64_t StageCopier::forget_elsewhere(const StageFile& file) {
  const std::scoped_lock lock(mutex_);
  const auto node = elsewhere_.extract(file.object.name);
  return node ? node.mapped() : 0;
}

void StageCopier::fetch(const CopyQueue::Work& work, RangeWriter& writer, const std::stop_token& stop) {
  FileCopy& copy = *work.copy;
  writer.begin(copy, work.range.begin);
  try {
    if (!work.range.empty() && fetch_range(copy, work.range, writer, stop) != io::Fetched::whole) copy.mark_outdated();
    copy.hash_and_save(stop);
  } catch (const OutdatedBytes&) {
  } catch (const Error& error) {
    if (!leave_out(copy, error)) {
      copy.release(work.range, writer.stored());
      throw;
    }
  } catch (...) {
    copy.release(work.range, writer.stored());
    throw;
  }
  if (copy.release(work.range, writer.stored())) settle(work.copy, stop);
}

io::Fetched StageCopier::fetch_range(FileCopy& copy, ByteRange range, RangeWriter& writer,
                                     const std::stop_token& stop) {
  const BodyWriter write = [&](Bytes bytes) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while copying");
    came(bytes.size(), stop);
    const std::uint64_t before = writer.stored();
    writer.take(bytes);
    // Not only at its end: of a slow source all ranges that are under way may end minutes from now.
    if (writer.stored() == before) return;
    copy.hash_and_save(stop);
    small_files_.flush(limits_.steps.save_every);
  };
  const io::ObjectInfo& object = copy.file().object;
  io::Fetched fetched = io::Fetched::whole;
  if (copy.whole_only()) {
    const auto start = [&] {
      forget_progress(copy);
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
  const io::Fetched fetched = peers_.fetch(source_, copy.file(), range, timed, stop);
  const auto seconds = [&](Clock::time_point end) { return std::chrono::duration<double>(end - start).count(); };
  if (first && range.size() >= limits_.range_bytes) range_size_.took(seconds(*first), seconds(Clock::now()));
  return fetched;
}

void StageCopier::came(std::uint64_t bytes, const std::stop_token& stop) {
  if (limits_.pace) limits_.pace(bytes, stop);
  if (limits_.throttled && limits_.throttled()) {
    climber_.throttled();
    range_size_.throttled();
  }
  fetched_ += bytes;
  left_ -= std::min<std::uint64_t>(left_, bytes);
  context_.progress().bytes += bytes;
  climber_.moved(bytes, workers_);
}

/// Bytes that are fetched again do not count as copied.
void StageCopier::forget_progress(const FileCopy& copy) {
  const std::uint64_t bytes = copy.stored_bytes();
  context_.progress().bytes -= bytes;
  left_ += bytes;
}

/// Whether the others should be copied without this file: for a failure of the source that is not a failure of all of
/// it.
bool StageCopier::leave_out(FileCopy& copy, const Error& error) {
  constexpr unsigned kMostUnreachable = 10;
  const ErrorCode code = error.code();
  const bool is_of_source = !error.path().starts_with(target_.folder() + "/");
  const bool may_pass = code == ErrorCode::network || code == ErrorCode::io;
  if (!is_of_source || !(may_pass || is_bad_file(code))) return false;
  const std::scoped_lock lock(mutex_);
  const std::uint64_t before = std::exchange(fetched_at_failure_, fetched_);
  unreachable_ = !may_pass ? 0 : fetched_ == before ? unreachable_ + 1 : 1;
  if (unreachable_ >= kMostUnreachable) return false;
  copy.mark_outdated();
  result_.failures.try_emplace(copy.file().object.name, error);
  return true;
}

bool StageCopier::is_left_out(const FileCopy& copy) const {
  const std::scoped_lock lock(mutex_);
  return result_.failures.contains(copy.file().object.name);
}

void StageCopier::settle(const std::shared_ptr<FileCopy>& copy, const std::stop_token& stop) {
  if (is_left_out(*copy)) return queue_->finished(copy);
  try {
    finish(copy, stop);
  } catch (const Error& error) {
    if (!leave_out(*copy, error)) throw;
    queue_->finished(copy);
  }
}

/// Ends a file that is whole, or starts it again if its bytes are wrong or outdated.
void StageCopier::finish(const std::shared_ptr<FileCopy>& copy, const std::stop_token& stop) {
  const StageFile& file = copy->file();
  const std::string path = source_.address_of(file.object.name);
  if (copy->rangeless() && !copy->whole_only()) {
    forget_progress(*copy);
    copy->start_over_as_whole();
    return queue_->wake();
  }
  if (copy->outdated()) return start_over(copy, busy_error(path));
  std::optional<Hash128> hash;
  try {
    hash = copy->finish_hash(stop);
  } catch (const WrongPart& wrong) {
    const Error reason = corrupt_error(
        path, fmt::format("bytes {} to {} differ from the manifest", wrong.range.begin, wrong.range.end - 1),
        wrong.reads_differ || copy->differs_from_first_read(wrong.hash));
    if (!copy->whole_only()) give_up(copy, reason);
    return start_over(copy, reason);
  }
  if (!hash) return queue_->wake();
  auto wrong = mismatch(file, target_.partial_path(file.object.name), *hash);
  if (!wrong) wrong = copy->fault_by_store();
  if (wrong) return start_over(copy, corrupt_error(path, *wrong, copy->differs_from_first_read(*hash)));
  const unsigned parts = copy->parts_refetched();
  if (parts > 0) context_.repeated({path, format_count(parts, "part") + " had wrong bytes", 1, 2, 0, false, 0});
  {
    const std::scoped_lock lock(mutex_);
    result_.refetched += parts;
    result_.bytes_reused += copy->resumed_bytes();
  }
  if (file.object.size < limits_.steps.large_bytes()) {
    small_files_.add({copy, *hash});
  } else {
    gate_.sync([&] { copy->sync(); });
    target_.publish({{copy, *hash}});
  }
  ++context_.progress().items;
  queue_->finished(copy);
}

void StageCopier::give_up(const std::shared_ptr<FileCopy>& copy, const Error& reason) {
  queue_->finished(copy);
  copy->close();
  files_.remove(target_.partial_path(copy->file().object.name));
  throw Error(reason);
}

/// Starts a file again with the object as it is now; the second time it throws `reason`.
void StageCopier::start_over(const std::shared_ptr<FileCopy>& copy, const Error& reason) {
  const StageFile& file = copy->file();
  if (copy->restarts() > 0) give_up(copy, reason);
  source_.bypass_caches(file.object.name);  // one may have other bytes than the origin
  io::ObjectInfo now = find_again(source_, *copy);
  if (copy->outdated() && !file.hash && io::is_version_random(source_, now)) now.version.clear();
  const char* why = copy->outdated() ? "it changed while being copied" : "it has wrong bytes";
  context_.repeated({source_.address_of(file.object.name), why, 1, 2, 0, false, 0});
  {
    const std::scoped_lock lock(mutex_);
    ++result_.refetched;
    if (!file.hash) result_.changed.push_back(now);
  }
  forget_progress(*copy);
  copy->start_over(file.hash ? file.object : now);
  queue_->wake();
}

/// One batch at a time. Each file is synced: a sync of the file system would wait for the writes of others.
void StageCopier::commit(const std::vector<CopiedFile>& batch) {
  constexpr unsigned kSyncsAtOnce = 8;  // which file systems do together
  gate_.sync([&] {
    sync::for_each_index(batch.size(), kSyncsAtOnce, context_.stop_token(),
                         [&](std::size_t at, std::size_t) { batch[at].copy->sync(); });
  });
  target_.publish(batch);
}

/// Data received before a failure is kept if possible; the user sees only the failure. After a stop there is no time.
void StageCopier::keep_unfinished() noexcept {
  try {
    if (context_.stop_token().stop_requested()) return;
    small_files_.flush();
    for (const auto& copy : queue_->unfinished()) copy->save();
  } catch (...) {
    return;
  }
}

std::optional<CopyQueue::Work> CopyQueue::next(std::shared_ptr<FileCopy> last, std::uint64_t longest,
                                               const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while copying");
    const std::uint64_t seen = changes_;
    if (last) {
      if (const auto range = last->claim(longest)) return Work{std::move(last), *range};
    }
    if (const auto number = take_unopened()) {
      last = open_one(*number);
      continue;
    }
    if (auto work = help(longest)) return work;
    last.reset();
    std::unique_lock lock(mutex_);
    if (open_.empty() && opening_ == 0 && elsewhere_.empty()) return std::nullopt;
    if (look_elsewhere(lock)) continue;
    changed_.wait_for(lock, stop, kLookAgain, [&] { return changes_ != seen; });
  }
}

std::optional<std::size_t> CopyQueue::take_unopened() {
  const std::scoped_lock lock(mutex_);
  if (next_ == files_) return std::nullopt;
  ++opening_;
  return next_++;
}

/// The copy of a file that is counted in `opening_`; null when there is nothing for us to do, or not now.
std::shared_ptr<FileCopy> CopyQueue::open_one(std::size_t number) {
  Opened opened = calls_.open(number);
  const std::scoped_lock lock(mutex_);
  --opening_;
  if (opened.as == Opened::As::elsewhere) elsewhere_.push_back(number);
  if (opened.as == Opened::As::copy) open_.push_back(opened.copy);
  note_change();
  return opened.copy;
}

std::optional<CopyQueue::Work> CopyQueue::help(std::uint64_t longest) {
  const std::scoped_lock lock(mutex_);
  for (const auto& copy : open_) {
    if (const auto range = copy->claim(longest)) return Work{copy, *range};
  }
  return std::nullopt;
}

/// Tries all files that others had, once. False when it is not the time. Called with the lock held.
bool CopyQueue::look_elsewhere(std::unique_lock<std::mutex>& lock) {
  if (elsewhere_.empty() || looking_elsewhere_) return false;
  looking_elsewhere_ = true;
  const std::vector<std::size_t> numbers = std::exchange(elsewhere_, {});
  opening_ += numbers.size();
  lock.unlock();
  calls_.before_wait();
  bool found = false;
  for (const std::size_t number : numbers) found = open_one(number) != nullptr || found;
  lock.lock();
  looking_elsewhere_ = false;
  return found || elsewhere_.size() < numbers.size();
}

void CopyQueue::finished(const std::shared_ptr<FileCopy>& copy) {
  const std::scoped_lock lock(mutex_);
  std::erase(open_, copy);
  note_change();
}

void CopyQueue::wake() {
  const std::scoped_lock lock(mutex_);
  note_change();
}

/// Called with the lock held.
void CopyQueue::note_change() {
  ++changes_;
  changed_.notify_all();
}

std::vector<std::shared_ptr<FileCopy>> CopyQueue::unfinished() {
  const std::scoped_lock lock(mutex_);
  return open_;
}

void SmallFiles::add(CopiedFile file) {
  std::vector<CopiedFile> full;
  {
    const std::scoped_lock lock(mutex_);
    if (batch_.empty()) since_ = std::chrono::steady_clock::now();
    bytes_ += file.copy->file().object.size;
    batch_.push_back(std::move(file));
    if (bytes_ < kBatchBytes && batch_.size() < most_files_) return;
    full.swap(batch_);
    bytes_ = 0;
  }
  commit_(full);
}

void SmallFiles::flush(std::chrono::milliseconds age) {
  std::vector<CopiedFile> last_batch;
  {
    const std::scoped_lock lock(mutex_);
    if (std::chrono::steady_clock::now() - since_ < age) return;
    last_batch.swap(batch_);
    bytes_ = 0;
  }
  if (!last_batch.empty()) commit_(last_batch);
}

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

void RangeWriter::begin(FileCopy& copy, std::uint64_t offset) {
  copy_ = &copy;
  blocks_.begin(offset);
  whole_part_ = false;
  stored_at_ = std::chrono::steady_clock::now();
}

void RangeWriter::take(Bytes bytes) {
  blocks_.write(bytes);
  if (std::chrono::steady_clock::now() - stored_at_ >= copy_->save_every() / 2) blocks_.flush_pages();
}

void RangeWriter::store(std::uint64_t offset, Bytes block) {
  copy_->write(offset, block);
  if (copy_->has_parts()) hash_parts(offset, block);
  stored_at_ = std::chrono::steady_clock::now();
}

void RangeWriter::hash_parts(std::uint64_t offset, Bytes bytes) {
  const std::uint64_t file_bytes = copy_->file().object.size;
  while (!bytes.empty()) {
    const std::uint64_t in_part = offset % formats::kPartBytes;
    if (in_part == 0) {
      part_.reset();
      whole_part_ = true;
    }
    const Bytes some = bytes.first(std::min<std::uint64_t>(bytes.size(), formats::kPartBytes - in_part));
    part_.update(some);
    bytes = bytes.subspan(some.size());
    offset += some.size();
    const bool is_end = offset % formats::kPartBytes == 0 || offset == file_bytes;
    if (is_end && whole_part_) copy_->compare_part((offset - 1) / formats::kPartBytes, part_.digest());
  }
}

}  // namespace shardkit::staging
