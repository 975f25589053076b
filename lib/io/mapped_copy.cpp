#include "io/mapped_copy.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace shardkit {
namespace {

/// What this thread copies from at the moment. Written by the thread and by its signal handler alone.
struct CopySource {
  volatile std::uintptr_t begin = 0;
  volatile std::uintptr_t end = 0;
  volatile std::uintptr_t lost = 0;  ///< the first byte that could not be had; 0: none
};
thread_local CopySource copied;  // NOLINT: a signal handler has no other way to learn it

std::uintptr_t page_start(std::uintptr_t address) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return address / page * page;
}

/// Only what is async-signal-safe, and mmap, which on Linux is a bare system call.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (at >= copied.begin && at < copied.end) {
    const std::uintptr_t page = page_start(at);
    void* const target = reinterpret_cast<void*>(page);  // NOLINT: an address, not a number
    if (::mmap(target, copied.end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
      copied.lost = page > copied.begin ? page : copied.begin;
      return;
    }
  }
  ::signal(signal, SIG_DFL);  // on return the same access fails again, now without us
}

bool install_handler() {
  page_start(0);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  return ::sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

std::size_t copy_mapped(const std::byte* from, std::byte* to, std::size_t length) {
  [[maybe_unused]] static const bool installed = install_handler();
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  copied.lost = 0;
  copied.begin = begin;
  copied.end = begin + length;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, length);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copied.end = 0;
  return copied.lost == 0 ? length : copied.lost - begin;
}

}  // namespace shardkit
