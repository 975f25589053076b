#pragma once

#include <cstdint>
#include <optional>
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

/// What manifest and index say of a shard, and how it differs.
namespace shardkit::dataset {

struct ShardReport;

/// What a shard should be.
struct ExpectedShard {
  const formats::ManifestShard* manifest = nullptr;  ///< its entry; null without one
  std::string index_path;                            ///< empty when it has no index
  std::optional<formats::ShardSummary> index;        ///< empty when it has no index that can be read

  /// By the manifest, or else by the index; empty when neither says it.
  std::optional<std::uint64_t> bytes() const;
  std::optional<std::uint64_t> samples() const;
  /// The whole tar's hash.
  std::optional<Hash128> hash() const;
  /// Whether the index is of these bytes.
  bool index_fits() const { return index && index->xxh3_128 == hash(); }
};

/// Looks up manifest entry and index of every shard of the set, in its order.
std::vector<ExpectedShard> find_expectations(const catalog::ShardSet& set);

/// How a whole tar differs from what its manifest lists, by its size or its XXH3-128; empty where it does not. Reads
/// all of it: for shards without an index, whose samples nothing else vouches for.
std::optional<std::string> changed_bytes(ByteSource& shard, const formats::ManifestShard& listed, const Context& ctx);

/// What to do about a tar whose bytes changed, behind "; ": without what a command of its own may do.
std::string remedy_of_changed(const std::string& path);

/// What was read of a shard, to compare with the rows of its index. In the shard's order.
struct SampleRows {
  std::vector<std::uint64_t> layouts;   ///< layout_hash() of each sample
  std::vector<std::uint64_t> contents;  ///< content_hash() of each sample; empty when contents were not read
};

/// Hash of what a row says of a sample but for its contents: key, label, and each member's extension, offset and size.
/// `Members` are formats::SampleMember or formats::IndexMember.
template <class Members>
std::uint64_t layout_hash(std::string_view key, std::optional<std::uint64_t> label, const Members& members) {
  std::string text;  // of a few members: hashed at once it costs a tenth of a stream
  const auto number = [&](std::uint64_t value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  number(key.size());
  text += key;
  number(label ? *label + 1 : 0);
  for (const auto& member : members) {
    number(member.extension.size());
    text += member.extension;
    number(member.offset);
    number(member.size);
  }
  return xxh3_64(as_bytes(text));
}

/// Hash of the XXH3-64 of the contents of a sample's members.
std::uint64_t content_hash(const std::vector<std::uint64_t>& contents);

/// Compares a shard that was read to its end with what it should be. `found` is the hash of all its bytes; empty when
/// they were not read. One cause is one finding: a shard of another size is not compared row by row, and one whose
/// bytes differ is not compared with its counts.
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

}  // namespace shardkit::dataset
