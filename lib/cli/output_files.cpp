#include "cli/output_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/app.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "io/publish.hpp"
#include "system/host.hpp"
#include "system/probe.hpp"

namespace shardkit::cli {
namespace {

enum class PathKind { nothing, regular, folder, stream };

/// The kind of file at `path`, links followed.
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

namespace fs = std::filesystem;

/// A file or folder, and the operand or option that names it.
struct NamedFile {
  std::string text;  ///< as it was typed
  fs::path path;     ///< links followed; a missing file is known only by its name
  Field field;
};

fs::path resolved(const std::string& text) {
  std::error_code closed;
  fs::path path = fs::weakly_canonical(fs::absolute(text, closed), closed);
  if (closed) path = fs::path(text).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

/// Operands, and the files and folders that options name, to be read or written.
std::vector<NamedFile> named_files(const std::vector<FieldNode>& options) {
  std::vector<NamedFile> files;
  for (const FieldNode& option : options) {
    if (option.field.role == Role::option && !option.field.is_output()) continue;
    const auto take = [&](const std::string& path) {
      if (!path.empty() && !is_url(path)) files.push_back({path, resolved(path), option.field});
    };
    if (const auto* path = std::get_if<std::string>(&option.value)) take(*path);
    if (const auto* paths = std::get_if<std::vector<std::string>>(&option.value)) std::ranges::for_each(*paths, take);
  }
  return files;
}

bool is_folder(const fs::path& path) { return kind_of(path) == PathKind::folder; }

/// Whether `path` is in `folder`, or in a folder below it.
bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

/// Names that a set of shards uses itself, with indexes of other readers.
bool is_name_in_sets(const fs::path& path) {
  const std::string name = path.filename();
  const std::string ending = path.extension();
  return name == "manifest.json" || name == "shardindex.json" || ending == ".tar" || ending == ".idx" ||
         ending == ".yaml";
}

[[noreturn]] void refuse(const NamedFile& output, const std::string& why) {
  throw Error(ErrorCode::usage, At{output.text}, "{} '{}' {}: choose another file", output.field.spelling(),
              output.text, why);
}

/// `title` is the command's, "shardctl verify".
void require_apart(const NamedFile& output, const NamedFile& other, std::string_view title) {
  std::error_code error;
  if (output.path == other.path || fs::equivalent(output.path, other.path, error)) {
    throw Error(ErrorCode::usage, At{output.text},
                "'{}' is given by {} and by {}, and one would overwrite the other: choose another file", output.text,
                output.field.spelling(), other.field.spelling());
  }
  if ((other.field.output == Output::own || other.field.output == Output::location) &&
      lies_in(output.path, other.path) && is_name_in_sets(output.path)) {
    refuse(output, fmt::format("has a name that {} '{}' uses for its own files", other.field.spelling(), other.text));
  }
  if (other.field.role == Role::output_file || output.field.output == Output::shared) return;
  const bool in_folder = is_folder(other.path) && lies_in(output.path, other.path);
  const bool beside =
      other.field.is_operand() && !is_folder(other.path) && output.path.parent_path() == other.path.parent_path();
  if ((in_folder && !may_replace(output.path, title)) || (beside && !may_replace(output.path, ""))) {
    refuse(output, fmt::format("is {} {} '{}' and not an earlier report{}", in_folder ? "a file in" : "beside",
                               other.field.spelling(), other.text, in_folder ? " of this verb" : ""));
  }
}

}  // namespace

void require_writable(const Field& output, const std::string& path, const std::string& swapped) {
  const std::string option = output.spelling();
  const bool is_file = output.role == Role::output_file;
  const char* const wanted = is_file ? "file" : "folder";
  const auto refuse = [&](const std::string& why) { throw Error(ErrorCode::usage, why, path); };
  if (is_file && path.empty()) refuse(fmt::format("{}: the file name is empty", option));
  if (path == "-") refuse(fmt::format("{}: give a {}; only --json accepts - for standard output", option, wanted));
  const bool has_lost_slash = !is_url(path) && (has_scheme(path, "s3:/") || has_scheme(path, "gs:/"));
  if (output.output == Output::location) {
    if (has_lost_slash) refuse(fmt::format("{} '{}' is not an address; give s3://bucket/prefix", option, path));
    if (is_url(path)) return;  // the verb knows which stores can be written to
  }
  if (is_url(path) || has_lost_slash) {
    if (output.output == Output::shared && !is_file)
      refuse(fmt::format("{} '{}' is an address; give a folder on this machine", option, path));
    refuse(fmt::format("{} '{}' is a URL, but output is written only to local files; give a local {}{}{}", option, path,
                       wanted, is_file ? "" : ", and copy it to a bucket with shardctl upload",
                       swapped.empty() ? "" : ". If the order is wrong: " + remedy::in_text(swapped)));
  }
  const PathKind kind = kind_of(path);
  if (!is_file || kind == PathKind::stream) return;  // opening a pipe twice would end its reader
  if (kind == PathKind::folder) refuse(fmt::format("{} '{}' is a folder; give a file in it", option, path));
  const std::string folder = io::parent_folder(io::published_path(path));
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw system_error(errno, fmt::format("write {} {}: its folder cannot be used:", option, path), folder);
  }
}

std::string named_for_node(const std::string& path) {
  std::string named;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string_view remaining = std::string_view(path).substr(i);
    if (remaining.starts_with("%n")) {
      named += system::node_name();
    } else if (remaining.starts_with("%j")) {
      const auto job = system::process_environment()("SLURM_JOB_ID");
      if (!job) throw usage_error("'{}': %j is the number of a Slurm job, and SLURM_JOB_ID is not set", path);
      named += *job;
    } else {
      named += path[i];
      continue;
    }
    ++i;  // the letter
  }
  return named;
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
  const std::string text = std::exchange(gathered_, {});  // a failed write is not repeated
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

bool may_replace(const std::string& path, std::string_view title) {
  if (kind_of(path) != PathKind::regular) return true;
  std::string start(256, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  const std::string slug = verb_slug(title.substr(title.find(' ') + 1));
  std::string metric = slug;
  std::ranges::replace(metric, '-', '_');
  const std::array<std::string, 7> marks{fmt::format("\"schema\": \"shardkit/{}", slug),
                                         fmt::format("<testsuite name=\"{}", title),
                                         fmt::format("### {}", title),
                                         fmt::format("# HELP shardkit_{}", metric),
                                         fmt::format("\"name\":\"{}", title),  // of a trace
                                         "content=\"shardkit\"",               // of a page, of any verb
                                         fmt::format("shardkit-{}\t", slug)};  // of a plan
  return start.empty() ||
         std::ranges::any_of(marks, [&](const std::string& mark) { return start.find(mark) != std::string::npos; });
}

void require_files_apart(const std::vector<FieldNode>& options, std::string_view title) {
  const std::vector<NamedFile> files = named_files(options);
  for (const NamedFile& output : files) {
    if (output.field.role != Role::output_file || kind_of(output.text) == PathKind::stream) continue;
    if (std::ranges::find(output.path, fs::path(".shardkit")) != output.path.end()) {
      refuse(output, "is in .shardkit, which is reserved for shardctl");
    }
    for (const NamedFile& other : files) {
      if (&other != &output) require_apart(output, other, title);
    }
  }
}

}  // namespace shardkit::cli
