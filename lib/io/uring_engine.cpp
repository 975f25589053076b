#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/read_engine.hpp"

namespace shardkit::io {
namespace {

constexpr const char* kInstead = "or use --engine pread";

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::unsupported, fmt::format("engine 'uring' is not available: {}, {}", why, kInstead));
}

/// "0", "1", "2"; empty before Linux 6.6.
std::string disabled_setting() {
  try {
    return read_text_file("/proc/sys/kernel/io_uring_disabled").substr(0, 1);
  } catch (const Error&) {
    return {};
  }
}

/// kernel.io_uring_disabled forbids the setup of a ring.
void refuse_disabled() {
  const std::string disabled = disabled_setting();
  if (disabled == "2") {
    refuse("kernel.io_uring_disabled is 2 (EPERM); allow it (sysctl kernel.io_uring_disabled=0)");
  }
  if (disabled == "1") {
    refuse(
        "kernel.io_uring_disabled is 1 (EPERM), which allows it only to CAP_SYS_ADMIN and the group "
        "kernel.io_uring_group; join that group, or allow it to all (sysctl kernel.io_uring_disabled=0)");
  }
}

/// The error of `call`, a possible reason, and the remedy.
[[noreturn]] void refuse_call(const char* call, int error_number) {
  switch (error_number) {
    case ENOSYS:
      refuse(
          fmt::format("{} does not exist (ENOSYS): this kernel has no io_uring, or a filter hides it; use Linux 5.6 or "
                      "later with CONFIG_IO_URING",
                      call));
    case EPERM:
    case EACCES:
      refuse(
          fmt::format("{} is not permitted ({}): a seccomp filter, such as Docker's default profile, blocks it; start "
                      "the container with a profile that allows io_uring (docker run --security-opt seccomp=FILE)",
                      call, error_number == EPERM ? "EPERM" : "EACCES"));
    case ENOMEM:
      refuse(fmt::format(
          "{}: its memory cannot be locked (ENOMEM); raise the limit (ulimit -l), or lower --depth or --threads",
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

/// Queries the ring's features; 0, or the reason for a failure.
int probe(io_uring& ring, bool& reads) {
  constexpr unsigned kOperations = 256;
  std::vector<std::uint64_t> memory((sizeof(io_uring_probe) + kOperations * sizeof(io_uring_probe_op)) / 8);
  auto* const answer = reinterpret_cast<io_uring_probe*>(memory.data());
  const int result = ::io_uring_register_probe(&ring, answer, kOperations);
  reads = result >= 0 && ::io_uring_opcode_supported(answer, IORING_OP_READ) != 0;
  return result < 0 ? -result : 0;
}

[[noreturn]] void refuse_probe(int error_number) {
  // Both exist since Linux 5.6; an older kernel does not know the query.
  if (error_number == EINVAL) refuse("this kernel's io_uring is older than Linux 5.6 (EINVAL); use a later one");
  if (error_number == 0) {
    refuse("this kernel's io_uring has no reads (IORING_OP_READ), which need Linux 5.6; use a later one");
  }
  refuse_call("io_uring_register (IORING_REGISTER_PROBE)", error_number);
}

/// Completions are handled when this thread asks for them, without interrupting it, as in fio. Kernels before 6.1 do
/// not know these flags.
int set_up(unsigned entries, io_uring& ring) {
  constexpr unsigned kFlags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  const int result = ::io_uring_queue_init(entries, &ring, kFlags);
  return result == -EINVAL ? ::io_uring_queue_init(entries, &ring, 0) : result;
}

/// A ring of io_uring(7) for one thread. Movable by no one: the kernel knows its address.
class Uring {
 public:
  /// Throws Error{unsupported} that names the call that was refused, its errno, the cause (no such call, a filter,
  /// kernel.io_uring_disabled, the limit of locked memory, a kernel before 5.6) and the remedy.
  explicit Uring(unsigned entries) {
    const int result = set_up(entries, ring_);
    if (result < 0) refuse_set_up(-result);
    bool reads = false;
    const int refused = probe(ring_, reads);
    if (reads) return;
    ::io_uring_queue_exit(&ring_);
    refuse_probe(refused);
  }

  ~Uring() { ::io_uring_queue_exit(&ring_); }
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  io_uring& ring() { return ring_; }

 private:
  io_uring ring_{};
};

class UringLane final : public ReadLane {
 public:
  UringLane(unsigned depth, std::size_t most)
      : uring_(depth), slot_bytes_(window_bytes(most)), memory_(buffer_.get(slot_bytes_ * depth)), slots_(depth) {
    for (std::size_t slot = depth; slot > 0; --slot) free_.push_back(slot - 1);
    register_buffers();
  }

  ~UringLane() override {
    // The kernel writes into our memory until a read is done; after a failure the others are still in flight.
    try {
      while (under_way_ > 0) {
        next_result();
        --under_way_;
      }
    } catch (const Error&) {  // NOLINT: the ring is broken; its end cancels the rest
    }
  }

  void submit(const ReadRequest& request) override {
    const auto started = std::chrono::steady_clock::now();
    const ReadWindow window = request.file->window(request.offset, request.length);
    const std::size_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {request, window, 0, 0, started};
    prepare(slot);
    ++under_way_;
  }

  ReadCompletion wait() override {
    while (true) {
      const auto [slot, got] = next_result();
      Slot& state = slots_[slot];
      if (got == -EINTR || got == -EAGAIN) {
        prepare(slot);
        continue;
      }
      const auto finish = [&, slot = slot] {
        free_.push_back(slot);
        --under_way_;
        return std::exchange(state.request, {});
      };
      if (got < 0) finish().file->report_failure(-got, state.window.begin + state.done);
      ++state.kernel_reads;
      state.done += static_cast<std::size_t>(got);
      bool more = false;
      try {
        more = state.request.file->wants_more(state.window, state.done, static_cast<std::size_t>(got));
      } catch (const Error&) {
        finish();
        throw;
      }
      if (more) {
        prepare(slot);
        continue;
      }
      const ReadRequest request = finish();
      const MutableBytes bytes(buffer_of(slot) + state.window.skip, state.window.wanted);
      return {bytes, request.tag, request.offset, state.started, std::chrono::steady_clock::now(), state.kernel_reads};
    }
  }

  unsigned under_way() const override { return under_way_; }

  /// 0, or the errno of registering the buffers.
  int buffer_failure() const { return buffer_failure_; }

 private:
  struct Slot {
    ReadRequest request;
    ReadWindow window;
    std::size_t done = 0;
    std::uint64_t kernel_reads = 0;
    std::chrono::steady_clock::time_point started;
  };

  std::byte* buffer_of(std::size_t slot) { return memory_.data() + slot * slot_bytes_; }

  void register_buffers() {
    std::vector<iovec> buffers;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) buffers.push_back({buffer_of(slot), slot_bytes_});
    buffer_failure_ =
        -::io_uring_register_buffers(&uring_.ring(), buffers.data(), static_cast<unsigned>(buffers.size()));
  }

  /// Prepares the read of the missing part of a slot.
  void prepare(std::size_t slot) {
    const Slot& state = slots_[slot];
    io_uring_sqe* const sqe = ::io_uring_get_sqe(&uring_.ring());  // there is one for each slot
    const auto length = static_cast<unsigned>(state.window.length - state.done);
    const int fd = state.request.file->file().fd();
    std::byte* const target = buffer_of(slot) + state.done;
    const std::uint64_t offset = state.window.begin + state.done;
    if (buffer_failure_ == 0) {
      ::io_uring_prep_read_fixed(sqe, fd, target, length, offset, static_cast<int>(slot));
    } else {
      ::io_uring_prep_read(sqe, fd, target, length, offset);
    }
    ::io_uring_sqe_set_data64(sqe, slot);
  }

  /// Submits the prepared reads to the kernel, and waits for one if none is done. Returns a slot and its result.
  std::pair<std::size_t, int> next_result() {
    io_uring_cqe* cqe = nullptr;
    while (::io_uring_peek_cqe(&uring_.ring(), &cqe) != 0) enter(1);
    if (::io_uring_sq_ready(&uring_.ring()) > 0) enter(0);
    const std::pair<std::size_t, int> result{static_cast<std::size_t>(::io_uring_cqe_get_data64(cqe)), cqe->res};
    ::io_uring_cqe_seen(&uring_.ring(), cqe);
    return result;
  }

  /// Submits the prepared reads to the kernel and waits for `least`; tries again while the kernel lacks resources.
  void enter(unsigned least) {
    while (true) {
      const int result = ::io_uring_submit_and_wait(&uring_.ring(), least);
      if (result >= 0) return;
      if (result != -EINTR && result != -EAGAIN && result != -EBUSY) {
        throw system_error(-result, "submit reads to", "io_uring");
      }
    }
  }

  Uring uring_;
  std::size_t slot_bytes_;
  AlignedBuffer buffer_;
  MutableBytes memory_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  unsigned under_way_ = 0;
  int buffer_failure_ = 0;
};

class UringEngine final : public ReadEngine {
 public:
  explicit UringEngine(const ReadEngineOptions& options) : opener_(options), depth_(options.depth) {
    const Uring trial(1);  // throws before caches are touched
  }
  unsigned depth() const override { return depth_; }
  std::shared_ptr<const ReadFile> open(const std::string& path) const override { return opener_.open(path); }

  std::unique_ptr<ReadLane> make_lane(std::size_t most) const override {
    auto lane = std::make_unique<UringLane>(depth_, most);
    if (lane->buffer_failure() != 0) buffer_failure_ = lane->buffer_failure();
    return lane;
  }

  std::optional<std::string> remark() const override {
    const int failure = buffer_failure_;
    if (failure == 0) return std::nullopt;
    return fmt::format(
        "the buffers of engine 'uring' could not be registered ({}), so each direct read pins its memory again; {}",
        std::generic_category().message(failure),
        failure == ENOMEM ? "raise the limit of locked memory (ulimit -l) to --threads x --depth x --block"
                          : "a smaller --block may help");
  }

 private:
  FileOpener opener_;
  unsigned depth_;
  mutable std::atomic<int> buffer_failure_{0};
};

}  // namespace

std::unique_ptr<ReadEngine> make_uring_engine(const ReadEngineOptions& options) {
  return std::make_unique<UringEngine>(options);
}

}  // namespace shardkit::io
