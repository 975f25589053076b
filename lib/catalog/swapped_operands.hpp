#pragma once

#include <string>

/// Finds out whether a user gave a source and a target in the wrong order.
namespace shardkit::catalog {

enum class Content {
  nothing,  ///< it does not exist, or has no files
  images,
  shards,
  other,
};

/// What a local path contains, by the first files below it. An address is not looked at and counts as `other`.
Content content_of(const std::string& path);

/// Throws Error{usage} if `source` contains nothing and `target` contains `wanted`, which the verb reads. `swapped` is
/// the command with both in the other order (command_text()).
void refuse_swapped(const std::string& source, const std::string& target, Content wanted, const std::string& swapped);

/// The same for other reasons, given by the caller as a sentence without its end.
[[noreturn]] void throw_swapped(const std::string& source, const std::string& reason, const std::string& swapped);

}  // namespace shardkit::catalog
