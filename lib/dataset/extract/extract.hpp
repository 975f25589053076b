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

  void describe(FieldList& v);
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

  void describe(FieldList& v);
};

/// Turns shards, from shardctl or other programs, back into an ImageFolder: `shardctl extract`. Files get their
/// original paths if the index has them, else <class>/<name>; labels become folders.
///
/// Checks all names and sizes before it writes anything. Never writes outside of the target and follows no link in it.
/// Keeps existing files with the right content, so that the same command continues after a kill; a file with other
/// content is a conflict. A file under its final name is complete and durable.
///
/// Throws Error{corrupt} for a name that leads outside the target, a link in a shard, or a shard that cannot be read
/// completely; Error{conflict} for other files or links in the way; Error{no_space} if the target's file system has too
/// little space.
ExtractResult extract(const ExtractOptions& options, Context& context);

/// The same with a given file system, for tests.
ExtractResult extract_on(io::FileSystem& files, const ExtractOptions& options, Context& context);

}  // namespace shardkit::dataset
