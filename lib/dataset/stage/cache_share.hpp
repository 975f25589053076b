#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_target.hpp"
#include "system/clock.hpp"

/// What a stage does because its target is shared with others, and its disk with other sets: room and leases.
namespace shardkit::dataset {

/// A part of the options of stage.
struct CacheShareOptions {
  std::optional<std::uint64_t> limit;
  std::string cache;
  double lease = 86'400;  ///< seconds; 0 takes none
  std::string owner;      ///< empty: default_lease_owner()
  std::string purpose;

  void describe(FieldVisitor& v);
};

/// Throws Error{usage} for options that no stage into `target` can follow.
void check(const CacheShareOptions& options, const std::string& target);

/// One thread at a time.
class CacheShare {
 public:
  /// What is referred to outlives this object.
  CacheShare(io::FileSystem& files, staging::StageTarget& target, const CacheShareOptions& options,
             system::Clock& clock, Context& ctx);

  /// Of a target that holds all: takes the lease and marks it as used. False, with nothing done, when it is being
  /// evicted or replaced meanwhile, or when `still_holds` says no once it cannot be.
  bool keep(const std::function<bool()>& still_holds);

  /// Throws Error{no_space} when the limit, or the disk of the cache, is too small for the target with all of `wanted`
  /// and a manifest of so many bytes, whatever is evicted. Before join().
  void check_room(const staging::StagedSetId& set, const std::vector<staging::StageFile>& wanted,
                  std::uint64_t manifest) const;
  /// The same after join(), by evicting others where there is a cache. Then announces what the target will hold, so
  /// that others count it, and takes the lease.
  void take_room(const staging::StagedSetId& set, const std::vector<staging::StageFile>& wanted,
                 std::uint64_t manifest);

  /// What the target holds of another set, and what is to take its place.
  struct Replacement {
    const staging::StagedMarker& found;
    const staging::StagedSetId& asked;
    bool finished = true;
    bool is_update = false;  ///< the same files, as their source has them now
  };
  /// Throws Error{no_space} while another owner leases what is to give way; Error{conflict} for a finished copy that is
  /// no update, where no limit stands for leave to evict.
  void check_replace(const Replacement& replacement) const;

  /// Ends the lease, as what it was taken for will not come.
  void drop_lease() noexcept;

  /// Takes the lease, or renews it; nothing without one.
  void take_lease();

 private:
  bool keep_by_lease(const std::function<bool()>& still_holds);
  bool counts() const { return options_.limit || !options_.cache.empty(); }

  io::FileSystem& files_;
  staging::StageTarget& target_;
  const CacheShareOptions& options_;
  system::Clock& clock_;
  Context& ctx_;
  const std::string owner_;
};

}  // namespace shardkit::dataset
