#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "io/aligned_buffer.hpp"
#include "io/direct_opener.hpp"
#include "io/read_engine.hpp"

/// What engines have in common whose calls return with the bytes.
namespace shardkit {

/// Opens files as options ask: directly, or through the page cache with advice about reading ahead. Thread-safe.
class FileOpener {
 public:
  explicit FileOpener(const ReadEngineOptions& options) : options_(options) {}
  std::shared_ptr<const ReadFile> open(const std::string& path) const;

 private:
  ReadEngineOptions options_;
  mutable DirectOpener direct_;
};

/// A lane with one read at a time, made by a function.
class SyncLane final : public ReadLane {
 public:
  /// Fills `target`, which has room for the window, until what is wanted is there; returns how many reads that took.
  using Read = std::uint64_t (*)(const ReadFile& file, const ReadWindow& window, MutableBytes target);

  SyncLane(Read read, std::size_t most) : read_(read) { buffer_.get(window_bytes(most)); }

  void submit(const ReadRequest& request) override;
  ReadCompletion wait() override;
  unsigned under_way() const override { return request_.file != nullptr ? 1 : 0; }

 private:
  Read read_;
  AlignedBuffer buffer_;
  ReadRequest request_;
  ReadWindow window_;
  std::chrono::steady_clock::time_point started_;
};

/// SyncLane::Read by pread(2).
std::uint64_t pread_window(const ReadFile& file, const ReadWindow& window, MutableBytes target);

}  // namespace shardkit
