#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/error.hpp"
#include "io/object_source.hpp"
#include "staging/copy_queue.hpp"
#include "staging/file_copy.hpp"
#include "staging/file_placer.hpp"
#include "staging/range_size.hpp"
#include "staging/range_writer.hpp"
#include "staging/stage_target.hpp"
#include "sync/climbing_workers.hpp"

namespace shardkit {

struct CopyLimits {
  unsigned start = 16;     ///< requests under way at first
  unsigned maximum = 128;  ///< never more
  /// What a request asks for at first.
  std::uint64_t range_bytes = 16ULL << 20U;
  CopySteps steps;
  /// Called with the size of each piece before it is stored; waits to keep to a rate. May be empty.
  std::function<void(std::uint64_t bytes, const std::stop_token& stop)> pace;
};

/// Brings files from a source to a target, checked: one pool of requests for ranges of all of them.
class StageCopier {
 public:
  /// What is referred to outlives the copier; `target` is joined.
  StageCopier(FileSystem& files, ObjectSource& source, StageTarget& target, CopyLimits limits, Context& ctx);

  /// Sees to it that the target holds all of `wanted`: keeps what is there, goes on where an earlier copy stopped,
  /// waits for what another process brings, else copies. Bytes that are not what they should be, or that changed
  /// meanwhile, are fetched a second time before the source is called corrupt (or, Error{io}, in use). However it
  /// ends, what is resumable is kept. Once.
  void bring(const std::vector<StageFile>& wanted);

  /// From any thread: the source asks for fewer requests.
  void throttled() {
    workers_.throttled();
    range_size_.throttled();
  }

  std::uint64_t bytes_fetched() const { return fetched_; }
  /// Bytes that were in the target, or that others brought meanwhile.
  std::uint64_t bytes_reused() const { return reused_; }
  /// Files that were fetched a second time.
  std::uint64_t refetched() const { return refetched_; }
  /// Objects that changed while they were copied, as they are now. Once bring() is over.
  const std::vector<ObjectInfo>& changed() const { return changed_; }

 private:
  CopyQueue::Opened open(const StageFile& file);
  void count_present(const StageFile& file);
  void show_progress_elsewhere(const StageFile& file);
  std::uint64_t forget_elsewhere(const StageFile& file);

  ClimbingWorkers::Step worker();
  void fetch(const CopyQueue::Work& work, RangeWriter& writer, const std::stop_token& stop);
  Fetched fetch_range(FileCopy& copy, ByteRange range, RangeWriter& writer, const std::stop_token& stop);
  Fetched fetch_part(FileCopy& copy, ByteRange range, const BodyWriter& write, const std::stop_token& stop);
  void came(std::uint64_t bytes, const std::stop_token& stop);
  void settle(const std::shared_ptr<FileCopy>& copy, const std::stop_token& stop);
  void start_over(const std::shared_ptr<FileCopy>& copy, const Error& reason);
  void keep_unfinished() noexcept;

  FileSystem& files_;
  ObjectSource& source_;
  StageTarget& target_;
  const CopyLimits limits_;
  Context& ctx_;
  const std::vector<StageFile>* wanted_ = nullptr;
  FilePlacer placer_;
  SmallFiles small_files_;
  std::unique_ptr<CopyQueue> queue_;
  ClimbingWorkers workers_;
  RangeSize range_size_;
  std::atomic<std::uint64_t> left_{0};  ///< bytes that are not here yet, about
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::atomic<std::uint64_t> refetched_{0};
  std::mutex changed_mutex_;
  std::vector<ObjectInfo> changed_;
  std::mutex elsewhere_mutex_;
  std::map<std::string, std::uint64_t> elsewhere_;  ///< what the progress has of files that other processes bring
};

}  // namespace shardkit
