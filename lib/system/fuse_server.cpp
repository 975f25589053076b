#include "system/fuse_server.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/text.hpp"
#include "system/storage.hpp"

namespace shardkit::system {
namespace {

/// A process with /dev/fuse open.
struct Candidate {
  std::uint64_t pid = 0;
  std::vector<std::uint64_t> connections;  ///< minor device numbers of the mounts it serves; none before Linux 6.16
};

std::optional<Candidate> candidate(std::uint64_t pid, const Probe& probe) {
  const std::string folder = fmt::format("/proc/{}", pid);
  Candidate found{pid, {}};
  bool serves = false;
  for (const std::string& name : probe.names(folder + "/fd")) {
    if (probe.resolve(fmt::format("{}/fd/{}", folder, name)) != "/dev/fuse") continue;
    serves = true;
    const std::string info = probe.text(fmt::format("{}/fdinfo/{}", folder, name)).value_or("");
    if (const auto connection = parse_count(line_value(info, "fuse_connection:"))) {
      found.connections.push_back(*connection);
    }
  }
  return serves ? std::optional(found) : std::nullopt;
}

std::vector<Candidate> find_candidates(const Probe& probe) {
  std::vector<Candidate> found;
  for (const std::string& name : probe.names("/proc")) {
    const auto pid = parse_count(name);
    if (auto one = pid ? candidate(*pid, probe) : std::nullopt) found.push_back(*std::move(one));
  }
  return found;
}

bool names_in_command(const Candidate& one, const std::string& mount_point, const Probe& probe) {
  const std::string command = probe.text(fmt::format("/proc/{}/cmdline", one.pid)).value_or("");
  const auto words = split(command, '\0');
  return std::ranges::find(words, std::string_view(mount_point)) != words.end();
}

bool is_fuse(const Mount& mount) { return mount.type.starts_with("fuse") && mount.type != "fusectl"; }

}  // namespace

std::vector<std::uint64_t> fuse_servers(const std::string& mount_point, const Probe& probe) {
  const std::vector<Mount> mounts = read_mounts(probe);
  const Mount* const mount = find_mount(mounts, mount_point);
  if (mount == nullptr || !is_fuse(*mount)) return {};
  const std::vector<Candidate> candidates = find_candidates(probe);
  const auto minor = parse_count(std::string_view(mount->device).substr(mount->device.find(':') + 1));
  const auto is_of_connection = [&](const Candidate& one) {
    return minor && std::ranges::find(one.connections, *minor) != one.connections.end();
  };
  const bool kernel_names_it =
      std::ranges::any_of(candidates, [](const auto& one) { return !one.connections.empty(); });
  const bool is_only_one = candidates.size() == 1 && std::ranges::count_if(mounts, is_fuse) == 1;
  std::vector<std::uint64_t> servers;
  for (const Candidate& one : candidates) {
    const bool serves =
        kernel_names_it ? is_of_connection(one) : is_only_one || names_in_command(one, mount_point, probe);
    if (serves) servers.push_back(one.pid);
  }
  return servers;
}

}  // namespace shardkit::system
