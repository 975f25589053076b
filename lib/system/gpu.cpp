#include "system/gpu.hpp"

#include <string_view>

#include "system/sys_text.hpp"

namespace shardkit {
namespace {

constexpr std::string_view kVendor = "0x10de";

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ..."
std::string driver_version(const Probe& probe) {
  const std::string text = probe.text("/proc/driver/nvidia/version").value_or("");
  for (const auto word : split(std::string_view(text).substr(0, text.find('\n')), ' ')) {
    if (word.find('.') != std::string_view::npos && word.find_first_not_of("0123456789.") == std::string_view::npos) {
      return std::string(word);
    }
  }
  return {};
}

/// Display controllers: VGA 0x0300xx and 3D 0x0302xx; the rest of a card is sound, USB and switches.
bool is_gpu(const Probe& probe, const std::string& folder) {
  const std::string kind = sys_word(probe, folder + "/class");
  return (kind.starts_with("0x0300") || kind.starts_with("0x0302")) && sys_word(probe, folder + "/vendor") == kVendor;
}

GpuDevice read_gpu(const Probe& probe, const std::string& address) {
  const std::string folder = "/sys/bus/pci/devices/" + address;
  GpuDevice gpu;
  const std::string told = probe.text("/proc/driver/nvidia/gpus/" + address + "/information").value_or("");
  gpu.model = line_value(told, "Model:");
  if (gpu.model.empty()) gpu.model = "NVIDIA device " + sys_word(probe, folder + "/device");
  gpu.driver = last_name(probe.resolve(folder + "/driver").value_or(""));
  gpu.pcie = read_pcie_link(probe, folder);
  return gpu;
}

}  // namespace

GpuPresence find_gpus(const Probe& probe) {
  GpuPresence gpus;
  for (const std::string& name : probe.names("/dev")) {
    if (name.starts_with("nvidia") && parse_number(name.substr(6))) ++gpus.devices;
  }
  gpus.driver_version = driver_version(probe);
  for (const std::string& address : probe.names("/sys/bus/pci/devices")) {
    if (is_gpu(probe, "/sys/bus/pci/devices/" + address)) gpus.bus.push_back(read_gpu(probe, address));
  }
  return gpus;
}

}  // namespace shardkit
