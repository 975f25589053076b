#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/direct_storage.hpp"
#include "gpu/host_buffer.hpp"
#include "io/file.hpp"

namespace shardkit {

/// One thread's way of bringing parts of a file to a GPU.
class FileToDevice {
 public:
  virtual ~FileToDevice() = default;
  /// to.size bytes at `offset`. They are there once finish() has returned.
  virtual void bring(DeviceSpan to, std::uint64_t offset) = 0;
  virtual void finish() = 0;
};

/// Reads into pinned memory, two blocks of it in turn, and copies one while it reads the other. `file` outlives it.
class ReadAndCopy final : public FileToDevice {
 public:
  ReadAndCopy(Device& device, const File& file, std::size_t block);
  ~ReadAndCopy() override;
  ReadAndCopy(const ReadAndCopy&) = delete;
  ReadAndCopy& operator=(const ReadAndCopy&) = delete;

  void bring(DeviceSpan to, std::uint64_t offset) override;
  void finish() override;

 private:
  struct Slot {
    std::unique_ptr<HostBuffer> host;
    std::unique_ptr<Stream> stream;
  };
  const File& file_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

/// By cuFile, whose reads return when the bytes are there. `file` outlives it.
class ReadDirectly final : public FileToDevice {
 public:
  explicit ReadDirectly(DirectFile& file) : file_(file) {}
  void bring(DeviceSpan to, std::uint64_t offset) override { file_.read(to, offset); }
  void finish() override {}

 private:
  DirectFile& file_;
};

/// Reads all of `buffer` at `offset`. Throws Error{io}, also for a file that has become shorter.
void read_fully(const File& file, std::uint64_t offset, MutableBytes buffer);

}  // namespace shardkit
