#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/file_system.hpp"

namespace shardkit::dataset {

struct ExtractOptions {
  std::vector<std::string> shards;
  std::string target;
  std::optional<std::uint64_t> threads = {};
  catalog::StoreAccess access = {};

  void describe(FieldVisitor& v);
};

struct ExtractResult {
  std::uint64_t shards = 0;
  std::uint64_t samples = 0;
  std::uint64_t files = 0;
  std::uint64_t files_written = 0;
  std::uint64_t files_kept = 0;
  std::uint64_t files_renamed = 0;
  std::uint64_t bytes = 0;
  double files_per_second = 0;
  double bytes_per_second = 0;

  void describe(FieldVisitor& v);
};

/// Turns shards, ours or made by others, back into an ImageFolder: `shardctl extract`. Files get their original paths
/// where the index knows them, else <class>/<name>; labels become folders.
///
/// All names and sizes are looked at before anything is written. Nothing is ever written outside of the target and no
/// link in it is followed. A file that is there with the right content is kept, so that the same command goes on after
/// a kill; one with other content is a conflict. What has its name is whole and durable.
///
/// Throws Error{corrupt} for a name that leads elsewhere, a link in a shard, a shard that cannot be read whole;
/// Error{conflict} for what stands in the way; Error{no_space} when the target's file system has too little room.
ExtractResult extract(const ExtractOptions& options, Context& ctx);

/// The same over a given file system, for tests.
ExtractResult extract_on(io::FileSystem& files, const ExtractOptions& options, Context& ctx);

}  // namespace shardkit::dataset
