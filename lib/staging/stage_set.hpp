#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "catalog/set_state.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "formats/manifest.hpp"
#include "io/object_source.hpp"

namespace shardkit::staging {

/// A file for the target, and how to recognize its correct bytes.
struct StageFile {
  io::ObjectInfo object;        ///< for a file with a checksum without version, because the checksum is stronger
  std::optional<Hash128> hash;  ///< from the manifest, for shards and other readers' indexes
  std::optional<formats::ManifestShard> indexed;  ///< for a sample index: the shard that it must describe
  std::vector<Hash128> parts = {};                ///< of a shard, from the manifest; empty if it has only `hash`

  /// Identifies the bytes in journals: bytes copied with another pin are discarded.
  std::string pin() const;
  /// Whether requests for parts of it get bytes of one version, or others are noticed. If not, one request is for all.
  bool is_pinned() const { return hash || !object.version.empty(); }
};

/// Whether `pin` is that of a file without hash in this version.
bool is_same_version(std::string_view pin, std::string_view version);

/// The object now. Throws Error{not_found} if it no longer exists, Error{corrupt} if its size differs from the
/// manifest, and the errors of the source.
io::ObjectInfo find_at_source(io::ObjectSource& source, const StageFile& file);

/// What helps if `path`, or an address at the source, is missing or damaged there.
std::string advice_for_source(const std::string& path);

/// A file that a target must contain.
struct ExpectedFile {
  std::string name;
  std::optional<std::string> pin;  ///< StageFile::pin(), or the version; empty if not yet known, for an index
};

/// What to stage from a source.
struct StageRequest {
  std::optional<std::vector<std::string>> names = {};  ///< these objects, in this order; all if empty
  std::string manifest_name = {};                      ///< the source's own manifest; empty for none
  std::string manifest_path = {};                      ///< another manifest instead, for messages; empty for none
  std::string manifest_text = {};                      ///< of that one
  bool use_manifests = true;                           ///< also of folders below a source without a manifest
  std::string manifest_problem = {};                   ///< why nobody knows whether the source has a manifest
  std::vector<std::string> include = {};               ///< shell patterns of names; empty: all
  std::vector<std::string> exclude = {};
};

/// A manifest of the source and its shards.
struct ManifestSet {
  std::string folder;                          ///< relative to the source; empty, or with a slash at its end
  std::string text;                            ///< of the manifest
  Hash128 hash;                                ///< XXH3-128 of the text
  std::vector<formats::ManifestShard> shards;  ///< named relative to `folder`
  std::vector<formats::ManifestFile> files;    ///< other readers' indexes, too
  std::string plan_hash = {};  ///< of the plan that the manifest finishes; empty for other programs' tars

  ManifestSet(std::string where, std::string manifest, formats::Manifest parsed);

  std::string name() const { return folder + formats::kManifestName; }
};

/// Of the manifest's text, if it is one in the source itself; else of their folders and texts.
Hash128 hash_of_sets(const std::vector<ManifestSet>& sets);

/// Shards that a loader divides among its ranks, in the order in which it gets them.
struct ShardGroup {
  std::string folder;                  ///< relative to the source; empty: the source itself
  std::vector<std::string> shards;     ///< relative to the source
  std::vector<std::uint64_t> samples;  ///< of each; empty if they are not known
};

/// The files to stage from a source: the shards of manifests with their indexes, and files as they are. A folder may
/// have a manifest, and folders below it (train/, val/) may have their own. The order of named files is the user's;
/// that of a folder is its manifest's, or bytewise.
class StageSet {
 public:
  /// Lists a source without given names, and enforces the rules of SetVerb::copy for each folder that is a set or will
  /// be one; those for missing shards only with require_shards(). Of a set with a manifest, other tars are not staged.
  /// Throws Error{not_found} for a missing manifest or file and for a source without files, Error{unsupported} for
  /// names that cannot be files, and the errors of enforce().
  StageSet(io::ObjectSource& source, const StageRequest& wanted, Context& context);

  /// Enforces the rules for sets that lack shards, or have some of another size. Looks up the shards to stage where
  /// only names are known; a target that has all of them needs none of this.
  void require_shards(io::ObjectSource& source, Context& context);

  /// Of the manifest's text; of several manifests, of their names and texts; without one, of the names, sizes and
  /// versions of all files. A target with the same hash in its marker contains this set.
  const Hash128& hash() const { return hash_; }
  bool has_manifest() const { return !sets_.empty(); }
  /// Whether there are tars without a manifest in a folder: that was a warning.
  bool has_foreign() const { return has_foreign_; }
  const std::vector<ManifestSet>& sets() const { return sets_; }
  /// True if a manifest lists every tar to stage.
  bool are_shards_listed() const;

  /// All needed files. The pins of indexes of shards are not known before they are copied.
  std::vector<ExpectedFile> expected() const;
  /// The names of all files of the set, including shards that are not kept, sorted.
  const std::vector<std::string>& whole() const { return whole_; }
  /// Whether some shards of a manifest are left out by their names.
  bool is_part() const { return is_part_; }
  /// Names of files that are below the source, but not to be staged.
  const std::vector<std::string>& left_out() const { return left_out_; }
  std::uint64_t manifest_bytes() const;
  /// Patterns of --include and --exclude that match no file.
  const std::vector<std::string>& unused_patterns() const { return unused_patterns_; }
  /// The errors of named files that the source lacks, by name.
  const std::map<std::string, Error>& missing() const { return missing_; }
  /// Updates objects that have changed since the set was listed.
  void update(const std::vector<io::ObjectInfo>& changed);

  /// Named shards are one group. In a folder, each manifest's shards are one; without a manifest, the tars of each
  /// folder.
  std::vector<ShardGroup> groups() const;
  /// Keeps only these shards of the groups, and their indexes; files outside of the groups are kept.
  void keep_shards(const std::vector<std::string>& kept);

  /// The files to copy, without the manifests themselves. Looks up each index; one that is missing or denied is left
  /// out. Files that no manifest lists get the checksum of the store.
  std::vector<StageFile> files(io::ObjectSource& source, const std::stop_token& stop) const;

 private:
  /// A set whose shards are perhaps not all there.
  struct Unproven {
    std::string folder;  ///< as in ManifestSet
    catalog::Listing listing;
    bool is_measured = false;  ///< the sizes of its shards are known
  };

  void take_named(io::ObjectSource& source, const std::vector<std::string>& names, const std::stop_token& stop);
  void take_all(io::ObjectSource& source, const StageRequest& wanted, std::optional<std::string> manifest,
                Context& context);
  void take_folder(io::ObjectSource& source, const std::string& folder, catalog::Listing listing,
                   std::optional<std::string> manifest, std::unordered_set<std::string>& known, Context& context);
  std::vector<StageFile> unlisted(io::ObjectSource& source, const std::stop_token& stop) const;
  void filter(const StageRequest& wanted, const std::string& location);
  void keep(const std::function<bool(const std::string& shard)>& is_kept);
  Hash128 compute_hash() const;
  std::vector<std::string> names() const;

  std::vector<ManifestSet> sets_;
  std::vector<Unproven> unproven_;
  std::vector<io::ObjectInfo> objects_;      ///< that no manifest lists, in the order named, or bytewise
  std::vector<io::ObjectInfo> all_objects_;  ///< also those that keep_shards() left out: the hash is of the whole set
  std::vector<std::string> order_;           ///< of named files; empty for a listing
  std::vector<std::string> whole_;
  std::vector<std::string> left_out_;
  std::vector<std::string> unused_patterns_;
  std::map<std::string, Error> missing_;
  bool is_part_ = false;
  bool has_foreign_ = false;
  Hash128 hash_;
};

}  // namespace shardkit::staging
