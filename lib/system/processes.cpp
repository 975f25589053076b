#include "system/processes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/text.hpp"
#include "system/cpu.hpp"

namespace shardkit::system {
namespace {

/// The words of "PID (command) STATE PPID ..." after the command, which may itself contain blanks and brackets.
struct StatLine {
  std::string command;
  std::vector<std::string> words;  ///< up to the start time

  /// By the number that proc_pid_stat(5) gives a field.
  std::uint64_t number(std::size_t field) const { return parse_count(words[field - 3]).value_or(0); }
  char state() const { return words.front().front(); }
};

std::optional<StatLine> parse_stat(std::string_view text) {
  constexpr std::size_t kWords = 20;
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const auto words = split(text.substr(close + 1), ' ');
  if (words.size() < kWords) return std::nullopt;
  return StatLine{std::string(text.substr(open + 1, close - open - 1)), {words.begin(), words.begin() + kWords}};
}

std::optional<StatLine> stat_at(const std::string& folder, const Probe& probe) {
  const auto text = probe.text(folder + "/stat");
  return text ? parse_stat(*text) : std::nullopt;
}

bool is_kernel_thread(const StatLine& line) {
  constexpr std::uint64_t kKernelThread = 0x200000;  // PF_KTHREAD
  return (line.number(9) & kKernelThread) != 0;
}

bool has_ended(const StatLine& line) { return line.state() == 'Z' || line.state() == 'X'; }

std::string folder_of(std::uint64_t pid) { return fmt::format("/proc/{}", pid); }

/// Calls `visit(pid, line)` for each process.
void for_each_process(const Probe& probe, const auto& visit) {
  for (const std::uint64_t pid : process_ids(probe)) {
    if (const auto line = stat_at(folder_of(pid), probe)) visit(pid, *line);
  }
}

std::optional<ProcessBytes> read_bytes(const std::string& folder, const Probe& probe) {
  const auto text = probe.text(folder + "/io");
  if (!text) return std::nullopt;
  const auto number = [&](std::string_view name) { return parse_count(line_value(*text, name)).value_or(0); };
  return ProcessBytes{number("rchar:"), number("read_bytes:"), number("write_bytes:")};
}

/// "ran_ns waited_ns timeslices" (Documentation/scheduler/sched-stats.rst)
std::optional<double> core_wait(const std::string& thread_folder, const Probe& probe) {
  const auto text = probe.text(thread_folder + "/schedstat");
  const auto words = text ? split(*text, ' ') : std::vector<std::string_view>();
  const auto nanoseconds = words.size() >= 2 ? parse_count(words[1]) : std::nullopt;
  if (!nanoseconds) return std::nullopt;
  return static_cast<double>(*nanoseconds) / 1e9;
}

/// FUSE and Lustre let their callers sleep interruptibly; NFS and disks do not, which the state D shows.
bool waits_for_file_system(const std::string& thread_folder, const Probe& probe) {
  constexpr std::array<std::string_view, 4> kWaits{"request_wait_answer", "ptlrpc_set_wait", "cl_sync_io_wait",
                                                   "ldlm_completion_ast"};
  const std::string function = probe.text(thread_folder + "/wchan").value_or("");
  return std::ranges::find(kWaits, function) != kWaits.end();
}

bool waits_for_storage(const StatLine& line, const std::string& thread_folder, const Probe& probe) {
  return line.state() == 'D' || (line.state() == 'S' && waits_for_file_system(thread_folder, probe));
}

void read_threads(const std::string& folder, const Probe& probe, ProcessUse& use) {
  for (const std::string& name : probe.names(folder + "/task")) {
    const std::string thread_folder = folder + "/task/" + name;
    const auto line = stat_at(thread_folder, probe);
    if (line && waits_for_storage(*line, thread_folder, probe)) ++use.blocked_threads;
    const auto waited = core_wait(thread_folder, probe);
    if (waited) use.core_waits.push_back({parse_count(name).value_or(0), *waited});
  }
}

/// Empty for a process that is gone. One that ended is there until its parent has waited for it, and its counters too,
/// which then become the parent's.
std::optional<ProcessUse> read_use(std::uint64_t pid, const Probe& probe) {
  const std::string folder = folder_of(pid);
  auto bytes = read_bytes(folder, probe);
  const auto line = stat_at(folder, probe);  // after its bytes: if these are empty it has not just ended
  if (!line) return std::nullopt;
  const auto ticks = [&](std::size_t first, std::size_t second) {
    return static_cast<double>(line->number(first) + line->number(second)) * kClockTick;
  };
  ProcessUse use;
  use.pid = pid;
  use.start = line->number(22);
  use.own_cpu_seconds = ticks(14, 15);
  use.cpu_seconds = use.own_cpu_seconds + ticks(16, 17);
  use.major_faults = line->number(12) + line->number(13);
  use.bytes = bytes;
  if (has_ended(*line)) return use;
  use.threads = line->number(20);
  read_threads(folder, probe, use);
  return use;
}

/// Whose child each process is.
std::multimap<std::uint64_t, std::uint64_t> children_by_parent(const Probe& probe) {
  std::multimap<std::uint64_t, std::uint64_t> children;
  for_each_process(probe, [&](std::uint64_t pid, const StatLine& line) { children.emplace(line.number(4), pid); });
  return children;
}

}  // namespace

std::vector<std::uint64_t> process_ids(const Probe& probe) {
  std::vector<std::uint64_t> ids;
  for (const std::string& name : probe.names("/proc")) {
    if (const auto pid = parse_count(name)) ids.push_back(*pid);
  }
  return ids;
}

std::optional<ProcessBytes> read_process_bytes(std::uint64_t pid, const Probe& probe) {
  return read_bytes(folder_of(pid), probe);
}

double kernel_cpu_seconds(const Probe& probe) {
  double seconds = 0;
  for_each_process(probe, [&](std::uint64_t, const StatLine& line) {
    if (is_kernel_thread(line)) seconds += static_cast<double>(line.number(14) + line.number(15)) * kClockTick;
  });
  return seconds;
}

std::optional<ProcessName> find_process(std::uint64_t pid, const Probe& probe) {
  const auto line = stat_at(folder_of(pid), probe);
  if (!line || has_ended(*line)) return std::nullopt;
  return ProcessName{line->command, line->number(22)};
}

std::vector<ProcessUse> read_process_tree(std::uint64_t pid, const Probe& probe) {
  std::vector<ProcessUse> tree;
  if (!find_process(pid, probe)) return tree;
  const auto children = children_by_parent(probe);
  std::vector<std::uint64_t> found{pid};
  std::set<std::uint64_t> known{pid};  // numbers that are reused meanwhile could make a ring of parents
  while (!found.empty()) {
    const std::uint64_t next = found.back();
    found.pop_back();
    if (auto use = read_use(next, probe)) tree.push_back(*use);
    const auto [first, last] = children.equal_range(next);
    for (auto child = first; child != last; ++child) {
      if (known.insert(child->second).second) found.push_back(child->second);
    }
  }
  return tree;
}

std::optional<StalledJob> find_stalled_job(const Probe& probe) {
  std::map<std::uint64_t, StalledJob> jobs;  // by pid
  for_each_process(probe, [&](std::uint64_t pid, const StatLine& line) {
    if (is_kernel_thread(line) || !waits_for_storage(line, folder_of(pid), probe)) return;
    const auto parent = find_process(line.number(4), probe);
    if (parent && parent->command == line.command) pid = line.number(4);
    jobs[pid] = {pid, line.command, jobs[pid].processes + 1};
  });
  if (jobs.empty()) return std::nullopt;
  return std::ranges::max_element(jobs, {}, [](const auto& job) { return job.second.processes; })->second;
}

std::optional<std::uint64_t> allowed_processors(std::uint64_t pid, const Probe& probe) {
  const std::string status = probe.text(folder_of(pid) + "/status").value_or("");
  const std::size_t count = parse_cpu_list(line_value(status, "Cpus_allowed_list:")).size();
  return count > 0 ? std::optional<std::uint64_t>(count) : std::nullopt;
}

}  // namespace shardkit::system
