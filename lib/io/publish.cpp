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
#include "io/file.hpp"

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
  if (!is_temp_name(name)) return {};
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
bool remove_if_abandoned(OutputFiles& files, const std::string& path) {
  const File file(::open(path.c_str(), O_WRONLY | O_CLOEXEC), path);
  if (!file) return false;
  const LockAttempt lock = try_lock(file);
  if (lock == LockAttempt::held_elsewhere) return false;
  if (lock == LockAttempt::no_locks_here && !is_older_than_a_day(path)) return false;
  files.remove(path);
  return true;
}

/// Images, archives and shards have a zero byte early, which no text has.
bool holds_data(const std::string& path) {
  std::array<char, 4096> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  const auto end = start.begin() + file.gcount();
  return std::find(start.begin(), end, '\0') != end;
}

}  // namespace

AtomicFile::AtomicFile(OutputFiles& files, std::string path)
    : files_(files),
      path_(std::move(path)),
      unpublished_(files.create_for(path_)),
      blocks_(kGathered, [this](std::uint64_t offset, Bytes block) { file().write_at(offset, block); }) {}

AtomicFile::~AtomicFile() {
  if (unpublished_.path.empty()) return;
  unpublished_.file.reset();
  try {
    files_.remove(unpublished_.path);
  } catch (...) {  // a leftover is hidden, and the next run removes it
  }
}

void AtomicFile::commit() {
  flush();
  file().sync();
  files_.rename(unpublished_.path, path_);  // still open, so still locked: no process removes it as a leftover
  unpublished_.path.clear();
  files_.sync_directory(parent_folder(path_));
}

bool AtomicFile::commit_new() {
  flush();
  file().sync();
  if (!files_.rename_new(unpublished_.path, path_)) return false;
  unpublished_.path.clear();
  files_.sync_directory(parent_folder(path_));
  return true;
}

void AtomicFile::commit_without_sync() {
  flush();
  files_.rename(unpublished_.path, path_);
  unpublished_.path.clear();
}

void publish(OutputFiles& files, const std::string& path, Bytes bytes) {
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

bool is_temp_name(std::string_view name) { return name.starts_with('.') && name.ends_with(kTempEnd); }

std::string temp_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}.{}.{}-{}-{}{}", path.substr(0, begin), path.substr(begin), host_name(), ::getpid(),
                     random_bits(), kTempEnd);
}

std::size_t remove_stale_temps(OutputFiles& files, const std::string& folder) {
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

}  // namespace shardkit::io
