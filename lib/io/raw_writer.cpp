#include "io/raw_writer.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/page_cache.hpp"

namespace shardkit {
namespace {

[[noreturn]] void refuse_direct(const std::string& path, const char* why) {
  throw Error(ErrorCode::unsupported, fmt::format("'{}' cannot be written with O_DIRECT: {}", path, why), path);
}

File create_new(const std::string& path, bool direct) {
  File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | (direct ? O_DIRECT : 0), 0666), path);
  if (!file && direct && errno == EINVAL) {
    const int leftover = ::unlink(path.c_str());  // some file systems refuse after the file was made
    static_cast<void>(leftover);
    refuse_direct(path, "its file system does not offer it");
  }
  if (!file) throw system_error(errno, "create", path);
  return file;
}

}  // namespace

RawWriter::RawWriter(const std::string& path, bool direct) : file_(create_new(path, direct)) {
  if (!direct || !lives_in_memory(file_)) return;
  ::unlink(path.c_str());
  refuse_direct(path, "its file system keeps files in memory and only pretends");
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

}  // namespace shardkit
