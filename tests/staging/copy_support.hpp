#pragma once

#include <memory>
#include <string>

#include "io/file_system.hpp"
#include "staging/file_copy.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

/// A file that is being put together in a folder of its own.
struct CopyFixture {
  explicit CopyFixture(std::string content, shardkit::staging::CopySteps steps = {16})
      : content_(std::move(content)), steps_(steps) {}

  shardkit::staging::StageFile file() const { return {{"x.bin", content_.size(), "v1"}, {}, {}}; }
  std::string partial() const { return dir.path("x.partial"); }

  /// Opens the copy, as another process would after the first is gone.
  std::shared_ptr<shardkit::staging::FileCopy> open() {
    return std::make_shared<shardkit::staging::FileCopy>(
        file(), files->open_patch(partial()), shardkit::staging::PartLog(*files, dir.path("x.parts")), steps_, gate);
  }

  /// Stores the claimed bytes, or the first `bytes` of them; true when the file is to be settled.
  bool deliver(shardkit::staging::FileCopy& copy, shardkit::staging::ByteRange range, std::uint64_t bytes = ~0ULL,
               bool tend = false) const {
    const std::uint64_t end = std::min(range.end, range.begin + std::min(bytes, range.size()));
    const std::uint64_t piece = 1 + range.size() / 4;
    for (std::uint64_t at = range.begin; at < end; at += piece) {
      const std::string block = content_.substr(at, std::min(piece, end - at));
      copy.write(at, shardkit::as_bytes(block));
    }
    if (tend) copy.hash_and_save({});
    return copy.release(range, end);
  }

  shardkit::Hash128 right_hash() const { return shardkit::xxh3_128(shardkit::as_bytes(content_)); }

  TempDir dir;
  std::unique_ptr<shardkit::io::FileSystem> files = shardkit::io::posix_file_system();
  std::string content_;
  shardkit::staging::CopySteps steps_;
  shardkit::staging::DiskGate gate;
};
