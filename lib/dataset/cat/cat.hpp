#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct CatOptions {
  std::vector<std::string> shards;
  std::string name;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

/// Where the bytes came from.
struct CatResult {
  std::string shard;
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> label;

  void describe(FieldList& v);
};

/// Writes one member's content to Context::output(): `shardctl cat`. `name` is a member's name as `ls` shows it, or its
/// key if the sample has one member that is not a label. Reads indexes that fit, otherwise headers until the sample is
/// found; of several samples with one key, takes the first. Content is compared with the index's checksum: a difference
/// is known, and thrown, after the bytes are written.
///
/// Throws Error{usage} without an output (--json - leaves no room for bytes) and for a key that means several members,
/// Error{not_found}, Error{corrupt} for content that is truncated or changed, Error{unsupported} for a sparse member.
CatResult cat(const CatOptions& options, Context& context);

}  // namespace shardkit::dataset
