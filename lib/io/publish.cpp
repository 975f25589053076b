#include "io/publish.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "io/page_cache.hpp"

namespace shardkit::io {
namespace {

constexpr std::string_view kTempEnd = ".tmp";
constexpr std::time_t kForeignTempAge = 24 * 3600;
constexpr std::size_t kGathered =
    64U * 1024U;  // a line costs no system call, and thousands of open files little memory

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  std::string host(name.data());
  for (char& c : host) {
    if (c == '/' || c == '.' || c == '-') c = '_';
  }
  return host;
}

/// The host that made the temporary called `name` (".<final name>.<host>-<pid>-<number>.tmp"); empty if it is not such
/// a name.
std::string_view temp_host(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kTempEnd)) return {};
  name.remove_suffix(kTempEnd.size());
  std::size_t end = name.size();
  for (int numbers = 0; numbers < 2; ++numbers) {
    const std::size_t dash = name.rfind('-', end - 1);
    if (dash == std::string_view::npos || dash + 1 == end) return {};
    if (name.substr(dash + 1, end - dash - 1).find_first_not_of("0123456789") != std::string_view::npos) return {};
    end = dash;
  }
  const std::size_t dot = name.rfind('.', end);
  return dot == std::string_view::npos || dot == 0 ? std::string_view{} : name.substr(dot + 1, end - dot - 1);
}

bool is_older_than_a_day(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && std::time(nullptr) - info.st_mtime > kForeignTempAge;
}

/// Removes the temporary file of a process of this host unless that process is alive: it would hold the file's lock.
/// Keeps our lock until the name is removed, so that a writer that created the file but had not locked it yet notices.
bool remove_if_abandoned(FileSystem& files, const std::string& path) {
  const File file(::open(path.c_str(), O_WRONLY | O_CLOEXEC), path);
  if (!file) return false;
  const LockAttempt lock = try_lock(file);
  if (lock == LockAttempt::held_elsewhere) return false;
  if (lock == LockAttempt::no_locks_here && !is_older_than_a_day(path)) return false;
  files.remove(path);
  return true;
}

/// Creates the temporary file; a failure names the final file.
std::unique_ptr<WritableFile> create(FileSystem& files, const std::string& temp, const std::string& path) {
  try {
    return files.create(temp);
  } catch (const Error& error) {
    std::string text = error.what();
    if (const std::size_t at = text.find(temp); at != std::string::npos) text.replace(at, temp.size(), path);
    throw Error(error.code(), text, path);
  }
}

/// Images, archives and shards have a zero byte early, which no text has.
bool holds_data(const std::string& path) {
  std::array<char, 4096> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  const auto end = start.begin() + file.gcount();
  return std::find(start.begin(), end, '\0') != end;
}

[[noreturn]] void refuse_direct(const std::string& path, const char* why) {
  throw Error(ErrorCode::unsupported, At{path}, "'{}' cannot be written with O_DIRECT: {}", path, why);
}

File create_new(const std::string& path, bool direct) {
  File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | (direct ? O_DIRECT : 0), 0666), path);
  if (!file && direct && errno == EINVAL) {
    const int leftover = ::unlink(path.c_str());  // some file systems refuse after the file was made
    static_cast<void>(leftover);
    refuse_direct(path, "its file system does not support it");
  }
  if (!file) throw system_error(errno, "create", path);
  return file;
}

}  // namespace

AtomicFile::AtomicFile(FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)), temp_(temp_name(path_)), file_(create(files, temp_, path_)) {}

AtomicFile::~AtomicFile() {
  if (temp_.empty()) return;
  file_.reset();
  try {
    files_.remove(temp_);
  } catch (...) {  // a leftover is hidden, and the next run removes it
  }
}

void AtomicFile::write(Bytes bytes) {
  if (gathered_.size() + bytes.size() > kGathered) flush();
  if (bytes.size() > kGathered) return file_->write(bytes);
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::flush() {
  if (gathered_.empty()) return;
  file_->write(gathered_);
  gathered_.clear();
}

void AtomicFile::commit() {
  flush();
  file_->sync();
  files_.rename(temp_, path_);  // still open, so still locked: no process removes it as a leftover
  temp_.clear();
  files_.sync_directory(parent_folder(path_));
}

bool AtomicFile::commit_new() {
  flush();
  file_->sync();
  if (!files_.rename_new(temp_, path_)) return false;
  temp_.clear();
  files_.sync_directory(parent_folder(path_));
  return true;
}

void AtomicFile::commit_without_sync() {
  flush();
  files_.rename(temp_, path_);
  temp_.clear();
}

void publish(FileSystem& files, const std::string& path, Bytes bytes) {
  AtomicFile file(files, path);
  file.write(bytes);
  file.commit();
}

std::string published_path(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return path;
  if (std::filesystem::is_regular_file(status)) {
    if (!holds_data(path)) return std::filesystem::canonical(path, error).string();
    throw Error(ErrorCode::usage, At{path}, "'{}' contains data, which a text would replace; choose another file",
                path);
  }
  const bool folder = std::filesystem::is_directory(status);
  throw Error(ErrorCode::usage, At{path}, "'{}' is {}; give a file{}", path, folder ? "a folder" : "a pipe or a device",
              folder ? " in it" : "");
}

std::string temp_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}.{}.{}-{}-{}{}", path.substr(0, begin), path.substr(begin), host_name(), ::getpid(),
                     random_bits(), kTempEnd);
}

std::size_t remove_stale_temps(FileSystem& files, const std::string& folder) {
  const File opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder);
  if (!opened) return 0;
  const std::string host = host_name();
  std::size_t removed = 0;
  for (const std::string& name : names_in(opened)) {
    const std::string path = join_path(folder, name);
    const std::string_view maker = temp_host(name);
    if (maker.empty()) continue;
    if (maker == host) {
      removed += remove_if_abandoned(files, path) ? 1 : 0;
    } else if (is_older_than_a_day(path)) {
      files.remove(path);
      ++removed;
    }
  }
  return removed;
}

std::string parent_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string join_path(const std::string& folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return folder.ends_with('/') ? folder + std::string(name) : fmt::format("{}/{}", folder, name);
}

RawWriter::RawWriter(const std::string& path, bool direct) : file_(create_new(path, direct)) {
  if (!direct || !lives_in_memory(file_)) return;
  ::unlink(path.c_str());
  refuse_direct(path, "its file system keeps files in memory and ignores the flag");
}

void RawWriter::write_at(std::uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Error failure = system_error(errno, "write", file_.path());
      throw Error(failure.code(), failure.what(), file_.path(), offset);
    }
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void RawWriter::sync() {
  if (::fsync(file_.fd()) != 0) throw system_error(errno, "sync", file_.path());
}

}  // namespace shardkit::io
