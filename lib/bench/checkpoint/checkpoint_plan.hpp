#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a checkpoint is made of: how many files, and how large.
///
/// What the options of `iobench checkpoint` stand for, and which are refused.
namespace shardkit::bench {

struct CheckpointOptions;

/// A model whose checkpoints MLPerf Storage writes.
struct CheckpointModel {
  std::string_view name;
  std::uint64_t bytes = 0;  ///< of a whole checkpoint: weights and optimizer
  std::uint64_t ranks = 0;  ///< that write it, each a file of its own
};

/// Llama 3 8B, 70B and 405B as MLPerf Storage 2.0 has them.
std::span<const CheckpointModel> checkpoint_models();

struct CheckpointWish {
  std::optional<std::string> model;
  double scale = 1;
  std::optional<std::uint64_t> bytes;    ///< in all, of the ranks on this node
  std::optional<std::uint64_t> writers;  ///< ranks on this node
};

/// One file a writer. Sizes are whole blocks of 4096 bytes, so that direct I/O takes them.
struct CheckpointPlan {
  std::vector<std::uint64_t> rank_bytes;

  std::uint64_t writers() const { return rank_bytes.size(); }
  std::uint64_t bytes() const;
};

/// A model's ranks on this node are 8, or as many as it has, unless `writers` says otherwise; each writes
/// scale * bytes / ranks. Without a model: `bytes`, 1 GiB by default, in equal parts. Throws Error{usage}.
CheckpointPlan plan_checkpoint(const CheckpointWish& wish);

/// `options` with what --job stands for: fio's own example of a sequential write, as platform teams run it; --scale
/// makes its files smaller. Throws Error{usage} for a job that there is not, or one beside what it fixes.
CheckpointOptions with_job(const CheckpointOptions& options);

/// The fio command that the job stands for; empty without one. Of options that with_job() returned.
std::optional<std::string> fio_command(const CheckpointOptions& options);

/// Throws Error{usage} for what makes no sense.
void check_options(const CheckpointOptions& options);

}  // namespace shardkit::bench
