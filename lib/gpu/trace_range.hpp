#pragma once

namespace shardkit::gpu {

/// Says to profilers such as Nsight Systems what the calling thread does for as long as the object lives (NVTX). Costs
/// some nanoseconds where none listens, and does nothing in a build without CUDA. Ranges of a thread end in the
/// opposite order of their beginnings, in that thread.
class TraceRange {
 public:
  /// `name` is copied where a profiler listens.
  explicit TraceRange(const char* name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace shardkit::gpu
