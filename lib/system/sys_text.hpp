#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/probe.hpp"

/// The small texts of /proc and /sys, taken apart.
namespace shardkit {

/// A file that holds one unsigned number; empty for anything else, such as "max".
std::optional<std::uint64_t> sys_number(const Probe& probe, const std::string& path);

/// A file that holds one text; empty when it cannot be read.
std::string sys_word(const Probe& probe, const std::string& path);

/// The unsigned number that `text` is; empty when it is none.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// `text` cut at every `separator`; empty pieces are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);

/// `text` without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);

/// The value of the first line "name value", "name: value" or "name=value", where `name` holds all before the value
/// but blanks; empty when there is none.
std::string_view line_value(std::string_view text, std::string_view name);

/// The processors or nodes that "0-3,8,10-11" names, in that order; at most 65536.
std::vector<unsigned> parse_cpu_list(std::string_view list);

/// The part of a path behind its last slash.
std::string last_name(std::string_view path);

}  // namespace shardkit
