#include "bench/env/environment.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "system/cgroup.hpp"
#include "system/gpu.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

std::optional<std::uint64_t> free_in_dev_shm() {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return std::nullopt;
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

void warn_of_storage(const StorageFacts& storage, Context& context) {
  const auto has = [&](const char* option) {
    return std::find(storage.options.begin(), storage.options.end(), option) != storage.options.end();
  };
  if (storage.storage_class == StorageClass::memory) {
    context.warn("data_in_memory",
                 fmt::format("the data lies on {}, which is memory: no disk is measured", storage.file_system));
  }
  if (has("strictatime"))
    context.warn("strictatime", "the mount option strictatime writes to disk for every file read");
  if (storage.file_system.starts_with("nfs") && has("nconnect=1")) {
    context.warn("nfs_nconnect", "NFS is mounted with one connection; nconnect=8 or more lets several streams run");
  }
}

}  // namespace

Environment look_at_environment(const std::string& path, Context& context) {
  const CgroupLimits limits = read_cgroup_limits();
  const GpuPresence gpus = find_gpus();
  Environment environment;
  environment.usable_threads = usable_threads();
  environment.cpu_limit = limits.cpus;
  environment.throttled_periods = limits.throttled_periods;
  environment.usable_memory = usable_memory();
  environment.dev_shm = free_in_dev_shm();
  environment.gpus = gpus.devices;
  environment.gpu_driver = gpus.driver_version;
  environment.storage = storage_of(path);
  warn_of_storage(environment.storage, context);
  return environment;
}

}  // namespace shardkit
