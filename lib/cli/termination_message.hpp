#pragma once

#include <string>
#include <string_view>

namespace shardkit::cli {

/// The file that Kubernetes mounts into every container. What stands in it when the container ends is shown as the
/// reason (`kubectl describe pod`), its first 4096 bytes.
inline constexpr const char* kTerminationLog = "/dev/termination-log";

/// Replaces the content of `path` by the line `end` and, where it is not empty, the line `go_on`. Together they have
/// 4096 bytes at most, for which `end` is cut, and are valid UTF-8, without which the message is lost on its way.
/// Writes only into a regular file that is there already; creates nothing and ignores every error. An empty path is no
/// file. Throws nothing but std::bad_alloc.
void write_termination_message(const std::string& path, std::string_view end, std::string_view go_on);

}  // namespace shardkit::cli
