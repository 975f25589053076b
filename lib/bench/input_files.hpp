#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"

/// What a measurement reads: shards, or any files.
namespace shardkit {

struct InputFile {
  std::string path;
  std::uint64_t bytes = 0;
  bool is_shard = false;
  /// Of a shard whose manifest or index says so, of a plain file 1; empty where only reading the shard tells.
  std::optional<std::uint64_t> samples;
};

struct InputSet {
  std::vector<InputFile> files;  ///< in the order named; those of a folder by name
  std::uint64_t bytes = 0;       ///< of all files, more than 0
  bool has_shards = false;
};

/// Resolves operands: whatever names shards (catalog/shard_set.hpp), any other file, or a folder without shards, whose
/// files at any depth are taken but for hidden ones. Throws Error{not_found} when there is nothing to read,
/// Error{usage} for pipes, devices and sockets.
InputSet find_input(const std::vector<std::string>& operands);

/// Where one sample lies in a set.
struct SampleRef {
  std::uint32_t file = 0;    ///< index into InputSet::files
  std::uint64_t offset = 0;  ///< of its first member's content; to the end of its last are `bytes`
  std::uint64_t bytes = 0;
  std::uint64_t image_offset = 0;
  std::uint64_t image_bytes = 0;  ///< of its first member that is an image by name; 0 without one
};

/// The samples of at most `most_shards` shards, taken evenly over the set, and of all plain files. Reads our index
/// where a shard has one, else the shard's headers. What is wrong with a shard becomes a warning.
std::vector<SampleRef> list_samples(const InputSet& input, std::size_t most_shards, Context& context);

}  // namespace shardkit
