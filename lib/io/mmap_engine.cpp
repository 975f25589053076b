#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>

#include "core/error.hpp"
#include "io/read_engine.hpp"

namespace shardkit::io {
namespace {

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
    throw Error(ErrorCode::unsupported, At{file().path()}, "{}; use --engine pread", error.what());
  }

  void* map_ = nullptr;
};

/// A file that is cut behind the last page ends the process by SIGBUS, as it ends loaders that map files.
std::uint64_t copy_window(const ReadFile& file, const ReadWindow& window, MutableBytes target) {
  std::memcpy(target.data(), static_cast<const MappedFile&>(file).at(window.begin), window.length);
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
                "engine 'mmap' reads through the page cache; --direct needs --engine pread or uring");
  }
  return std::make_unique<MmapEngine>(options.random);
}

}  // namespace shardkit::io
