#pragma once

#include <cstdint>

#include "bench/model/requirement.hpp"

namespace shardkit {

/// A PyTorch DataLoader as this node has to carry it.
struct LoaderJob {
  std::uint64_t gpus = 1;
  std::uint64_t workers = 8;  ///< per GPU
  std::uint64_t prefetch = 2;
  std::uint64_t batch = 256;
  double sample_bytes = 0;  ///< decoded

  std::uint64_t processes() const { return gpus * workers; }
  /// What it keeps in /dev/shm, at least.
  double shared_memory() const { return prefetch_bytes(gpus, workers, prefetch, batch, sample_bytes); }
};

}  // namespace shardkit
