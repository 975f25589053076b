#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "net/store_source.hpp"

/// How long a benchmark waits for a store. Staging persists, as its job needs the data; who measures wants to know soon
/// that nobody is there.
namespace shardkit {

/// Limits what is asked before a store is measured: until found(), requests that nobody answers are made three times,
/// and none is repeated after the budget. Later each level of the measurement ends by itself. Thread-safe.
class StorePatience {
 public:
  /// The budget, in seconds, counts from here. `clock` outlives it.
  StorePatience(double budget, Clock& clock);

  /// Sets how `options` wait and repeat. What is opened with them asks this object, which has to outlive it.
  void apply(StoreOptions& options);
  /// Everything that is to be measured is known.
  void found() { finding_ = false; }

  bool may_retry(const RetryEvent& event) const;

 private:
  Clock& clock_;
  Seconds budget_;
  Seconds end_;
  std::atomic<bool> finding_{true};
};

/// `error`, which came while looking for what `operands` name, told with the address that the user gave and with what
/// to do. The same code.
Error unreachable(const Error& error, const std::vector<std::string>& operands);

}  // namespace shardkit
