#include "io/file_system.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/file.hpp"

namespace shardkit {
namespace {

class PosixFile final : public WritableFile {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixFile() override { ::close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  void write(Bytes bytes) override {
    while (!bytes.empty()) {
      const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) throw system_error(errno, "write", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }

  void sync() override {
    if (::fdatasync(fd_) != 0) throw system_error(errno, "sync", path_);
  }

  void start_writeback(std::uint64_t end) override {
    // A hint: file systems that do not know it lose nothing but the early start.
    const auto from = static_cast<off_t>(written_back_);
    if (end > written_back_) ::sync_file_range(fd_, from, static_cast<off_t>(end) - from, SYNC_FILE_RANGE_WRITE);
    written_back_ = end;
  }

  void truncate(std::uint64_t size) override {
    const auto end = static_cast<off_t>(size);
    if (::ftruncate(fd_, end) != 0) throw system_error(errno, "shorten", path_);
    if (::lseek(fd_, end, SEEK_SET) != end) throw system_error(errno, "seek in", path_);
  }

 private:
  int fd_;
  std::string path_;
  std::uint64_t written_back_ = 0;
};

class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) throw system_error(errno, "create", path);
    return locked(fd, path);
  }

  std::unique_ptr<WritableFile> reopen(const std::string& path, std::uint64_t size) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) throw system_error(errno, "open", path);
    auto file = locked(fd, path);
    file->truncate(size);
    return file;
  }

  void create_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) throw system_error(error.value(), "create folder", path);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) throw system_error(errno, "rename to", to);
  }

  bool rename_new(const std::string& from, const std::string& to) override {
    // link() rather than renameat2(RENAME_NOREPLACE), which NFS and FUSE lack.
    if (::link(from.c_str(), to.c_str()) != 0) {
      if (errno == EEXIST) return false;
      throw system_error(errno, "publish", to);
    }
    remove(from);
    return true;
  }

  void sync_directory(const std::string& path) override {
    const File folder = File::open_read(path, O_DIRECTORY);
    // Some network file systems refuse fsync on a folder; their renames are durable when they return.
    if (::fsync(folder.fd()) != 0 && errno != EINVAL && errno != ENOTSUP) throw system_error(errno, "sync", path);
  }

  void remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw system_error(errno, "remove", path);
  }

 private:
  static std::unique_ptr<WritableFile> locked(int fd, const std::string& path) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    ::fcntl(fd, F_OFD_SETLK, &whole);  // some file systems have no locks; then age alone tells a stale temporary
    return std::make_unique<PosixFile>(fd, path);
  }
};

}  // namespace

std::unique_ptr<FileSystem> posix_file_system() { return std::make_unique<PosixFileSystem>(); }

}  // namespace shardkit
