#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"

namespace shardkit::cli {

/// Whoever read standard output wants no more of it, as of `| head`.
class OutputClosed final : public Error {
 public:
  OutputClosed() : Error(ErrorCode::io, "standard output was closed by its reader") {}
};

/// Throws for a `path`, file or folder, to which `output` cannot be written, so that hours of work do not end in a
/// result that cannot be stored: Error{usage} for a URL, "-", or a folder where a file is wanted, Error{not_found,
/// denied} when a file's folder is not there or not writable.
void require_writable(const Field& output, const std::string& path);

/// Publishes `text` as `path`: the old file or the new one, never a half. A device or a pipe is written to as it is.
/// Throws Error.
void write_output_file(const std::string& path, const std::string& text);

/// Writes and flushes. Throws Error{io, no_space} when the text did not get out, OutputClosed for a closed pipe.
void write_standard_output(std::ostream& out, std::string_view text);

/// Standard output for what comes in pieces: gathers small ones, unless each is waited for. Throws what
/// write_standard_output() throws.
class OutputStream final : public ByteSink {
 public:
  enum class Pace { gathered, at_once };

  explicit OutputStream(std::ostream& out, Pace pace = Pace::gathered) : out_(out), pace_(pace) {}
  void write(Bytes bytes) override;
  void flush();
  /// Whether OutputClosed was thrown: more would be lost.
  bool closed() const { return closed_; }

 private:
  void put(std::string_view text);

  std::ostream& out_;
  Pace pace_;
  bool closed_ = false;
  std::string gathered_;
};

/// Whether a report may take the place of what is at `path`: nothing, an empty file, a device or pipe, or an earlier
/// report of the command called `title` ("shardctl verify"), of any command when it is empty.
bool may_replace(const std::string& path, std::string_view title);

/// Throws Error{usage} for the first output file among `options` that would destroy or disturb what the others name.
/// It may be neither an operand, an input file nor another output file (one file has many spellings, links among them);
/// it may not lie in .shardkit, nor have a name of a set's files in a folder that the verb fills; and in any of these
/// folders it may only be new or replace an earlier report of this verb, beside a file that is read one of any verb.
void require_files_apart(const std::vector<FieldNode>& options, std::string_view title);

}  // namespace shardkit::cli
