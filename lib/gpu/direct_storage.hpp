#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/device.hpp"
#include "system/probe.hpp"

/// Reads files directly into GPU memory (GPUDirect Storage). Implemented with cuFile, and in tests with plain reads.
namespace shardkit::gpu {

/// How reads were made so far.
struct DirectReads {
  std::uint64_t nvidia_fs = 0;     ///< directly to the GPU, by the kernel module nvidia-fs
  std::uint64_t peer_to_peer = 0;  ///< directly to the GPU, by the kernel's own PCI peer-to-peer
  std::uint64_t posix = 0;         ///< compatibility mode: read to the host, then copied
};

/// A file for such reads. Thread-safe.
class DirectFile {
 public:
  virtual ~DirectFile() = default;
  /// Reads to.size bytes at `offset`, all of them. Throws Error{io} with path and offset.
  virtual void read(DeviceSpan to, std::uint64_t offset) = 0;
};

/// Thread-safe. Destroyed after its files.
class DirectStorage {
 public:
  virtual ~DirectStorage() = default;
  /// `fd` was opened with O_DIRECT and stays open longer than the file. Throws Error{unsupported} if it cannot be read
  /// in this way.
  virtual std::unique_ptr<DirectFile> open(int fd, const std::string& path) = 0;
  /// Registers memory as a target, so that reads need no intermediate step; false if that fails (there is a limit).
  /// Once; the memory outlives the storage.
  virtual bool register_memory(DeviceSpan memory) = 0;
  /// Empty if it cannot be known: of a library whose statistics shardkit does not know, or, before 1.15, where
  /// nvidia-fs does not count reads. Its counter is that of all processes.
  virtual std::optional<DirectReads> reads() const = 0;
};

/// Reads into memory of this GPU. Throws Error{unsupported} with one line that names what is missing: cuFile in this
/// build, its library, its driver. `probe` outlives it.
std::unique_ptr<DirectStorage> open_direct_storage(const Device& device, const system::Probe& probe);

}  // namespace shardkit::gpu
