#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/file_system.hpp"
#include "io/object_source.hpp"

namespace shardkit {

struct StageOptions {
  std::string source;
  std::string target;
  std::string manifest;
  std::optional<std::uint64_t> limit;
  std::optional<std::uint64_t> concurrency;

  void describe(FieldVisitor& v);
};

struct StageResult {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_fetched = 0;
  std::uint64_t bytes_reused = 0;
  double bytes_per_second = 0;
  std::uint64_t retries = 0;
  std::string verified;
  std::string manifest_xxh3_128;

  void describe(FieldVisitor& v);
};

/// Copies a set of shards with its manifest and indexes to a local folder: `shardctl stage`. Every byte is held against
/// the manifest on the way. The same call after a kill goes on inside the files it was copying; once all is in place it
/// reads no data but the manifest, and brings only other readers' indexes that came to the source since. Calls into one
/// folder wait for each other.
///
/// Throws Error{not_found} for a missing source, manifest or shard; Error{corrupt} for source bytes that are not what
/// the manifest says, also when read again; Error{no_space} when the limit or the disk is too small, before anything is
/// copied; Error{conflict} for a target that holds something else, or a source that changes meanwhile.
StageResult stage(const StageOptions& options, Context& ctx);

/// How many bytes of a file are copied between two moments at which they are made durable and may be resumed from.
inline constexpr std::uint64_t kStagePartBytes = 64ULL << 20U;

/// The same over given seams, for tests; `options.source` is not looked at.
StageResult stage_on(FileSystem& files, ObjectSource& source, const StageOptions& options, Context& ctx,
                     std::uint64_t part_bytes = kStagePartBytes);

}  // namespace shardkit
