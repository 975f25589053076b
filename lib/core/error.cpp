#include "core/error.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

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
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::denied:
      return "denied";
    case ErrorCode::io:
      return "io";
    case ErrorCode::network:
      return "network";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "io";
}

bool is_bad_file(ErrorCode code) {
  return code == ErrorCode::corrupt || code == ErrorCode::not_found || code == ErrorCode::denied;
}

Error::Error(ErrorCode code, const std::string& text, std::string path, std::optional<std::uint64_t> offset)
    : std::runtime_error(text), code_(code), path_(std::move(path)), offset_(offset) {}

Error system_error(int error_number, std::string_view action, const std::string& path) {
  return Error(error_code_of(error_number),
               fmt::format("cannot {} '{}': {}", action, path, std::generic_category().message(error_number)), path);
}

}  // namespace shardkit
