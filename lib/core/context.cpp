#include "core/context.hpp"

namespace shardkit {

void Progress::start(const char* name, std::uint64_t total_items, std::uint64_t total_bytes, const char* items_name) {
  constexpr auto relaxed = std::memory_order_relaxed;
  items.store(0, relaxed);
  bytes.store(0, relaxed);
  items_total.store(total_items, relaxed);
  bytes_total.store(total_bytes, relaxed);
  budget_seconds.store(0, relaxed);
  noun.store(items_name, relaxed);
  phase.store(name, relaxed);
  starts.fetch_add(1, relaxed);
}

void Progress::start_for(const char* name, double seconds, const char* items_name) {
  start(name, 0, 0, items_name);
  budget_seconds.store(seconds, std::memory_order_relaxed);
}

void Context::throw_if_stopped() const {
  if (stop_.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted before the work was complete");
}

void Context::warn(std::string code, std::string text) {
  const std::scoped_lock lock(mutex_);
  if (!scope_.empty()) text = fmt::format("set '{}': {}", scope_, text);
  if (!said_.insert(code + '\n' + text).second) return;
  warnings_.push_back({std::move(code), std::move(text)});
  if (log_ != nullptr) log_->warning(warnings_.back());
}

void Context::set_scope(const std::string& set) {
  const std::scoped_lock lock(mutex_);
  scope_ = set;
}

void Context::repeated(RepeatedRequest request) {
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  if (log_ == nullptr) return;
  if (held_) request.more = held_->more + 1;
  if (logged_at_ && now - *logged_at_ < std::chrono::seconds(1)) {
    held_ = std::move(request);
    return;
  }
  logged_at_ = now;
  held_.reset();
  log_->repeated(request);
}

void Context::flush_log() {
  const std::scoped_lock lock(mutex_);
  if (held_) log_->repeated(*held_);
  held_.reset();
}

std::vector<Finding> Context::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

}  // namespace shardkit
