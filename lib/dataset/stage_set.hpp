#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/manifest.hpp"
#include "io/object_source.hpp"

namespace shardkit {

/// A file to have in the target, and what tells its right bytes.
struct StageFile {
  ObjectInfo object;
  std::optional<Hash128> hash;           ///< of a shard: what the manifest says
  std::optional<ManifestShard> indexed;  ///< of a sample index: the shard it has to describe

  /// Names the bytes for the journal: what was copied under another pin is of no use.
  std::string pin() const;
};

/// What a source asks to be staged: the shards of a manifest with their indexes, or all files as they are.
class StageSet {
 public:
  /// `manifest` is empty for the source's own, "none" for all files, else the path of a manifest. Throws
  /// Error{not_found} with what to do when there is no manifest.
  StageSet(ObjectSource& source, const std::string& manifest);

  /// Of the manifest's text; without one, of the names, sizes and versions of all files. A target marked with the same
  /// holds this set.
  const Hash128& hash() const { return hash_; }
  bool has_manifest() const { return !manifest_text_.empty(); }
  const std::string& manifest_text() const { return manifest_text_; }

  /// Other readers' indexes that lie beside the shards, by two listings: the manifest knows nothing of them. Only those
  /// that a set has one of come with size and version, and those of shards with their names alone.
  std::vector<ObjectInfo> foreign_indexes(ObjectSource& source) const;

  /// The files to copy, other readers' indexes beside the shards included; the manifest itself is not among them. Asks
  /// the source for the size of each index. Throws Error{not_found} for an index that is missing.
  std::vector<StageFile> files(ObjectSource& source) const;

 private:
  std::string manifest_text_;
  Manifest manifest_;
  std::vector<ObjectInfo> listed_;
  Hash128 hash_;
};

}  // namespace shardkit
