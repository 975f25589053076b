#include "bench/start/common_start.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

constexpr std::string_view kArrived = ".arrived";
constexpr std::string_view kStart = "start";

double unix_now() { return system::unix_seconds(system::system_clock().now()); }

void sleep_until(double unix_time, Context& context) {
  for (double left = unix_time - unix_now(); left > 0; left = unix_time - unix_now()) {
    system::system_clock().sleep(system::Seconds(std::min(left, 1.0)), context.stop_token());
  }
}

void check_options(const CommonStartOptions& options) {
  check_usage(!options.barrier || options.world, "--barrier needs --world N: how many nodes start together");
  check_usage(options.barrier || !options.world, "--world needs --barrier DIR, a folder that all nodes share");
  check_usage(!options.barrier || !options.start_at, "--barrier and --start-at exclude each other; give one of them");
}

/// The nodes whose files are in the folder, by name.
std::vector<std::string> arrived(const std::string& folder) {
  std::vector<std::string> nodes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with('.') && name.ends_with(kArrived))
      nodes.push_back(name.substr(0, name.size() - kArrived.size()));
  }
  std::ranges::sort(nodes);
  return nodes;
}

/// Writes this node's file, and compares its time, set by the file server, with this node's clock.
double arrive(const std::string& folder, const std::string& node) {
  const std::string file = io::join_path(folder, node + std::string(kArrived));
  if (std::filesystem::exists(file)) {
    throw Error(ErrorCode::usage, At{folder},
                "--barrier: '{}' was used before: node '{}' is in it already; give a new folder for each start", folder,
                node);
  }
  io::publish(*io::posix_file_system(), file, as_bytes(std::string_view("arrived\n")));
  const double now = unix_now();
  struct stat facts = {};
  if (::stat(file.c_str(), &facts) != 0) return 0;
  return now - static_cast<double>(io::mtime_ns(facts)) * 1e-9;
}

[[noreturn]] void throw_incomplete(const CommonStartOptions& options, const std::vector<std::string>& came,
                                   system::Seconds patience) {
  std::vector<std::string> missing;
  for (const std::string& node : expand_hosts(system::process_environment()("SLURM_JOB_NODELIST").value_or(""))) {
    if (std::ranges::find(came, node) == came.end()) missing.push_back(node);
  }
  throw Error(ErrorCode::io, At{*options.barrier},
              "only {} of {} nodes came to the barrier '{}' within {}; missing: {}; start them, or use a smaller "
              "--world, in a new folder",
              came.size(), *options.world, *options.barrier, format_duration(patience.count()),
              missing.empty() ? format_count(*options.world - came.size(), "node")
                              : fmt::format("{}", fmt::join(missing, ", ")));
}

/// The time to start that the first node published; empty: not yet.
std::optional<double> agreed_start(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  return parse_decimal(system::trimmed(io::read_text_file(file)).substr(0, 20));
}

double barrier_start(const CommonStartOptions& options, system::Seconds patience, Context& context) {
  constexpr system::Seconds kPause(0.2);
  const std::string start = io::join_path(*options.barrier, std::string(kStart));
  const system::Seconds deadline = system::system_clock().monotonic() + patience;
  while (true) {
    context.throw_if_stopped();
    if (const auto time = agreed_start(start)) return *time;
    const std::vector<std::string> came = arrived(*options.barrier);
    context.progress().items = came.size();
    if (came.size() >= *options.world) {
      const auto files = io::posix_file_system();
      io::AtomicFile file(*files, start);
      file.write(as_bytes(fmt::format("{:.3f}\n", unix_now() + kBarrierDelay)));
      file.commit_new();  // that of the first node stays
      continue;
    }
    if (system::system_clock().monotonic() > deadline) throw_incomplete(options, came, patience);
    system::system_clock().sleep(kPause, context.stop_token());
  }
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view list) {
  constexpr std::size_t kMost = 65536;
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t open = list.find('[');
    const std::size_t comma = list.find(',');
    if (comma < open || open == std::string_view::npos) {
      if (comma != 0) names.emplace_back(list.substr(0, comma));
      list.remove_prefix(std::min(comma, list.size() - 1) + 1);
      continue;
    }
    const std::string prefix(list.substr(0, open));
    const std::size_t close = std::min(list.find(']', open), list.size());
    const std::size_t end = std::min(list.find(',', close), list.size());
    const std::string suffix(list.substr(std::min(close + 1, end), end - std::min(close + 1, end)));
    for (const std::string_view range : system::split(list.substr(open + 1, close - open - 1), ',')) {
      const std::size_t dash = std::min(range.find('-'), range.size());
      const auto first = parse_count(range.substr(0, dash));
      const auto last = dash < range.size() ? parse_count(range.substr(dash + 1)) : first;
      for (std::uint64_t i = first.value_or(1); first && last && i <= *last && names.size() < kMost; ++i) {
        names.push_back(fmt::format("{}{:0{}}{}", prefix, i, dash, suffix));
      }
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

double parse_start(const std::string& text) {
  const std::string_view digits = text.starts_with('@') ? std::string_view(text).substr(1) : std::string_view(text);
  if (const auto seconds = parse_decimal(digits)) return *seconds;
  if (const auto time = system::parse_iso8601(text)) return system::unix_seconds(*time);
  throw usage_error("--start-at: '{}' is not a time such as 2026-11-26T12:00:00Z or @1764158400", text);
}

CommonStart wait_for_start(const CommonStartOptions& options, const std::string& node, Context& context,
                           system::Seconds patience) {
  check_options(options);
  CommonStart start{.node = node, .clock_offset = {}};
  double planned = unix_now();
  if (options.barrier) {
    if (!std::filesystem::is_directory(*options.barrier)) {
      throw Error(ErrorCode::not_found, At{*options.barrier},
                  "--barrier: '{}' is not a folder; create it where all nodes see it", *options.barrier);
    }
    if (node.find('/') != std::string::npos) throw usage_error("the node's name '{}' contains a slash", node);
    context.progress().start("waiting for other nodes", *options.world, 0, "nodes");
    start.clock_offset = arrive(*options.barrier, node);
    planned = barrier_start(options, patience, context);
  }
  if (options.start_at) {
    planned = parse_start(*options.start_at);
    context.progress().start_for("waiting for --start-at", std::max(planned - unix_now(), 0.0));
  }
  sleep_until(planned, context);
  start.started_at = unix_now();
  start.late = std::max(start.started_at - planned, 0.0);
  return start;
}

void CommonStartOptions::describe(FieldList& v) {
  v.topic("Many nodes");
  v.field(
      {"barrier",
       "start together: wait in this folder, which all nodes share, until --world nodes are there, at most 10 minutes",
       "DIR", kMayDiffer, kSharedOutput},
      barrier);
  v.field({"world", Unit::count, "with --barrier: how many nodes start together", kMayDiffer, at_least(1),
           Misnomers{"nodes"}},
          world);
  v.field({"start-at", "start together: at this time, 2026-11-26T12:00:00Z or @SECONDS", "TIME", kMayDiffer}, start_at);
}

void CommonStart::describe(FieldList& v) {
  v.field({"node", "name of this node"}, node);
  v.field({"started_at_unix", Unit::seconds, "start of the measurement, as Unix time"}, started_at);
  v.field({"clock_offset", Unit::seconds, "this node's clock less that of the file server, from the barrier"},
          clock_offset);
  v.field({"late", Unit::seconds, "how long after the agreed time it started"}, late);
}

}  // namespace shardkit::bench
