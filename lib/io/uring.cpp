#include "io/uring.hpp"

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

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

/// Setting a ring up is what kernel.io_uring_disabled forbids.
void refuse_disabled() {
  const std::string disabled = disabled_setting();
  if (disabled == "2") {
    refuse("kernel.io_uring_disabled is 2 (EPERM); allow it (sysctl kernel.io_uring_disabled=0)");
  }
  if (disabled == "1") {
    refuse(
        "kernel.io_uring_disabled is 1 (EPERM), which leaves it to CAP_SYS_ADMIN and the group "
        "kernel.io_uring_group; join that group, allow it to all (sysctl kernel.io_uring_disabled=0)");
  }
}

/// What `call` ended with, why that may be, and what to do.
[[noreturn]] void refuse_call(const char* call, int error_number) {
  switch (error_number) {
    case ENOSYS:
      refuse(
          fmt::format("{} is not there (ENOSYS): this kernel has no io_uring, or a filter says so; use Linux 5.6 or "
                      "later with CONFIG_IO_URING",
                      call));
    case EPERM:
    case EACCES:
      refuse(
          fmt::format("{} is not permitted ({}): a seccomp filter, such as Docker's default profile, refuses it; "
                      "start the container with a profile that allows io_uring (docker run --security-opt "
                      "seccomp=FILE)",
                      call, error_number == EPERM ? "EPERM" : "EACCES"));
    case ENOMEM:
      refuse(
          fmt::format("{}: its memory may not be locked (ENOMEM); raise the limit (ulimit -l), lower --depth or "
                      "--threads",
                      call));
    default:
      refuse(
          fmt::format("{} failed: {} (errno {})", call, std::generic_category().message(error_number), error_number));
  }
}

[[noreturn]] void refuse_set_up(int error_number) {
  if (error_number == EPERM || error_number == EACCES) refuse_disabled();
  refuse_call("io_uring_setup", error_number);
}

/// Asks what the ring can do; 0, or why it does not say.
int probe(io_uring& ring, bool& reads) {
  constexpr unsigned kOperations = 256;
  std::vector<std::uint64_t> memory((sizeof(io_uring_probe) + kOperations * sizeof(io_uring_probe_op)) / 8);
  auto* const answer = reinterpret_cast<io_uring_probe*>(memory.data());
  const int result = ::io_uring_register_probe(&ring, answer, kOperations);
  reads = result >= 0 && ::io_uring_opcode_supported(answer, IORING_OP_READ) != 0;
  return result < 0 ? -result : 0;
}

[[noreturn]] void refuse_probe(int error_number) {
  // Both came with Linux 5.6; an older kernel does not know what it is asked.
  if (error_number == EINVAL) refuse("this kernel's io_uring is older than Linux 5.6 (EINVAL); use a later one");
  if (error_number == 0) {
    refuse("this kernel's io_uring has no reads (IORING_OP_READ), which came with Linux 5.6; use a later one");
  }
  refuse_call("io_uring_register (IORING_REGISTER_PROBE)", error_number);
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
  bool reads = false;
  const int refused = probe(ring_, reads);
  if (reads) return;
  ::io_uring_queue_exit(&ring_);
  refuse_probe(refused);
}

Uring::~Uring() { ::io_uring_queue_exit(&ring_); }

}  // namespace shardkit
