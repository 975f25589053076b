#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "staging/lease.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_target.hpp"
#include "system/clock.hpp"

/// The share of a stage in a node cache: space, and leases that protect its target from other stages.
namespace shardkit::dataset {

/// A part of the options of stage.
struct CacheShareOptions {
  std::optional<std::uint64_t> limit;
  std::string cache;
  double lease = 86'400;  ///< seconds; 0 takes none
  std::string lease_id;   ///< empty: the id of this job, else a random one
  double wait = 0;        ///< seconds

  void describe(FieldList& v);
};

/// Throws Error{usage} for options that do not fit a stage into `target`.
void check(const CacheShareOptions& options, const std::string& target);

/// One thread at a time.
class CacheReservation {
 public:
  /// The references outlive this object.
  CacheReservation(io::FileSystem& files, staging::StageTarget& target, const CacheShareOptions& options,
                   Context& context);

  /// For a complete target: takes the lease, with which it counts as a hit, and marks it as used. False, with nothing
  /// done, if it is meanwhile being evicted or replaced, or if `still_holds` returns false.
  bool keep(const std::function<bool()>& still_holds);

  /// Repeats `attempt` as long as it throws Error{no_space} and the time to wait has not passed. It is called while
  /// this process has not joined the target, and every few seconds. What a failed one has created there is removed.
  void await_space(const std::function<void()>& attempt);

  /// Throws Error{no_space} if the target exceeds the limit. `need`: bytes of the target at the end.
  void check_limit(std::uint64_t need) const;
  /// Throws Error{no_space} if it does not fit into the cache, even after all evictions: the bytes of the target at the
  /// end, and inodes for `new_files`. Before join().
  void check_space(std::uint64_t need, std::uint64_t new_files) const;
  /// The same after join(), with evictions if there is a cache. Then announces the bytes that the target will contain,
  /// so that others count them, and takes the lease of a known job. A repetition in the same job continues the copy.
  /// Under a random id none would, so that lease begins with the complete copy: if this process is killed, its space is
  /// free.
  void take_space(std::uint64_t need, std::uint64_t new_files);

  /// Throws Error{no_space} if another job leases the data to be replaced; Error{conflict} for a finished copy of
  /// another set, if no limit gives permission to evict. `is_update`: the same set after a change in its source.
  void check_replace(const staging::StageTarget::OtherSet& other, const staging::StagedSetId& asked,
                     bool is_update) const;
  /// The same, and reports the other set, which is removed next.
  void replace(const staging::StageTarget::OtherSet& other, const staging::StagedSetId& asked, bool is_update);

  /// The sets that were removed for this one: "'/cache/a' (1.2 GiB from 's3://data/a')".
  const std::vector<std::string>& evicted() const { return evicted_; }

  /// Ends the lease of an incomplete copy, so that others can evict what has arrived.
  void drop_lease() noexcept;

  /// Takes the lease, or renews it; nothing without one.
  void take_lease();
  /// The lease that this object took; empty without one.
  const std::optional<staging::Lease>& lease() const { return lease_; }

 private:
  void report_evicted(const std::string& folder, std::uint64_t bytes, const std::string& source);
  bool keep_by_lease(const std::function<bool()>& still_holds);

  io::FileSystem& files_;
  staging::StageTarget& target_;
  const CacheShareOptions& options_;
  Context& context_;
  const std::string job_id_;  ///< empty: this process is of no known job
  const std::string id_;      ///< of the lease
  std::optional<staging::Lease> lease_;
  std::vector<std::string> evicted_;
};

}  // namespace shardkit::dataset
