#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "formats/manifest.hpp"
#include "io/object_source.hpp"

namespace shardkit::staging {

/// A file for the target, and how to recognise its correct bytes.
struct StageFile {
  io::ObjectInfo object;        ///< for a shard with a checksum without version, because the checksum is stronger
  std::optional<Hash128> hash;  ///< for a shard: from the manifest
  std::optional<formats::ManifestShard> indexed;  ///< for a sample index: the shard that it must describe

  /// Identifies the bytes in journals: bytes copied with another pin are discarded.
  std::string pin() const;
};

/// The object now. Throws Error{not_found} if it no longer exists, Error{corrupt} if its size differs from the
/// manifest, and the errors of the source.
io::ObjectInfo find_at_source(io::ObjectSource& source, const StageFile& file);

/// A file that a target must contain.
struct ExpectedFile {
  std::string name;
  std::optional<std::string> pin;  ///< StageFile::pin(); empty if not yet known, for an index
};

/// What to stage from a source.
struct StageWanted {
  std::optional<std::vector<std::string>> names;  ///< these objects; all if empty
  std::string manifest_name;                      ///< the source's own manifest; empty for none
  std::string manifest_path;                      ///< another manifest instead, for messages; empty for none
  std::string manifest_text = {};                 ///< of that one
};

/// The files to stage from a source: the shards of a manifest with their indexes, or files as they are.
class StageSet {
 public:
  /// Throws Error{not_found} for a missing manifest or file and for a source without files, Error{corrupt} for an
  /// invalid manifest, Error{unsupported} for names that cannot be files.
  StageSet(io::ObjectSource& source, const StageWanted& wanted, const std::stop_token& stop);

  /// Of the manifest's text; without one, of the names, sizes and versions of all files. A target with the same hash in
  /// its marker contains this set.
  const Hash128& hash() const { return hash_; }
  bool has_manifest() const { return !manifest_text_.empty(); }
  const std::string& manifest_text() const { return manifest_text_; }

  /// All needed files, as far as known without looking for indexes of other readers.
  std::vector<ExpectedFile> expected() const;
  /// The names of all files of the set, including shards that are not kept, sorted.
  const std::vector<std::string>& whole() const { return whole_; }
  /// Updates objects that have changed since the set was listed. Without a manifest.
  void update(const std::vector<io::ObjectInfo>& changed);

  /// Samples of each shard in the order of their names; without a manifest 1 for each tar, because the number is
  /// unknown.
  std::vector<std::uint64_t> samples_per_shard() const;
  /// Keeps only the shards with these numbers in that order, and their indexes.
  void keep_shards(const std::vector<std::size_t>& numbers);

  /// Other readers' indexes next to the shards, from two listings, because the manifest does not contain them. Only
  /// those for the whole set have size and version; those of shards have only their names.
  std::vector<io::ObjectInfo> foreign_indexes(io::ObjectSource& source) const;

  /// The files to copy, including other readers' indexes, without the manifest itself. Requests the size of each index;
  /// a missing index is left out.
  std::vector<StageFile> files(io::ObjectSource& source, const std::vector<io::ObjectInfo>& foreign,
                               const std::stop_token& stop) const;

 private:
  std::map<std::string, std::uint64_t> samples_by_shard() const;
  void select(const std::vector<std::string>& names, const std::string& location);

  std::string manifest_text_;
  std::vector<formats::ManifestShard> shards_;
  std::vector<io::ObjectInfo> objects_;  ///< without a manifest
  std::vector<std::string> whole_;
  Hash128 hash_;
};

}  // namespace shardkit::staging
