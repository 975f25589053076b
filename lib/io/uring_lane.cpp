#include "io/uring_lane.hpp"

#include <cerrno>
#include <utility>

#include <sys/uio.h>

#include "core/error.hpp"

namespace shardkit {

UringLane::UringLane(unsigned depth, std::size_t most)
    : uring_(depth), slot_bytes_(window_bytes(most)), memory_(buffer_.get(slot_bytes_ * depth)), slots_(depth) {
  for (std::size_t slot = depth; slot > 0; --slot) free_.push_back(slot - 1);
  register_buffers();
}

UringLane::~UringLane() {
  // The kernel writes into our memory until a read is done; after a failure nobody has waited for the others.
  try {
    while (under_way_ > 0) {
      next_result();
      --under_way_;
    }
  } catch (const Error&) {  // NOLINT: the ring is broken; its end cancels what is left
  }
}

void UringLane::register_buffers() {
  std::vector<iovec> buffers;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) buffers.push_back({buffer_of(slot), slot_bytes_});
  buffer_failure_ = -::io_uring_register_buffers(&uring_.ring(), buffers.data(), static_cast<unsigned>(buffers.size()));
}

void UringLane::submit(const ReadRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  const ReadWindow window = request.file->window(request.offset, request.length);
  const std::size_t slot = free_.back();
  free_.pop_back();
  slots_[slot] = {request, window, 0, 0, started};
  prepare(slot);
  ++under_way_;
}

void UringLane::prepare(std::size_t slot) {
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

void UringLane::enter(unsigned least) {
  while (true) {
    const int result = ::io_uring_submit_and_wait(&uring_.ring(), least);
    if (result >= 0) return;
    if (result != -EINTR && result != -EAGAIN && result != -EBUSY) {
      throw system_error(-result, "submit reads to", "io_uring");
    }
  }
}

std::pair<std::size_t, int> UringLane::next_result() {
  io_uring_cqe* cqe = nullptr;
  while (::io_uring_peek_cqe(&uring_.ring(), &cqe) != 0) enter(1);
  if (::io_uring_sq_ready(&uring_.ring()) > 0) enter(0);
  const std::pair<std::size_t, int> result{static_cast<std::size_t>(::io_uring_cqe_get_data64(cqe)), cqe->res};
  ::io_uring_cqe_seen(&uring_.ring(), cqe);
  return result;
}

ReadCompletion UringLane::wait() {
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

}  // namespace shardkit
