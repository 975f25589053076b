#include "bench/transfer/file_reader.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {

void read_fully(const File& file, std::uint64_t offset, MutableBytes buffer) {
  const std::size_t got = file.read_at(offset, buffer);
  if (got == buffer.size()) return;
  throw Error(ErrorCode::io,
              fmt::format("'{}' ends at byte {}: it has become shorter while it was read", file.path(), offset + got),
              file.path(), offset + got);
}

ReadAndCopy::ReadAndCopy(Device& device, const File& file, std::size_t block) : file_(file) {
  for (int i = 0; i < 2; ++i) {
    slots_.push_back({std::make_unique<HostBuffer>(device, HostMemory::pinned, block), device.make_stream()});
  }
}

/// A copy that is on its way still reads the pinned memory.
ReadAndCopy::~ReadAndCopy() {
  try {
    finish();
  } catch (const Error&) {  // what failed was told before
  }
}

void ReadAndCopy::bring(DeviceSpan to, std::uint64_t offset) {
  Slot& slot = slots_[next_++ % slots_.size()];
  slot.stream->synchronize();
  const MutableBytes bytes = slot.host->bytes().first(to.size);
  read_fully(file_, offset, bytes);
  slot.stream->copy_to_device(to, bytes);
}

void ReadAndCopy::finish() {
  for (const Slot& slot : slots_) slot.stream->synchronize();
}

}  // namespace shardkit
