#include "core/error.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace shardkit {

ErrorCode error_code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:  // a link that leads nowhere
      return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::no_space;
    case ENOMEM:
      return ErrorCode::out_of_memory;
    case ENOTSUP:
    case ENOSYS:
      return ErrorCode::unsupported;
    case EEXIST:
    case EISDIR:
    case ENAMETOOLONG:
      return ErrorCode::conflict;
    default:
      return ErrorCode::io;
  }
}

std::string_view error_code_name(ErrorCode code) {
  constexpr std::array<std::string_view, 13> kNames = {
      "usage",    "not_found", "denied",      "io",        "network",       "in_use",  "corrupt",
      "conflict", "no_space",  "unsupported", "cancelled", "out_of_memory", "internal"};
  return kNames.at(static_cast<std::size_t>(code));
}

bool is_bad_file(ErrorCode code) {
  return code == ErrorCode::corrupt || code == ErrorCode::not_found || code == ErrorCode::denied;
}

Error::Error(ErrorCode code, const std::string& text, std::string path, std::optional<std::uint64_t> offset)
    : std::runtime_error(text), code_(code), path_(std::move(path)), offset_(offset) {}

Error::Error(ErrorCode code, At at, Fault fault, const std::string& text)
    : Error(code, text.empty() ? fmt::format("'{}' {}{}", at.path, fault.text, fault.details) : text, at.path,
            at.offset) {
  fault_ = std::move(fault);
}

namespace {

/// Hints for errors whose kernel text does not say what to change.
std::string_view remedy_of(int error_number) {
  if (error_number == EMFILE)
    return "; raise the hard limit of open files (ulimit -n, LimitNOFILE of a service, --ulimit of a container)";
  if (error_number == ENFILE) return "; raise the system limit of open files, fs.file-max";
  if (error_number == EDQUOT)
    return "; the disk may have space, but its owner has used up a quota: remove files, or raise the quota";
  if (error_number == EFBIG) {
    rlimit limit{};
    const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_limited ? "; raise the limit of file sizes with 'ulimit -f unlimited'"
                      : "; its file system cannot hold a file of this size: use another one, or smaller shards";
  }
  return {};
}

/// What the link `path` names; empty if it is not a link.
std::string link_target(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

Error system_error(int error_number, std::string_view action, const std::string& path) {
  if (error_number == ENOENT) {
    if (const std::string target = link_target(path); !target.empty()) {
      return Error(ErrorCode::not_found, At{path}, "cannot {} '{}': it is a link to '{}', which does not exist", action,
                   path, target);
    }
  }
  return Error(error_code_of(error_number), At{path}, "cannot {} '{}': {}{}", action, path,
               std::generic_category().message(error_number), remedy_of(error_number));
}

}  // namespace shardkit
