#include "bench/watch/watch_target.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "system/processes.hpp"

namespace shardkit {
namespace {

void look_at_path(const std::string& path, const Probe& probe, WatchTarget& target) {
  target.storage = storage_of(path, probe);
  target.path = probe.resolve(path).value_or(path);
  const auto facts = probe.stat(target.path);
  if (facts && facts->kind == PathFacts::Kind::other) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' is a FIFO, socket or character device, which holds no data; give a folder, a file or "
                            "a block device",
                            path),
                path);
  }
  const auto mounts = read_mounts(probe);
  const Mount* const mount = find_mount(mounts, target.path);
  if (mount != nullptr && mount->type.starts_with("nfs")) target.nfs_mount = *mount;
}

void look_at_process(std::uint64_t pid, const Probe& probe, WatchTarget& target) {
  const auto process = find_process(pid, probe);
  if (!process) {
    throw Error(ErrorCode::not_found,
                fmt::format("there is no process {} that runs, or /proc hides it from this user and container; see "
                            "`ps -ef`, and watch a job in a container from inside of it or from the host",
                            pid));
  }
  target.pid = pid;
  target.start = process->start;
  target.command = process->command;
  target.processors = allowed_processors(pid, probe);
}

}  // namespace

WatchTarget find_watch_target(const WatchOptions& options, const Probe& probe) {
  WatchTarget target;
  if (options.path) look_at_path(*options.path, probe, target);
  if (options.pid) look_at_process(*options.pid, probe, target);
  return target;
}

}  // namespace shardkit
