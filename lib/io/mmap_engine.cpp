#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/read_engine.hpp"

namespace shardkit::io {
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

/// Copies `length` bytes out of a mapped file and returns how many of them are the file's: fewer when a page could not
/// be had because the file was cut or its disk failed. The kernel says so by SIGBUS; this room's handler, which the
/// first call puts in place for the process, maps empty pages over the rest of the range, so that the copying ends as
/// if nothing were wrong and no stack is unwound by a jump. The mapping is not to be used any more then. A SIGBUS from
/// anywhere else ends the process as ever. Thread-safe.
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

constexpr std::uint64_t kSmallestPage = 4096;

class MappedFile final : public ReadFile {
 public:
  MappedFile(File opened, bool random) : ReadFile(std::move(opened)) {
    if (size() == 0) return;
    map_ = ::mmap(nullptr, size(), PROT_READ, MAP_SHARED, file().fd(), 0);
    if (map_ == MAP_FAILED) {
      const int failure = errno;
      map_ = nullptr;
      refuse(failure);
    }
    ::madvise(map_, size(), random ? MADV_RANDOM : MADV_SEQUENTIAL);
  }
  ~MappedFile() override {
    if (map_ != nullptr) ::munmap(map_, size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* at(std::uint64_t offset) const { return static_cast<const std::byte*>(map_) + offset; }

 private:
  [[noreturn]] void refuse(int failure) const {
    const Error error = system_error(failure, "map", file().path());
    if (failure != ENODEV) throw error;
    throw Error(ErrorCode::unsupported, fmt::format("{}; --engine pread reads it", error.what()), file().path());
  }

  void* map_ = nullptr;
};

/// Says why a page could not be had: the file was cut, or its disk failed.
[[noreturn]] void report_lost(const ReadFile& file, std::uint64_t offset) {
  const std::uint64_t size = file.file().size();
  if (size < file.size()) file.report_shrunk(size);
  std::byte byte{};
  file.file().read_at(offset, {&byte, 1});  // throws what the disk says
  file.report_failure(EIO, offset);
}

std::uint64_t copy_window(const ReadFile& file, const ReadWindow& window, MutableBytes target) {
  const auto& mapped = static_cast<const MappedFile&>(file);
  const std::size_t got = copy_mapped(mapped.at(window.begin), target.data(), window.length);
  if (got < window.length) report_lost(file, window.begin + got);
  // A cut within the last page reads as zeros. Elsewhere the pages behind the cut tell.
  const bool at_end = window.begin + window.length + kSmallestPage > file.size();
  if (at_end && file.file().size() < window.begin + window.length) file.report_shrunk(file.file().size());
  return 1;
}

class MmapEngine final : public ReadEngine {
 public:
  explicit MmapEngine(bool random) : random_(random) {}
  unsigned depth() const override { return 1; }
  std::shared_ptr<const ReadFile> open(const std::string& path) const override {
    return std::make_shared<MappedFile>(File::open_read(path), random_);
  }
  std::unique_ptr<ReadLane> make_lane(std::size_t most) const override {
    return std::make_unique<SyncLane>(copy_window, most);
  }

 private:
  bool random_;
};

}  // namespace

std::unique_ptr<ReadEngine> make_mmap_engine(const ReadEngineOptions& options) {
  if (options.direct) {
    throw Error(ErrorCode::unsupported,
                "engine 'mmap' reads through the page cache: --direct needs --engine pread or uring");
  }
  return std::make_unique<MmapEngine>(options.random);
}

}  // namespace shardkit::io
