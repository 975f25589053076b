#pragma once

#include <memory>
#include <string>

#include <unistd.h>

#include "core/error.hpp"
#include "gpu/direct_storage.hpp"

namespace shardkit_test {

/// cuFile over a FakeDevice, whose memory the host can write: reads with pread, and says of each that it went the way
/// that the test wants.
class FakeDirectStorage final : public shardkit::gpu::DirectStorage {
 public:
  struct Settings {
    shardkit::gpu::DirectReads way = {.nvidia_fs = 1};  ///< what a read adds
    bool counts = true;
    bool registers = true;
    bool loses_bytes = false;
  };
  explicit FakeDirectStorage(const Settings& settings) : settings_(settings) {}

  std::unique_ptr<shardkit::gpu::DirectFile> open(int fd, const std::string& path) override {
    return std::make_unique<FakeFile>(*this, fd, path);
  }
  bool register_memory(shardkit::gpu::DeviceSpan) override { return settings_.registers; }
  std::optional<shardkit::gpu::DirectReads> reads() const override {
    if (!settings_.counts) return std::nullopt;
    return settings_.way;
  }

 private:
  class FakeFile final : public shardkit::gpu::DirectFile {
   public:
    FakeFile(const FakeDirectStorage& storage, int fd, std::string path)
        : storage_(storage), fd_(fd), path_(std::move(path)) {}
    void read(shardkit::gpu::DeviceSpan to, std::uint64_t offset) override {
      if (storage_.settings_.loses_bytes) return;
      if (::pread(fd_, to.data, to.size, static_cast<off_t>(offset)) != static_cast<ssize_t>(to.size)) {
        throw shardkit::Error(shardkit::ErrorCode::io, "cuFile cannot read", path_, offset);
      }
    }

   private:
    const FakeDirectStorage& storage_;
    int fd_;
    std::string path_;
  };

  Settings settings_;
};

}  // namespace shardkit_test
