#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.hpp"
#include "staging/stage_copier.hpp"

namespace shardkit::staging {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(100);

}  // namespace

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

}  // namespace shardkit::staging
