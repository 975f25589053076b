#pragma once

#include <string>
#include <vector>

namespace shardkit {

/// Refuses names that cannot be files below one folder, as keys of a bucket may be: one with an empty component (a
/// slash in front or behind, two in a row), with "." or "..", with a NUL, with a component over 255 bytes, or one that
/// is also the folder of another name ("a" beside "a/b"). Throws Error{unsupported} with the first such name, how many
/// there are and what to do; `location` is theirs, for the message.
void check_names(const std::vector<std::string>& names, const std::string& location);

}  // namespace shardkit
