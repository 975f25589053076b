#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Small texts of /proc and /sys, below a `root` that is "/" on a living machine and a recorded tree in tests.
namespace shardkit {

/// The whole file without white space at its end; empty when it cannot be read.
std::optional<std::string> sys_text(const std::string& root, std::string_view path);

/// A file that holds one unsigned number; empty for anything else, such as "max".
std::optional<std::uint64_t> sys_number(const std::string& root, std::string_view path);

/// The unsigned number that `text` is; empty when it is none.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// `text` cut at every `separator`; empty pieces are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace shardkit
