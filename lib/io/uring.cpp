#include "io/uring.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/file.hpp"

namespace shardkit {
namespace {

constexpr const char* kInstead = "or use --engine pread";

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::unsupported, fmt::format("engine 'uring' cannot be had: {}, {}", why, kInstead));
}

/// "0", "1", "2"; empty before Linux 6.6.
std::string disabled_setting() {
  try {
    return read_text_file("/proc/sys/kernel/io_uring_disabled").substr(0, 1);
  } catch (const Error&) {
    return {};
  }
}

[[noreturn]] void refuse_not_permitted() {
  const std::string disabled = disabled_setting();
  if (disabled == "2") {
    refuse("kernel.io_uring_disabled is 2; allow it (sysctl kernel.io_uring_disabled=0)");
  }
  if (disabled == "1") {
    refuse(
        "kernel.io_uring_disabled is 1, which leaves it to CAP_SYS_ADMIN and the group kernel.io_uring_group; join "
        "that group, allow it to all (sysctl kernel.io_uring_disabled=0)");
  }
  refuse(
      "io_uring_setup is not permitted (EPERM): a seccomp filter, such as Docker's default profile, refuses it; start "
      "the container with a profile that allows io_uring (docker run --security-opt seccomp=FILE)");
}

[[noreturn]] void refuse_set_up(int error_number) {
  switch (error_number) {
    case ENOSYS:
      refuse("this kernel has no io_uring, or a filter says so (ENOSYS); use Linux 5.6 or later with CONFIG_IO_URING");
    case EPERM:
    case EACCES:
      refuse_not_permitted();
    case ENOMEM:
      refuse("its memory may not be locked (ENOMEM); raise the limit (ulimit -l), lower --depth or --threads");
    default:
      refuse(fmt::format("io_uring_setup: {}", std::generic_category().message(error_number)));
  }
}

/// Completions are handled when this thread asks for them, without interrupting it: what fio asks for, too. Kernels
/// before 6.1 know no such flags.
int set_up(unsigned entries, io_uring& ring) {
  constexpr unsigned kFlags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  const int result = ::io_uring_queue_init(entries, &ring, kFlags);
  return result == -EINVAL ? ::io_uring_queue_init(entries, &ring, 0) : result;
}

}  // namespace

Uring::Uring(unsigned entries) {
  const int result = set_up(entries, ring_);
  if (result < 0) refuse_set_up(-result);
  struct Free {
    void operator()(io_uring_probe* probe) const { std::free(probe); }
  };
  const std::unique_ptr<io_uring_probe, Free> probe(::io_uring_get_probe_ring(&ring_));
  if (probe && ::io_uring_opcode_supported(probe.get(), IORING_OP_READ) != 0) return;
  ::io_uring_queue_exit(&ring_);
  refuse("this kernel's io_uring is older than Linux 5.6; use a later one");
}

Uring::~Uring() { ::io_uring_queue_exit(&ring_); }

}  // namespace shardkit
