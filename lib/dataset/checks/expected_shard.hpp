#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/shard_set.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "dataset/checks/problem.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"

/// The shard that manifest and index describe, and how a shard differs from it.
namespace shardkit::dataset {

struct ShardReport;

/// The expected properties of a shard.
struct ExpectedShard {
  const formats::ManifestShard* manifest = nullptr;  ///< its entry; null without one
  std::string index_path;                            ///< empty if it has no index
  std::optional<formats::ShardSummary> index;        ///< empty if it has no readable index

  /// By the manifest, or else by the index; empty if neither has it.
  std::optional<std::uint64_t> bytes() const;
  std::optional<std::uint64_t> samples() const;
  /// The whole tar's hash.
  std::optional<Hash128> hash() const;
  /// Whether the index is of these bytes.
  bool index_fits() const { return index && index->xxh3_128 == hash(); }
};

/// Looks up manifest entry and index of every shard of the set, in its order.
std::vector<ExpectedShard> find_expectations(const catalog::ShardSet& set);

/// Compares a whole tar with its manifest entry, by size or XXH3-128. Returns the difference; empty if there is none.
/// Reads all of it: for shards without an index, whose samples have no other checksum.
std::optional<std::string> changed_bytes(ByteSource& shard, const formats::ManifestShard& listed, const Context& ctx);

/// Advice for a tar whose bytes changed, for use after "; ". Does not include the options of single commands.
std::string remedy_of_changed(const std::string& path);

/// The properties of a shard that was read, to compare with the rows of its index. In the shard's order.
struct SampleRows {
  std::vector<std::uint64_t> layouts;   ///< layout_hash() of each sample
  std::vector<std::uint64_t> contents;  ///< content_hash() of each sample; empty when contents were not read
};

/// Hash of a sample's row without its contents: key, `label`, and each member's extension, offset and size.
std::uint64_t layout_hash(const formats::IndexSample& sample, std::optional<std::uint64_t> label);

/// Hash of the XXH3-64 of the contents of a sample's members.
std::uint64_t content_hash(const std::vector<std::uint64_t>& contents);

/// Compares a shard that was read to its end with its expected properties. `found` is the hash of all its bytes; empty
/// if they were not read. One cause is one finding: a shard of a different size is not compared row by row, and one
/// with different bytes is not compared by its counts.
void compare_shard(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                   const std::optional<Hash128>& found, const SampleRows& rows, ShardReport& report, Context& ctx);

/// Runs `work`; an Error other than a stop becomes a problem.
template <class Work>
bool guarded(ProblemLog& log, ProblemCode code, Work work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    log.add(code, error.offset(), "", error.what());
    return false;
  }
}

/// The part of a set that stage copied, such as the shards of one node's ranks.
struct StagedPart {
  std::vector<std::string> parts;  ///< in words
  std::set<std::string> files;     ///< names of all expected files
};
/// Empty if the folder should have its whole set, or if its manifest is now a different one.
std::optional<StagedPart> find_staged_part(catalog::Inputs& inputs, const std::string& folder);

/// Names of the shards that a folder's manifest lists and that are missing from `there`.
std::vector<std::string> missing_shards(const formats::Manifest& manifest, const std::optional<StagedPart>& part,
                                        const std::set<std::string_view>& there);

/// Paths of the existing plans in a folder, in the order in which they were followed.
std::vector<std::string> plans_in(catalog::Inputs& inputs, const std::string& folder);

/// A message that a convert --append into the folder is not complete; empty if there is none.
std::optional<std::string> unfinished_append(catalog::Inputs& inputs, const std::string& folder,
                                             const formats::Manifest& manifest);

/// The files that are missing from the sets in named folders: shards that a manifest lists, or the rest of an
/// incomplete convert or reshard. Empty if nothing is missing, and for shards that were named one by one.
std::optional<std::string> what_is_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);

/// True if all folders have a manifest, with the same names and labels of classes.
bool have_same_classes(const catalog::FolderManifests& manifests);

/// Throws Error{not_found} if something is missing.
void refuse_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);

}  // namespace shardkit::dataset
