#pragma once

#include <cstddef>

#include <liburing.h>

namespace shardkit {

/// A ring of io_uring(7) for one thread. Movable by no one: the kernel knows its address.
class Uring {
 public:
  /// Throws Error{unsupported} that names the call that was refused, its errno, the cause (no such call, a filter,
  /// kernel.io_uring_disabled, the limit of locked memory, a kernel before 5.6) and the remedy.
  explicit Uring(unsigned entries);
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  io_uring& ring() { return ring_; }

 private:
  io_uring ring_{};
};

}  // namespace shardkit
