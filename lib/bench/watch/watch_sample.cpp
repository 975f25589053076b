#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "bench/watch/watch.hpp"
#include "bench/watch/watch_row.hpp"
#include "catalog/image_folder.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"

namespace shardkit::bench {
namespace {

void look_at_path(const std::string& path, const system::Probe& probe, WatchTarget& target) {
  target.storage = system::storage_of(path, probe);
  target.path = system::data_path(path, probe);
  const auto mounts = system::read_mounts(probe);
  const system::Mount* const mount = system::find_mount(mounts, target.path);
  if (mount != nullptr && mount->type.starts_with("nfs")) target.nfs_mount = *mount;
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

constexpr std::size_t kMostFilesAsked = 64;
constexpr std::size_t kMostEntries = 4096;
constexpr std::uint64_t kMostBytesAsked = std::uint64_t{4} << 30U;

/// Regular files at `path` or below; links to folders are not followed, so that the walk ends.
std::vector<std::string> some_paths(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return {path};
  std::vector<std::string> paths;
  std::size_t entries = 0;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, failed);
  for (const fs::recursive_directory_iterator end; !failed && entry != end && entries < kMostEntries; ++entries) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) paths.push_back(entry->path());
    entry.increment(failed);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// `most` of them at equal distances.
template <class T>
std::vector<T> taken_evenly(std::vector<T> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(std::move(all[i * all.size() / most]));
  return some;
}

void look_at_node(const system::Probe& probe, WatchSample& sample) {
  sample.cpu = system::read_cpu_times(probe);
  sample.memory = system::read_memory_use(probe);
  sample.pressure = system::read_pressures(probe, "/proc/pressure/");
  sample.dev_shm = probe.space("/dev/shm");
}

void look_at_job(const WatchTarget& target, const system::Probe& probe, WatchSample& sample) {
  sample.group = system::read_cgroup_use(probe, target.pid ? fmt::to_string(*target.pid) : "self");
  if (!target.pid) {
    sample.stalled = system::find_stalled_job(probe);
    return;
  }
  sample.processes = system::read_process_tree(*target.pid, probe);
  sample.process_ended = sample.processes.empty() || sample.processes.front().start != target.start;
  if (sample.process_ended) sample.processes.clear();  // another process may have its number meanwhile
}

void look_at_data(const WatchTarget& target, const WatchSources& sources, WatchSample& sample) {
  sample.disk = system::read_disk_counters(target.storage.device, sources.probe);
  if (target.nfs_mount) sample.nfs = system::read_nfs_counters(*target.nfs_mount, sources.probe);
  sample.cached = sources.files.look();
}

std::vector<GpuRow> look_at_gpus_of(const gpu::GpuMonitor* monitor) {
  std::vector<GpuRow> gpus;
  if (monitor == nullptr) return gpus;
  for (gpu::GpuState& state : monitor->look()) {
    const auto intake = is_in_use(state) ? monitor->pcie_intake(state.pci_address) : std::nullopt;
    gpus.push_back({std::move(state), intake});
  }
  return gpus;
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

WatchedFiles::WatchedFiles(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const std::string& name : taken_evenly(some_paths(path), kMostFilesAsked)) {
    try {
      io::File file = io::File::open_read(name);
      const std::uint64_t size = file.size();
      if (size > kMostBytesAsked) continue;
      bytes += size;
      files_.push_back(std::move(file));
    } catch (const Error&) {  // not for this user, or ended meanwhile: the others are enough
    }
  }
  if (bytes <= kMostBytesAsked) return;
  const double share = static_cast<double>(kMostBytesAsked) / static_cast<double>(bytes);
  const auto most = static_cast<std::size_t>(share * static_cast<double>(files_.size()));
  files_ = taken_evenly(std::move(files_), std::max<std::size_t>(1, most));
}

std::optional<double> WatchedFiles::look() const {
  double bytes = 0;
  double cached = 0;
  try {
    for (const io::File& file : files_) {
      const auto in_cache = io::cached_bytes(file);
      if (!in_cache) return std::nullopt;
      cached += static_cast<double>(*in_cache);
      bytes += static_cast<double>(file.size());
    }
  } catch (const Error&) {  // a server that forgot the file
    return std::nullopt;
  }
  return bytes > 0 ? std::optional(std::min(cached / bytes, 1.0)) : std::nullopt;
}

WatchSample take_watch_sample(const WatchTarget& target, const WatchSources& sources) {
  WatchSample sample;
  sample.moment = sources.clock.monotonic().count();
  sample.time = sources.clock.now();
  look_at_node(sources.probe, sample);
  look_at_job(target, sources.probe, sample);
  look_at_data(target, sources, sample);
  sample.gpus = look_at_gpus_of(sources.gpus);
  return sample;
}

}  // namespace shardkit::bench
