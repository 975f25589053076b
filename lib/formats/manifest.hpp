#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/hash.hpp"

/// `manifest.json`: what a set of shards holds (docs/formats.md, "Manifest", version 1). It names shards, not samples,
/// so that 14 million samples make a file of well under a megabyte; samples stand in the per-shard indexes.
namespace shardkit::formats {

struct ManifestShard {
  std::string name;  ///< file name relative to the manifest
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  Hash128 xxh3_128;
  bool operator==(const ManifestShard&) const = default;
};

struct ManifestClass {
  std::string name;  ///< as in the source, not mapped
  std::uint64_t label = 0;
  std::uint64_t samples = 0;
  bool operator==(const ManifestClass&) const = default;
};

struct Manifest {
  std::vector<ManifestShard> shards;   ///< in shard order
  std::vector<ManifestClass> classes;  ///< by label; empty for shards made by others
  std::uint64_t samples = 0;           ///< sums over the shards
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;                   ///< source files left out
  std::string plan_hash;                       ///< 32 hex digits; empty for shards made by others
  std::map<std::string, std::string> options;  ///< those that shape the output, as text
  bool operator==(const Manifest&) const = default;
};

/// The file's text: JSON, indent 1, members in a fixed order, newline at the end. The same manifest always gives the
/// same bytes.
std::string write_manifest(const Manifest& manifest);

/// Parses and checks `text`. Throws Error{corrupt} that says which field is wrong: not JSON, another format or version,
/// a shard name that leaves the folder or appears twice, sums that do not add up. `path` is for messages.
Manifest read_manifest(std::string_view text, const std::string& path);

/// A class name as it comes back from a manifest: what of it is not UTF-8 becomes U+FFFD.
std::string name_in_manifest(const std::string& name);

/// The set with the shards of `added` behind its own; classes of one name are one.
Manifest join_manifests(Manifest earlier, const Manifest& added);

/// True for a file of that name which another program wrote: JSON, or a server's page, that does not say it is ours.
/// What cannot be read at all may be a damaged manifest, and is none of these.
bool is_foreign_manifest(std::string_view text);

inline constexpr const char* kManifestName = "manifest.json";
/// The folder beside the shards that holds indexes, plan and markers.
inline constexpr const char* kStateFolder = ".shardkit";

}  // namespace shardkit::formats
