#include "io/file_system.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"

namespace shardkit::io {
namespace {

/// F_OFD_SETLK over the whole file; the errno, 0 when it was done.
int set_lock(int fd, short type) {
  struct flock whole {};
  whole.l_type = type;
  while (::fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Whether the open file is the one that `named` describes.
bool is_same_file(const File& file, const struct stat& named) {
  struct stat open {};
  return ::fstat(file.fd(), &open) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

[[noreturn]] void refuse_without_locks(const std::string& path) {
  throw Error(ErrorCode::unsupported, At{path},
              "the file system of '{}' does not support locks; choose a folder on a local disk", path);
}

class PosixFile final : public WritableFile {
 public:
  explicit PosixFile(File file) : file_(std::move(file)) {}

  void write(Bytes bytes) override { write_all(file_, bytes); }

  void sync() override {
    if (::fdatasync(file_.fd()) != 0) throw system_error(errno, "sync", file_.path());
  }

 private:
  File file_;
};

class PosixPatchFile final : public PatchFile {
 public:
  explicit PosixPatchFile(File file) : file_(std::move(file)) {}

  void write_at(std::uint64_t offset, Bytes bytes) override {
    const Bytes pages = bytes.first(is_direct_ && is_aligned(offset, bytes) ? bytes.size() / kPage * kPage : 0);
    if (write_to(direct_, offset, pages) == 0) {
      offset += pages.size();
      bytes = bytes.subspan(pages.size());
    } else {
      is_direct_ = false;  // the file system accepted the flag and ignored it
    }
    if (write_to(file_, offset, bytes) != 0) throw system_error(EINVAL, "write", file_.path());
  }

  void resize(std::uint64_t size) override {
    if (::ftruncate(file_.fd(), static_cast<off_t>(size)) != 0) throw system_error(errno, "resize", file_.path());
  }

  void sync() override {
    if (::fdatasync(file_.fd()) != 0) throw system_error(errno, "sync", file_.path());
  }

  void reserve(std::uint64_t size) override {
    if (file_.size() >= size) return;
    int failed = 0;
    do {
      failed = ::fallocate(file_.fd(), 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
    } while (failed == EINTR);
    if (failed == 0) return;
    // Some file systems do not know it, and some containers forbid it; the space is then taken by the writes.
    if (failed != EOPNOTSUPP && failed != ENOSYS && failed != EPERM)
      throw system_error(failed, "reserve space for", file_.path());
    resize(size);
  }

  bool bypass_cache() override {
    const FileSystemKind kind = file_system_kind(file_);
    if (kind == FileSystemKind::memory || kind == FileSystemKind::network) return false;
    direct_ = File(::open(fmt::format("/proc/self/fd/{}", file_.fd()).c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC),
                   file_.path());
    return is_direct_ = static_cast<bool>(direct_);
  }

  void write_back(std::uint64_t offset, std::uint64_t length) override {
    // File systems that do not know it make the next sync longer.
    constexpr unsigned kAndWait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (!is_direct_) ::sync_file_range(file_.fd(), static_cast<off_t>(offset), static_cast<off_t>(length), kAndWait);
  }

  void drop_cached(std::uint64_t end) override {
    ::posix_fadvise(file_.fd(), 0, static_cast<off_t>(end), POSIX_FADV_DONTNEED);
  }

  const File& file() const override { return file_; }

 private:
  static constexpr std::uint64_t kPage = AlignedBuffer::kAlignment;  // accepted by every disk and file system

  static bool is_aligned(std::uint64_t offset, Bytes bytes) {
    return offset % kPage == 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % kPage == 0;
  }

  /// EINVAL if the first write ends with it, else 0 or an Error.
  static int write_to(const File& file, std::uint64_t offset, Bytes bytes) {
    for (bool first = true; !bytes.empty(); first = false) {
      const ssize_t wrote = ::pwrite(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0 && errno == EINVAL && first) return EINVAL;
      if (wrote <= 0) throw system_error(wrote < 0 ? errno : ENOSPC, "write", file.path());
      offset += static_cast<std::uint64_t>(wrote);
      bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    }
    return 0;
  }

  File file_;
  File direct_;  ///< the same file
  std::atomic<bool> is_direct_ = false;
};

class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<PatchFile> create(const std::string& path, const std::string& shown) override {
    while (true) {
      File file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666), shown);
      if (!file) throw system_error(errno, "create", shown);
      // Until it is locked, another process's remove_stale_temps() may treat it as a leftover.
      if (try_lock(file) != LockAttempt::held_elsewhere && is_linked(file)) {
        return std::make_unique<PosixPatchFile>(std::move(file));
      }
      remove(path);
    }
  }

  std::unique_ptr<PatchFile> open_patch(const std::string& path) override {
    while (true) {
      File file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666), path);
      if (!file) throw system_error(errno, "open", path);
      const LockAttempt lock = try_lock(file);
      if (lock == LockAttempt::held_elsewhere) return nullptr;
      if (lock == LockAttempt::no_locks_here) refuse_without_locks(path);
      if (has_name(file, path)) return std::make_unique<PosixPatchFile>(std::move(file));
    }
  }

  std::unique_ptr<WritableFile> open_append(const std::string& path) override {
    File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666), path);
    if (!file) throw system_error(errno, "open", path);
    return std::make_unique<PosixFile>(std::move(file));
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
    return rename_new_at(AT_FDCWD, from, AT_FDCWD, to, to);
  }

  void sync_directory(const std::string& path) override {
    const File folder = File::open_read(path, O_DIRECTORY);
    // Some network file systems refuse fsync on a folder; their renames are durable when they return.
    if (::fsync(folder.fd()) != 0 && errno != EINVAL && errno != ENOTSUP) throw system_error(errno, "sync", path);
  }

  void remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw system_error(errno, "remove", path);
  }

  std::unique_ptr<WritableFile> create_below(const File& folder, const std::string& name) override {
    const std::string path = folder.path() + "/" + name;
    File file(::openat(folder.fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666), path);
    if (!file) throw system_error(errno, "create", path);
    return std::make_unique<PosixFile>(std::move(file));
  }

  bool rename_new_below(const File& from_folder, const std::string& from, const File& to_folder,
                        const std::string& to) override {
    return rename_new_at(from_folder.fd(), from, to_folder.fd(), to, to_folder.path() + "/" + to);
  }

  void remove_below(const File& folder, const std::string& name) override {
    if (::unlinkat(folder.fd(), name.c_str(), 0) != 0 && errno != ENOENT) {
      throw system_error(errno, "remove", folder.path() + "/" + name);
    }
  }

  void sync_all(const File& folder) override {
    if (::syncfs(folder.fd()) != 0) throw system_error(errno, "sync", folder.path());
  }

 private:
  /// `path` of the new name is for messages.
  static bool rename_new_at(int from_folder, const std::string& from, int to_folder, const std::string& to,
                            const std::string& path) {
    if (::renameat2(from_folder, from.c_str(), to_folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
    const int failure = errno;
    // NFS and many FUSE file systems lack the flag, exFAT lacks links.
    if (failure != EEXIST && ::linkat(from_folder, from.c_str(), to_folder, to.c_str(), 0) == 0) {
      if (::unlinkat(from_folder, from.c_str(), 0) != 0 && errno != ENOENT) throw system_error(errno, "remove", from);
      return true;
    }
    if (errno == EEXIST) return false;
    const bool lacks_flag = failure == EINVAL || failure == ENOSYS;
    const bool lacks_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
    if (lacks_flag && lacks_links) {
      throw Error(ErrorCode::unsupported, At{path},
                  "cannot publish '{}': its file system has no hard links and cannot rename without replacing a file; "
                  "use a folder on another file system",
                  path);
    }
    throw system_error(lacks_flag ? errno : failure, "publish", path);
  }

  /// False when somebody has removed the file's only name.
  static bool is_linked(const File& file) {
    struct stat info {};
    return ::fstat(file.fd(), &info) != 0 || info.st_nlink > 0;
  }

  /// False if `path` is another file by now: the previous holder of the lock has renamed or removed it.
  static bool has_name(const File& file, const std::string& path) {
    struct stat named {};
    return ::lstat(path.c_str(), &named) == 0 && is_same_file(file, named);
  }
};

/// Opens a lock file, possibly of another user: without O_CREAT, which fs.protected_regular refuses in sticky folders,
/// and finally only for reading, which is enough to share.
int open_lock(const std::string& path) {
  constexpr int kAlways = O_NOFOLLOW | O_CLOEXEC;
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | kAlways, 0666);
  for (const int access : {O_RDWR, O_RDONLY}) {
    if (fd >= 0 || errno != EACCES) break;
    fd = ::open(path.c_str(), access | kAlways);
    if (fd < 0 && errno == ENOENT) errno = EACCES;  // it could not be made
  }
  return fd;
}

}  // namespace

Unpublished FileSystem::create_for(const std::string& path) {
  std::string temp = temp_name(path);
  auto file = create(temp, path);
  return {std::move(temp), std::move(file)};
}

std::optional<std::uint64_t> FileSystem::size_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

bool FileSystem::exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::unique_ptr<ByteSource> FileSystem::open(const std::string& path) { return std::make_unique<FileSource>(path); }

std::vector<std::string> FileSystem::names_in(const std::string& folder) {
  const File opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder);
  return opened ? io::names_in(opened) : std::vector<std::string>();
}

LockAttempt try_lock(const File& file) {
  const int error = set_lock(file.fd(), F_WRLCK);
  if (error == 0) return LockAttempt::taken;
  return error == EAGAIN || error == EACCES ? LockAttempt::held_elsewhere : LockAttempt::no_locks_here;
}

std::unique_ptr<FileSystem> posix_file_system() { return std::make_unique<PosixFileSystem>(); }

FolderLock::FolderLock(const std::string& path) : file_(open_lock(path), path) {
  if (!file_) throw system_error(errno, "open", path);
}

FolderLock::FolderLock(const std::string& path, const std::stop_token& stop) : FolderLock(path) {
  while (!try_take(LockMode::exclusive)) wait_for_lock(path, stop);
}

bool FolderLock::try_take(LockMode hold) {
  const int error = set_lock(file_.fd(), hold == LockMode::shared ? F_RDLCK : F_WRLCK);
  if (error == EAGAIN || error == EACCES) return false;
  if (error == 0) return true;
  if (error == EBADF) {  // not possible with a descriptor for reading only
    throw Error(
        ErrorCode::denied, At{file_.path()},
        "'{}' belongs to another user and is read-only for this one, so nothing can be changed next to it. Users who "
        "share a folder need write permission through a common group (chmod g+ws on the folder, umask 002)",
        file_.path());
  }
  refuse_without_locks(file_.path());
}

void FolderLock::release() { set_lock(file_.fd(), F_UNLCK); }

bool is_locked(const std::string& path) {
  while (true) {
    const File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC), path);
    if (!file && errno == ENOENT) return false;
    if (!file) throw system_error(errno, "open", path);
    struct flock other {};
    other.l_type = F_WRLCK;
    if (::fcntl(file.fd(), F_OFD_GETLK, &other) != 0) refuse_without_locks(path);
    if (other.l_type != F_UNLCK) return true;
    struct stat now {};  // another file may have replaced the opened one
    if (::stat(path.c_str(), &now) == 0 && is_same_file(file, now)) return false;
  }
}

void wait_for_lock(const std::string& path, const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, fmt::format("interrupted while waiting for '{}'", path));
  // Asking again and again, because a wait in the kernel would not end with the stop token.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace shardkit::io
