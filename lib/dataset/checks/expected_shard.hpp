#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

  /// By the manifest, or else by the index; null if neither has it.
  const formats::ManifestShard* record() const { return manifest != nullptr || !index ? manifest : &*index; }
  /// Whether the index is of these bytes.
  bool index_fits() const { return index && index->xxh3_128 == record()->xxh3_128; }
  /// Whether reshard can find the samples of a shard of this size by the index, whatever its headers are.
  bool index_replaces_headers(std::uint64_t shard_bytes) const { return index_fits() && index->bytes == shard_bytes; }
};

/// Notes each sample whose content differs from its checksum in the shard's index; returns their number. Throws the
/// errors of reading the two.
std::uint64_t note_changed_samples(catalog::Inputs& inputs, const catalog::ShardFile& shard,
                                   const std::string& index_path, ShardReport& report, Context& context);

/// Looks up manifest entry and index of every shard of the set, in its order.
std::vector<ExpectedShard> find_expectations(const catalog::ShardSet& set);

/// Compares a whole tar with its manifest entry, by size or XXH3-128. Returns the difference; empty if there is none.
/// Reads all of it: for shards without an index, whose samples have no other checksum.
std::optional<std::string> changed_bytes(ByteSource& shard, const formats::ManifestShard& listed,
                                         const Context& context);

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
                   const std::optional<Hash128>& found, const SampleRows& rows, ShardReport& report, Context& context);

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

}  // namespace shardkit::dataset
