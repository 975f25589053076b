#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"

namespace shardkit::cli {

/// The reader of standard output has closed it, as in `| head`.
class OutputClosed final : public Error {
 public:
  OutputClosed() : Error(ErrorCode::io, "standard output was closed by its reader") {}
};

/// Throws for a `path`, file or folder, to which `output` cannot be written, so that hours of work do not end with a
/// result that cannot be stored: Error{usage} for a URL, "-", or a folder instead of a file, Error{not_found, denied}
/// if a file's folder does not exist or is not writable. `swapped`: for a URL, the command with the operands in the
/// other order, if that would be possible.
void require_writable(const Field& output, const std::string& path, const std::string& swapped = {});

/// The name of a report with %n replaced by the name of the node, and %j by SLURM_JOB_ID, so that one command line
/// serves many nodes. Throws Error{usage} for %j outside of a job.
std::string named_for_node(const std::string& path);

/// Publishes `text` as `path`: either the old file or the new one is there, never a part. Devices and pipes are written
/// directly. Throws Error.
void write_output_file(const std::string& path, const std::string& text);

/// Writes and flushes. Throws Error{io, no_space} if the text could not be written, OutputClosed for a closed pipe.
void write_standard_output(std::ostream& out, std::string_view text);

/// Standard output for data in pieces: collects small ones, unless each must be visible immediately. Throws the errors
/// of write_standard_output().
class OutputStream final : public ByteSink {
 public:
  enum class Pace { gathered, at_once };

  explicit OutputStream(std::ostream& out, Pace pace = Pace::gathered) : out_(out), pace_(pace) {}
  void write(Bytes bytes) override;
  void flush();
  /// Whether OutputClosed was thrown: more output would be lost.
  bool closed() const { return closed_; }

 private:
  void put(std::string_view text);

  std::ostream& out_;
  Pace pace_;
  bool closed_ = false;
  std::string gathered_;
};

/// Whether a report may replace `path`: nothing, an empty file, a device or pipe, or an earlier report of the command
/// named `title` ("shardctl verify"), of any command if it is empty.
bool may_replace(const std::string& path, std::string_view title);

/// Throws Error{usage} for the first output file among `options` that would destroy or disturb files of the others. It
/// may not be an operand, an input file or another output file (in any spelling, including links). It may not be in
/// .shardkit, nor have a name of a set's files in a folder that the verb fills. In any of these folders it may only be
/// new or replace an earlier report of this verb; next to an input file an earlier report of any verb.
void require_files_apart(const std::vector<FieldNode>& options, std::string_view title);

}  // namespace shardkit::cli
