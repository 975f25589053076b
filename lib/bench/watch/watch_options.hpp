#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace shardkit {

/// The form of the line that each interval gives.
enum class WatchLines { text, json, none };
template <>
struct EnumNames<WatchLines> {
  static constexpr std::array<std::string_view, 3> names{"text", "json", "none"};
};

struct WatchOptions {
  std::optional<std::string> path;
  std::optional<std::uint64_t> pid;
  double interval = 2;             ///< seconds
  std::optional<double> duration;  ///< seconds; empty: until it is stopped
  std::optional<std::uint64_t> count;
  WatchLines lines = WatchLines::text;

  void describe(FieldVisitor& v) {
    v.field({"PATH", Unit::none, "the data that the job reads: its disk or NFS mount, and what of it is in memory",
             Role::optional_positional},
            path);
    v.field({"pid", Unit::count, "the job's first process; all below it are watched with it", Role::option, "P"}, pid);
    v.field({"interval", Unit::seconds, "a line for each interval of this length"}, interval);
    v.field({"duration", Unit::seconds, "stop after this time; else at Ctrl-C, SIGTERM or the end of the process"},
            duration);
    v.field({"count", Unit::count, "stop after N intervals"}, count);
    v.field({"lines", Unit::none, "lines for people, a JSON object per line, or the verdict alone"}, lines);
  }
};

/// Throws Error{usage} for impossible options.
void check_watch_options(const WatchOptions& options);

}  // namespace shardkit
