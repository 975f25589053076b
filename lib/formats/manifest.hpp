#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.hpp"

/// `manifest.json`: the contents of a set of shards (docs/explain/formats.md, "Manifest", version 1). It lists shards,
/// not samples, so that 14 million samples need well under a megabyte; samples are in the per-shard indexes.
namespace shardkit::formats {

struct ManifestShard {
  std::string name;  ///< file name relative to the manifest
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  Hash128 xxh3_128;
  std::vector<Hash128> parts = {};  ///< of each part (shard_hash.hpp); empty in manifests of other programs
  bool operator==(const ManifestShard&) const = default;
};

/// An index of another reader.
struct ManifestFile {
  std::string name;  ///< relative to the manifest
  std::uint64_t bytes = 0;
  Hash128 xxh3_128;
  bool operator==(const ManifestFile&) const = default;
};

struct ManifestClass {
  std::string name;  ///< as in the source, not mapped
  std::uint64_t label = 0;
  std::uint64_t samples = 0;
  bool operator==(const ManifestClass&) const = default;
};

struct Manifest {
  std::vector<ManifestShard> shards;   ///< in shard order
  std::vector<ManifestFile> files;     ///< other readers' indexes that were there when it was written, by name
  std::vector<ManifestClass> classes;  ///< by label; empty for shards of other programs
  std::uint64_t samples = 0;           ///< sums over the shards
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;                   ///< source files left out
  std::string plan_hash;                       ///< 32 hex digits; empty for shards of other programs
  std::map<std::string, std::string> options;  ///< those that affect the output, as text
  bool operator==(const Manifest&) const = default;
};

/// The file's text: JSON, indent 1, members in a fixed order, newline at the end. The same manifest always gives the
/// same bytes.
std::string write_manifest(const Manifest& manifest);

/// Parses and checks `text`. Throws Error{corrupt} with the wrong field: not JSON, another format or version, a shard
/// name that leaves the folder or is repeated, sums that do not add up. `path` is for messages.
Manifest read_manifest(std::string_view text, const std::string& path);

/// A class name as a manifest contains it: bytes that are not UTF-8 become '~' and two hexadecimal digits, as in keys.
std::string name_in_manifest(const std::string& name);

/// The set followed by the shards of `added`; classes with the same name are merged.
Manifest join_manifests(Manifest earlier, const Manifest& added);

/// Whether `later` is `earlier` with more shards, as an --append makes it: every shard is the same, and every class keeps
/// its label.
bool extends(const Manifest& later, const Manifest& earlier);

/// True for a file with that name from another program: JSON, or a server's page, without our format. Files that cannot
/// be read at all may be damaged manifests, and do not count.
bool is_foreign_manifest(std::string_view text);

inline constexpr const char* kManifestName = "manifest.json";
/// The folder next to the shards with indexes, plan and markers.
inline constexpr const char* kStateFolder = ".shardkit";
/// Whether it is the name there of the manifest of a part, which merge joins with the others.
bool is_part_name(std::string_view name);
/// The part in such a name, "part-00002-of-00016.json", and the number of parts; empty for another name.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_part_name(std::string_view name);
/// In a bucket, the records of an upload that has not finished: of the whole, and of objects in parts.
inline constexpr const char* kUploadsFolder = ".shardkit/uploads/";
inline constexpr const char* kUploadRecord = ".shardkit/uploads/upload.json";

}  // namespace shardkit::formats
