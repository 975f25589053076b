#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "io/output_files.hpp"

namespace shardkit::dataset {

/// The shards that convert --append adds to a finished set on a disk. A convert writes them, with a plan, records and a
/// manifest of their own, to the folder `.shardkit/append-<n>` of the set, where readers of the set do not see them.
/// Once they have a manifest, they are moved up into the set: raise_records(), raise_shards(), then the manifest of the
/// whole set is published, and end(). All of these steps may be repeated, also by several processes at once.
class Generation {
 public:
  /// The one behind plan number `last` of the set, which is in a finished set its last.
  Generation(io::OutputFiles& files, std::string set, std::uint64_t last);

  const std::string& folder() const { return folder_; }
  /// Whether it has a plan.
  bool is_begun() const { return files_.exists(plan_path()); }
  /// Whether a manifest lists its shards, and each of them is there or in the set already: they need only be moved up.
  bool is_complete() const;
  /// Whether it is a part of the set: its plan is one of the set's.
  bool has_ended() const { return files_.exists(ended_plan_path()); }

  /// Paths of the set's plans.
  std::vector<std::string> plans_of_set() const;
  formats::Manifest manifest_of_set() const;
  /// Where it begins: behind the last plan of the set.
  formats::PlanStart start() const;
  /// Throws Error{corrupt, not_found} for a shard of the set that is missing or has another size than its manifest
  /// says; with `recheck` also for other bytes.
  void require_shards_of_set(bool recheck) const;
  /// Throws Error{conflict} if the set was made with other options than those of `head`.
  void refuse_other_options(formats::PlanHead head) const;

  /// Creates the folder, and removes what a process that was killed left of the one before.
  void make_folder() const;
  /// That of its own shards.
  formats::Manifest manifest() const;
  /// The manifest of the set with its shards; that of the set if they are listed there. Throws Error{conflict} if the
  /// set is another one than when its plan was made.
  formats::Manifest whole_manifest() const;
  /// Moves up the indexes and records of its shards, which nobody reads without them.
  void raise_records() const;
  /// Moves up its shards: from now on those who list the tars of the set see them.
  void raise_shards() const;
  /// Moves up its plan, with which it has ended, and removes the folder.
  void end() const;
  /// Removes the folder with all that is in it.
  void discard() const;

 private:
  std::string plan_path() const;
  std::string ended_plan_path() const;
  void raise(const std::string& from, const std::string& to, bool tars) const;
  void move(const std::string& from, const std::string& to) const;

  io::OutputFiles& files_;
  std::string set_;
  std::uint64_t number_;  ///< of its plan in the set
  std::string folder_;
};

/// The manifest in a folder. Throws the errors of reading it.
formats::Manifest manifest_in(io::OutputFiles& files, const std::string& folder);

}  // namespace shardkit::dataset
