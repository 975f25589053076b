#include "gpu/host_buffer.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {

FreshPages::FreshPages(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::no_space, fmt::format("no {} of memory: {}", format_size(bytes), std::strerror(errno)));
  }
  bytes_ = {static_cast<std::byte*>(memory), bytes};
  std::memset(memory, 0, bytes);
}

FreshPages::~FreshPages() { ::munmap(bytes_.data(), bytes_.size()); }

HostBuffer::HostBuffer(Device& device, HostMemory kind, std::size_t bytes) : device_(device), kind_(kind) {
  if (kind == HostMemory::pinned || kind == HostMemory::write_combined) {
    bytes_ = device_.allocate_pinned(bytes, kind == HostMemory::write_combined);
    std::memset(bytes_.data(), 0, bytes_.size());
    return;
  }
  pages_ = std::make_unique<FreshPages>(bytes);
  bytes_ = pages_->bytes();
  if (kind == HostMemory::registered) device_.register_memory(bytes_);
}

HostBuffer::~HostBuffer() {
  if (kind_ == HostMemory::registered) device_.unregister_memory(bytes_);
  if (!pages_) device_.free_pinned(bytes_);
}

}  // namespace shardkit
