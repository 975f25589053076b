#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/checkpoint/checkpoint_folder.hpp"
#include "core/context.hpp"

/// What is done with a checkpoint that is there: bringing it elsewhere, and reading it back.
namespace shardkit {

/// The checkpoint of one turn, in a folder.
struct WrittenCheckpoint {
  CheckpointFolder& folder;
  std::uint64_t turn = 0;
  std::vector<std::uint64_t> rank_bytes;
  std::uint64_t block = 1U << 20U;
};

/// Copies the files, one thread each, and makes the copies durable; returns the seconds that took. Copies are written
/// as `direct` says.
double drain_checkpoint(const WrittenCheckpoint& from, CheckpointFolder& to, bool direct, Context& context);

struct ReadBack {
  double seconds = 0;
  std::string cache_state;  ///< "cold", or "unknown" where the page cache could not be emptied
};

/// Reads all files, one thread each, from the disk where the cache can be emptied, and compares every byte. Throws
/// Error{corrupt} with path and offset of the first wrong one. Only the reading is timed.
ReadBack read_back_checkpoint(const WrittenCheckpoint& checkpoint, Context& context);

}  // namespace shardkit
