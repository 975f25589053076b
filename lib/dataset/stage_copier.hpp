#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/error.hpp"
#include "dataset/stage_target.hpp"
#include "io/object_source.hpp"

namespace shardkit {

/// Brings single files from a source to a target, checked. Any number of threads may each bring another file.
class StageCopier {
 public:
  StageCopier(FileSystem& files, ObjectSource& source, StageTarget& target, Context& ctx, std::uint64_t part_bytes);

  /// Sees to it that the target holds `file`: keeps it if it is there, goes on where an earlier copy stopped, else
  /// copies it. Bytes that are not what they should be, or that changed meanwhile, are fetched a second time before the
  /// source is called corrupt (or, Error{io}, in use).
  /// Ends between two blocks, keeping what is resumable, once `stop` asks.
  void bring(const StageFile& file, const std::stop_token& stop);

  std::uint64_t bytes_fetched() const { return fetched_; }
  std::uint64_t bytes_reused() const { return reused_; }
  std::uint64_t retries() const { return retries_; }

 private:
  bool is_in_place(const StageFile& file, const std::stop_token& stop);
  std::optional<Error> copy(const StageFile& file, std::uint64_t from, const std::stop_token& stop);
  std::uint64_t resumable_bytes(const StageFile& file) const;
  bool fetch(const StageFile& file, std::uint64_t from, Xxh3Stream& hash, const std::stop_token& stop);
  void put_in_place(const StageFile& file);

  FileSystem& files_;
  ObjectSource& source_;
  StageTarget& target_;
  Context& ctx_;
  const std::uint64_t part_bytes_;
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::atomic<std::uint64_t> retries_{0};
};

}  // namespace shardkit
