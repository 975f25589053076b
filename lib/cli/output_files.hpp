#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace shardkit {

/// Throws Error{not_found, denied} when the folder that `path` would be written to is not there or not writable, and
/// Error{usage} when `path` is a folder itself, so that hours of work do not end in a result that cannot be stored.
/// `option` is for the message.
void require_writable(const std::string& path, std::string_view option);

/// Publishes `text` as `path`: the old file or the new one, never a half. A device or a pipe is written to as it is.
/// Throws Error.
void write_output_file(const std::string& path, const std::string& text);

/// Writes and flushes. Throws Error{io, no_space} when the text did not get out; a closed pipe (as of `| head`) too.
void write_standard_output(std::ostream& out, const std::string& text);

}  // namespace shardkit
