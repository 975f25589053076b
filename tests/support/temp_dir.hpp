#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/statvfs.h>
#include <unistd.h>

/// The system's temporary folder; for a test that makes so many small files that ext4 takes most of its time, one in memory,
/// where there is room.
inline std::filesystem::path temp_root() {
  constexpr std::uint64_t kRoom = std::uint64_t{2} << 30U;
  struct statvfs memory {};
  const bool fits = std::getenv("SHARDKIT_TEST_IN_MEMORY") != nullptr && ::statvfs("/dev/shm", &memory) == 0 &&
                    memory.f_bavail * memory.f_frsize >= kRoom && ::access("/dev/shm", W_OK) == 0;
  return fits ? "/dev/shm" : std::filesystem::temp_directory_path();
}

/// A new folder that goes with all it holds when the object does.
class TempDir {
 public:
  TempDir() : path_(temp_root() / "shardkit-test-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};
