#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "catalog/object_set.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "net/store_source.hpp"

/// What of a store is measured.
///
/// How long a benchmark waits for a store. Staging persists, as its job needs the data; who measures wants to know soon
/// that nobody is there.
namespace shardkit::bench {

/// The objects of `set` that hold data, with their sizes: those that were named; of a folder those of its
/// manifest, else the shards at any depth, and where there are none all files but hidden ones. Throws Error{not_found}
/// where there are none or they are empty, and what the source throws.
std::vector<io::ObjectInfo> data_objects(const catalog::ObjectSet& set, Context& context);

/// Limits what is asked before a store is measured: until found(), requests that nobody answers are made three times,
/// and none is repeated after the budget. Later each level of the measurement ends by itself. Thread-safe.
class StorePatience {
 public:
  /// The budget, in seconds, counts from here. `clock` outlives it.
  StorePatience(double budget, system::Clock& clock);

  /// Sets how `options` wait and repeat. What is opened with them asks this object, which has to outlive it.
  void apply(net::StoreOptions& options);
  /// Everything that is to be measured is known.
  void found() { finding_ = false; }

  bool may_retry(const net::RetryEvent& event) const;

 private:
  system::Clock& clock_;
  system::Seconds budget_;
  system::Seconds end_;
  std::atomic<bool> finding_{true};
};

/// `error`, which came while looking for what `operands` name, told with the address that the user gave and with what
/// to do. The same code.
Error unreachable(const Error& error, const std::vector<std::string>& operands);

}  // namespace shardkit::bench
