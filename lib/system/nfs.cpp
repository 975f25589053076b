#include "system/nfs.hpp"

#include <algorithm>

#include "system/sys_text.hpp"

namespace shardkit {
namespace {

/// What follows "name=" among the options of a mount; empty when it is not there.
std::string option_value(const Mount& mount, const std::string& name) {
  for (const std::string& option : mount.options) {
    if (option.starts_with(name + "=")) return option.substr(name.size() + 1);
  }
  return {};
}

bool has_option(const Mount& mount, const std::string& option) {
  return std::find(mount.options.begin(), mount.options.end(), option) != mount.options.end();
}

/// The lines of mountstats that belong to the mount: "device server:/export mounted on /data with fstype nfs4 ..." and
/// those that follow.
std::string_view section_of(std::string_view text, const Mount& mount) {
  const std::string mark = " mounted on " + mount.point + " with fstype nfs";
  const std::size_t start = text.find(mark);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find("\ndevice ", start) - start);
}

/// "READ: ops transmissions timeouts bytes_sent bytes_received queue_ms round_trip_ms execute_ms [errors]"
void add_operation(std::string_view line, NfsCounters& counters) {
  const auto words = split(trimmed(line), ' ');
  if (words.size() < 9 || !words[0].ends_with(':')) return;
  const auto number = [&](std::size_t word) { return parse_number(words[word]).value_or(0); };
  const std::uint64_t operations = number(1);
  const double round_trip = static_cast<double>(number(7)) / 1000;
  counters.operations += operations;
  counters.retransmissions += number(2) - std::min(number(2), operations);
  counters.timeouts += number(3);
  counters.round_trip_seconds += round_trip;
  if (words[0] != "READ:") return;
  counters.reads = operations;
  counters.read_bytes = number(5);
  counters.read_round_trip_seconds = round_trip;
}

}  // namespace

NfsFacts read_nfs(const Mount& mount, const Probe& probe) {
  NfsFacts facts;
  facts.device = mount.device;
  facts.version = option_value(mount, "vers");
  facts.protocol = option_value(mount, "proto");
  facts.connections = std::max<std::uint64_t>(1, parse_number(option_value(mount, "nconnect")).value_or(1));
  facts.read_size = parse_number(option_value(mount, "rsize"));
  facts.write_size = parse_number(option_value(mount, "wsize"));
  facts.recovery = has_option(mount, "softerr") ? "softerr" : has_option(mount, "soft") ? "soft" : "hard";
  facts.caches_attributes =
      !has_option(mount, "noac") && option_value(mount, "acregmax") != "0" && option_value(mount, "actimeo") != "0";
  const NfsCounters counters = read_nfs_counters(mount, probe).value_or(NfsCounters{});
  facts.operations = counters.operations;
  facts.retransmissions = counters.retransmissions;
  facts.timeouts = counters.timeouts;
  if (counters.reads > 0)
    facts.read_round_trip = counters.read_round_trip_seconds / static_cast<double>(counters.reads);
  return facts;
}

std::optional<NfsCounters> read_nfs_counters(const Mount& mount, const Probe& probe) {
  const std::string statistics = probe.text("/proc/self/mountstats").value_or("");
  const std::string_view section = section_of(statistics, mount);
  const std::size_t operations = section.find("per-op statistics");
  if (operations == std::string_view::npos) return std::nullopt;
  NfsCounters counters;
  for (const auto line : split(section.substr(operations), '\n')) add_operation(line, counters);
  return counters;
}

}  // namespace shardkit
