#include "system/gpu.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "system/sys_text.hpp"

namespace shardkit {

GpuPresence find_gpus(const std::string& root) {
  GpuPresence gpus;
  std::error_code ignored;  // no /dev, no GPUs
  for (std::filesystem::directory_iterator entry(root + "/dev", ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    if (name.starts_with("nvidia") && parse_number(name.substr(6))) ++gpus.devices;
  }
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ..."
  const std::string version = sys_text(root, "proc/driver/nvidia/version").value_or("");
  for (const auto word : split(std::string_view(version).substr(0, version.find('\n')), ' ')) {
    if (word.find('.') != std::string_view::npos && word.find_first_not_of("0123456789.") == std::string_view::npos) {
      gpus.driver_version = word;
      break;
    }
  }
  return gpus;
}

}  // namespace shardkit
