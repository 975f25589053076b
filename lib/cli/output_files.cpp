#include "cli/output_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/publish.hpp"

namespace shardkit::cli {
namespace {

enum class PathKind { nothing, regular, folder, stream };

/// What stands at `path`, links followed.
PathKind kind_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return PathKind::nothing;
  if (S_ISREG(info.st_mode)) return PathKind::regular;
  return S_ISDIR(info.st_mode) ? PathKind::folder : PathKind::stream;
}

void write_stream(std::ostream& out, std::string_view text, const std::string& name) {
  errno = 0;
  out << text << std::flush;
  if (out) return;
  if (errno == EPIPE) throw OutputClosed();
  throw system_error(errno == 0 ? EIO : errno, "write", name);
}

}  // namespace

void require_writable(const std::string& path, std::string_view option) {
  if (path.empty()) throw Error(ErrorCode::usage, fmt::format("{}: the name of the file is empty", option));
  if (path == "-")
    throw Error(ErrorCode::usage, fmt::format("{}: name a file; only --json takes - for standard output", option));
  const PathKind kind = kind_of(path);
  if (kind == PathKind::folder) {
    throw Error(ErrorCode::usage, fmt::format("{} '{}' is a folder; name a file in it", option, path), path);
  }
  if (kind == PathKind::stream) return;  // opening a pipe twice would end its reader
  const std::string folder = io::parent_folder(io::published_path(path));
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw system_error(errno, fmt::format("write {} {}: its folder cannot be used:", option, path), folder);
  }
}

void write_output_file(const std::string& path, const std::string& text) {
  if (kind_of(path) != PathKind::stream)
    return io::publish(*io::posix_file_system(), io::published_path(path), as_bytes(text));
  std::ofstream stream(path, std::ios::binary);  // a device or a pipe: replacing it by a file would break others
  write_stream(stream, text, path);
}

void write_standard_output(std::ostream& out, std::string_view text) { write_stream(out, text, "standard output"); }

void OutputStream::write(Bytes bytes) {
  constexpr std::size_t kGathered = 64U * 1024U;
  if (gathered_.size() + bytes.size() > kGathered) flush();
  if (bytes.size() > kGathered) return put(as_text(bytes));
  gathered_ += as_text(bytes);
  if (pace_ == Pace::at_once) flush();
}

void OutputStream::flush() {
  const std::string text = std::exchange(gathered_, {});  // what could not be written is not tried again
  if (!text.empty()) put(text);
}

void OutputStream::put(std::string_view text) {
  try {
    write_standard_output(out_, text);
  } catch (const OutputClosed&) {
    closed_ = true;
    throw;
  }
}

namespace {

/// A file or folder, and the operand or option that names it.
struct NamedFile {
  std::string path;
  std::string option;
  bool is_output = false;
};

/// Operands, and the files that options name, to be read or written.
std::vector<NamedFile> named_files(const std::vector<FieldNode>& options) {
  std::vector<NamedFile> files;
  for (const FieldNode& option : options) {
    if (option.field.role == Role::option) continue;
    const NamedFile file{{}, option.field.spelling(), option.field.role == Role::output_file};
    const auto take = [&](const std::string& path) {
      if (!path.empty()) files.push_back({path, file.option, file.is_output});
    };
    if (const auto* path = std::get_if<std::string>(&option.value)) take(*path);
    if (const auto* paths = std::get_if<std::vector<std::string>>(&option.value)) std::ranges::for_each(*paths, take);
  }
  return files;
}

bool are_one_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;  // what is not there yet is known by its name alone
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(fs::absolute(a, error), error) == fs::weakly_canonical(fs::absolute(b, error), error);
}

}  // namespace

void require_files_apart(const std::vector<FieldNode>& options) {
  const std::vector<NamedFile> files = named_files(options);
  for (const NamedFile& output : files) {
    if (!output.is_output) continue;
    for (const NamedFile& other : files) {
      if (&other == &output || !are_one_file(output.path, other.path)) continue;
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' was named by {} and by {}, and one of the two would be lost: name another file",
                              output.path, output.option, other.option),
                  output.path);
    }
  }
}

}  // namespace shardkit::cli
