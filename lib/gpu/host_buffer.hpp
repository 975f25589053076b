#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"

namespace shardkit {

/// How host memory is had that a GPU copies from or to.
enum class HostMemory {
  pageable,        ///< as malloc gives it: the driver copies it through a pinned buffer of its own
  pinned,          ///< by cudaHostAlloc
  write_combined,  ///< the same, not cached
  registered       ///< pageable memory that was pinned afterwards, by cudaHostRegister
};
template <>
struct EnumNames<HostMemory> {
  static constexpr std::array<std::string_view, 4> names{"pageable", "pinned", "write-combined", "registered"};
};

/// Pages of the kernel that nobody had before: they come from the NUMA node of the thread that touches them first,
/// which is the one that makes them. Throws Error{no_space}.
class FreshPages {
 public:
  explicit FreshPages(std::size_t bytes);
  ~FreshPages();
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  MutableBytes bytes() const { return bytes_; }

 private:
  MutableBytes bytes_;
};

/// Host memory of some kind that frees itself; all zeros at first. It lies on the NUMA node that the thread is bound to
/// that makes it (system/numa_binding.hpp).
class HostBuffer {
 public:
  HostBuffer(Device& device, HostMemory kind, std::size_t bytes);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  HostMemory kind() const { return kind_; }
  MutableBytes bytes() const { return bytes_; }

 private:
  Device& device_;
  HostMemory kind_;
  std::unique_ptr<FreshPages> pages_;  ///< of pageable and registered memory
  MutableBytes bytes_;
};

}  // namespace shardkit
