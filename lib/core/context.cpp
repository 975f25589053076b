#include "core/context.hpp"

#include <utility>

#include "core/error.hpp"

namespace shardkit {

void Progress::start(const char* name, std::uint64_t total_items, std::uint64_t total_bytes) {
  items.store(0, std::memory_order_relaxed);
  bytes.store(0, std::memory_order_relaxed);
  items_total.store(total_items, std::memory_order_relaxed);
  bytes_total.store(total_bytes, std::memory_order_relaxed);
  phase.store(name, std::memory_order_relaxed);
}

void Context::throw_if_stopped() const {
  if (stop_.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted before the work was complete");
}

void Context::warn(std::string code, std::string text) {
  const std::scoped_lock lock(mutex_);
  if (!said_.insert(code + '\n' + text).second) return;
  warnings_.push_back({std::move(code), std::move(text)});
}

std::vector<Warning> Context::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

}  // namespace shardkit
