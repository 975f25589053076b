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

/// A file to have in the target, and what tells its right bytes.
struct StageFile {
  io::ObjectInfo object;                          ///< of a shard with a checksum without version: that tells more
  std::optional<Hash128> hash;                    ///< of a shard: what the manifest says
  std::optional<formats::ManifestShard> indexed;  ///< of a sample index: the shard it has to describe

  /// Names the bytes for the journals: what was copied under another pin is of no use.
  std::string pin() const;
};

/// The object as it is now. Throws Error{not_found} where it is gone, Error{corrupt} where it has another size than the
/// manifest says, and what the source throws.
io::ObjectInfo find_at_source(io::ObjectSource& source, const StageFile& file);

/// A file that a target has to hold.
struct ExpectedFile {
  std::string name;
  std::optional<std::string> pin;  ///< StageFile::pin(); empty where it is not known yet: of an index
};

/// What of a source is wanted.
struct StageWanted {
  std::optional<std::vector<std::string>> names;  ///< these objects; without them all
  std::string manifest_name;                      ///< the source's own manifest; empty for none
  std::string manifest_path;                      ///< of another manifest in its place, for messages; empty for none
  std::string manifest_text = {};                 ///< of that one
};

/// What a source asks to be staged: the shards of a manifest with their indexes, or files as they are.
class StageSet {
 public:
  /// Throws Error{not_found} for a manifest or a file that is not there and for a source without files, Error{corrupt}
  /// for a manifest that is none, Error{unsupported} for names that cannot be files.
  StageSet(io::ObjectSource& source, const StageWanted& wanted, const std::stop_token& stop);

  /// Of the manifest's text; without one, of the names, sizes and versions of all files. A target marked with the same
  /// holds this set.
  const Hash128& hash() const { return hash_; }
  bool has_manifest() const { return !manifest_text_.empty(); }
  const std::string& manifest_text() const { return manifest_text_; }

  /// All that is wanted, as far as known without asking for indexes of other readers.
  std::vector<ExpectedFile> expected() const;
  /// The names of all files of the set, also of shards that are not kept, sorted.
  const std::vector<std::string>& whole() const { return whole_; }
  /// Takes in that these objects are others by now than when the set was looked at. Without a manifest.
  void update(const std::vector<io::ObjectInfo>& changed);

  /// Samples of each shard in the order of their names; without a manifest 1 for each tar, as nobody knows.
  std::vector<std::uint64_t> samples_per_shard() const;
  /// Leaves out all shards but those of these numbers in that order, and the indexes of those that go.
  void keep_shards(const std::vector<std::size_t>& numbers);

  /// Other readers' indexes that lie beside the shards, by two listings: the manifest knows nothing of them. Only those
  /// that a set has one of come with size and version, and those of shards with their names alone.
  std::vector<io::ObjectInfo> foreign_indexes(io::ObjectSource& source) const;

  /// The files to copy, other readers' indexes beside the shards included; the manifest itself is not among them. Asks
  /// the source for the size of each index; an index that is not there is left out.
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
