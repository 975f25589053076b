#include "bench/watch/watch_target.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include <fmt/format.h>

#include "bench/watch/watch.hpp"
#include "catalog/image_folder.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/publish.hpp"
#include "system/limits.hpp"
#include "system/processes.hpp"

namespace shardkit::bench {
namespace {

void look_at_path(const std::string& path, const system::Probe& probe, WatchTarget& target) {
  target.storage = system::storage_of(path, probe);
  target.path = system::data_path(path, probe);
  const auto mount = system::mount_of(target.path, probe);
  if (mount && mount->type.starts_with("nfs")) target.nfs_mount = *mount;
}

void look_at_process(std::uint64_t pid, const system::Probe& probe, WatchTarget& target) {
  const auto process = system::find_process(pid, probe);
  if (!process) {
    throw Error(ErrorCode::not_found,
                fmt::format("process {} does not exist, or /proc hides it from this user and container; see `ps -ef`. "
                            "Watch a job in a container from inside it or from the host",
                            pid));
  }
  target.pid = pid;
  target.start = process->start;
  target.command = process->command;
  target.processors = system::allowed_processors(pid, probe);
}

/// What a job reads, as far as its processes have it open now: shards and images, or files so large that they are data.
bool is_data(const std::string& path, const system::Probe& probe) {
  constexpr std::uint64_t kLarge = std::uint64_t{16} << 20U;
  constexpr std::array kSystem{"/proc/", "/sys/", "/dev/", "/usr/", "/lib", "/tmp/", "/var/log/"};
  const auto is_below = [&](const char* folder) { return path.starts_with(folder); };
  const auto facts = probe.stat(path);
  if (!facts || facts->kind != system::PathFacts::Kind::file) return false;
  if (catalog::is_tar_name(path) || catalog::is_image_name(path)) return true;
  return facts->size >= kLarge && std::ranges::none_of(kSystem, is_below);
}

/// Data that is found by the open files of the job: the folder of most of them. Without any, only the process is
/// watched.
void look_at_open_data(std::uint64_t pid, const system::Probe& probe, WatchTarget& target) {
  std::map<std::string, std::size_t> folders;
  for (const system::ProcessUse& process : system::read_process_tree(pid, probe)) {
    const std::string files = fmt::format("/proc/{}/fd", process.pid);
    for (const std::string& file : probe.names(files)) {
      const auto path = probe.resolve(files + "/" + file);
      if (path && is_data(*path, probe)) ++folders[io::parent_folder(*path)];
    }
  }
  if (folders.empty()) return;
  const auto most = std::ranges::max_element(folders, {}, [](const auto& folder) { return folder.second; });
  look_at_path(most->first, probe, target);
}

}  // namespace

WatchTarget find_watch_target(const WatchOptions& options, const system::Probe& probe) {
  WatchTarget target;
  if (options.path && is_digits(*options.path) && !probe.stat(*options.path)) {
    throw Error(ErrorCode::not_found, At{*options.path}, "'{0}' does not exist; to watch process {0}, use --pid {0}",
                *options.path);
  }
  if (options.path) look_at_path(*options.path, probe, target);
  if (options.pid) look_at_process(*options.pid, probe, target);
  if (options.pid && !options.path) look_at_open_data(*options.pid, probe, target);
  return target;
}

}  // namespace shardkit::bench
