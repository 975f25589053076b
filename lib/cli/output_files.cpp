#include "cli/output_files.hpp"

#include <cerrno>
#include <ostream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "io/publish.hpp"

namespace shardkit {

void require_folder_of(const std::string& path, std::string_view option) {
  const std::string folder = parent_folder(path);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw system_error(errno, fmt::format("write {} {}: its folder cannot be used:", option, path), folder);
  }
}

void write_output_file(const std::string& path, const std::string& text) {
  publish(*posix_file_system(), path, as_bytes(text));
}

void write_standard_output(std::ostream& out, const std::string& text) {
  errno = 0;
  out << text << std::flush;
  if (!out) throw system_error(errno == 0 ? EIO : errno, "write", "standard output");
}

}  // namespace shardkit
