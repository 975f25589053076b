#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/hash.hpp"
#include "dataset/indexes/reader_indexes.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "io/output_files.hpp"

namespace shardkit::dataset {

/// Makes the indexes of other readers of shards in a folder.
using MakeIndexes =
    std::function<SetIndexes(const std::string& folder, const std::vector<formats::ManifestShard>& shards)>;

/// The shards that convert --append adds to a finished set on a disk. A convert writes them, with a plan, records and a
/// manifest of their own, to the folder `.shardkit/append-<n>` of the set, where readers of the set do not see them.
/// With their manifest they are complete, and end() moves them up into the set.
class Generation {
 public:
  /// The one behind plan number `last` of the set, which is in a finished set its last.
  Generation(io::OutputFiles& files, std::string set, std::uint64_t last);

  const std::string& folder() const { return folder_; }
  /// Whether it has a plan.
  bool is_begun() const { return files_.exists(plan_path()); }
  /// Whether its plan is one of the set's: then it is a part of the set.
  bool has_ended() const { return files_.exists(ended_plan_path()); }

  std::vector<std::string> plans_of_set() const;
  formats::Manifest manifest_of_set() const;
  /// Where its plan begins, which will have `head`. Throws Error{conflict} if the set was made with other options, with
  /// `recheck` also Error{corrupt} if a shard of the set has other bytes than its manifest says.
  formats::PlanStart start(formats::PlanHead head, bool recheck) const;

  /// Creates the folder.
  void make_folder() const;
  /// Moves a complete one into the set, publishes the manifest of the whole set with its indexes, and removes the
  /// folder; returns the path of the manifest. May be repeated after an interruption, and done by several processes at
  /// once. Calls `check` before the first tar has its new place. Throws Error{conflict} for a tar of others at that
  /// place. Readers of the manifest see the old set or the new one; those who list tars see new ones between their
  /// moves and that of the manifest: what takes time comes before.
  std::string end(const MakeIndexes& make_indexes, const std::function<void()>& check, Context& context) const;
  /// Removes the folder with all that is in it.
  void discard() const;

 private:
  std::string plan_path() const;
  std::string ended_plan_path() const;
  formats::Manifest whole_manifest(const formats::Manifest& added, const formats::PlanHead& head) const;
  void raise(const std::string& from, const std::string& to, const std::string& prefix, bool tars) const;
  void move(const std::string& from, const std::string& to) const;

  io::OutputFiles& files_;
  std::string set_;
  std::uint64_t number_;  ///< of its plan in the set
  std::string folder_;
};

/// The manifest of a set with the shards of the plan behind it, which has `head`.
formats::Manifest add_generation(formats::Manifest set, const formats::Manifest& added, const formats::PlanHead& head);

/// Throws Error{conflict} if `before`, a plan of the set in `folder`, was made with other options than `now`. `note`
/// ends its text.
void refuse_other_options(formats::PlanHead before, formats::PlanHead now, const std::string& folder,
                          const std::string& note = {});

/// The manifest in a folder. Throws the errors of reading it.
formats::Manifest manifest_in(io::OutputFiles& files, const std::string& folder);

/// Empty if the plan is damaged. `whole`: also if only lines of its samples are damaged, which are read for that.
std::optional<Hash128> hash_if_intact(io::OutputFiles& files, const std::string& path, bool whole);

/// Removes what a state folder has of a plan that is given up. The plan goes last: until then, the next run finds it.
void discard_state(io::OutputFiles& files, const std::string& state);

}  // namespace shardkit::dataset
