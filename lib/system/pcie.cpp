#include "system/pcie.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/text.hpp"

namespace shardkit::system {
namespace {

constexpr std::array kSpeeds{2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0};

/// "16.0 GT/s PCIe"; "Unknown" is not a speed.
std::optional<double> link_speed(const Probe& probe, const std::string& file) {
  const auto speed = leading_decimal(sys_word(probe, file));
  if (!speed || pcie_generation(*speed) == 0) return std::nullopt;
  return speed;
}

/// 0, 63 and 255 mean that the bridge does not report a value.
std::optional<std::uint64_t> link_width(const Probe& probe, const std::string& file) {
  const auto width = sys_number(probe, file);
  return width && *width > 0 && *width <= 32 ? width : std::nullopt;
}

/// "0000:17:00.0"
bool is_address(std::string_view name) {
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':' &&
         name.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
}

std::string folder_above(const std::string& folder) { return folder.substr(0, folder.rfind('/')); }

/// The port that the device is plugged into, unless its values are nonsense, as those of virtual ports.
void add_slot(const Probe& probe, const std::string& port, PcieLink& link) {
  if (!is_address(last_name(port))) return;
  const auto speed = link_speed(probe, port + "/max_link_speed");
  const auto width = link_width(probe, port + "/max_link_width");
  if (speed && link.speed && *speed >= *link.speed) link.slot_speed = speed;
  if (width && link.width && *width >= *link.width) link.slot_width = width;
}

std::optional<double> link_rate(const Probe& probe, const std::string& start) {
  return pcie_rate(link_speed(probe, start + "_link_speed"), link_width(probe, start + "_link_width"));
}

std::optional<double> smaller(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

/// The links of switches above the device's port, whose own link is that of the device.
void add_uplinks(const Probe& probe, const std::string& port, PcieLink& link) {
  if (!is_address(last_name(port))) return;
  for (std::string above = folder_above(port); is_address(last_name(above)); above = folder_above(above)) {
    link.uplink_rate = smaller(link.uplink_rate, link_rate(probe, above + "/current"));
    link.max_uplink_rate = smaller(link.max_uplink_rate, link_rate(probe, above + "/max"));
  }
}

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
  const std::string information = probe.text("/proc/driver/nvidia/gpus/" + address + "/information").value_or("");
  gpu.model = line_value(information, "Model:");
  if (gpu.model.empty()) gpu.model = "NVIDIA device " + sys_word(probe, folder + "/device");
  gpu.driver = last_name(probe.resolve(folder + "/driver").value_or(""));
  gpu.pcie = read_pcie_link(probe, folder);
  return gpu;
}

NetworkCard read_card(const Probe& probe, const std::string& name) {
  const std::string folder = "/sys/class/net/" + name;
  NetworkCard card;
  card.name = name;
  card.driver = last_name(probe.resolve(folder + "/device/driver").value_or(""));
  card.state = sys_word(probe, folder + "/operstate");
  // In 10^6 bits; -1, which is not accepted here, if the link is virtual or down.
  if (const auto megabits = sys_number(probe, folder + "/speed"); megabits.value_or(0) > 0) {
    card.bytes_per_second = static_cast<double>(*megabits) * 1e6 / 8;
  }
  card.mtu = sys_number(probe, folder + "/mtu");
  if (const PcieLink link = read_pcie_link(probe, folder + "/device"); !link.address.empty()) card.pcie = link;
  return card;
}

bool is_card(const Probe& probe, const std::string& name) {
  const std::string folder = "/sys/class/net/" + name;
  return probe.resolve(folder + "/device") || probe.text(folder + "/bonding/mode");
}

std::optional<double> rdma_rate(const std::string& text) {
  const auto gigabits = leading_decimal(text);
  return gigabits ? std::optional(*gigabits * 1e9 / 8) : std::nullopt;
}

}  // namespace

PcieLink read_pcie_link(const Probe& probe, const std::string& folder) {
  std::string device = probe.resolve(folder).value_or("");
  while (!device.empty() && !is_address(last_name(device))) device = folder_above(device);
  if (device.empty()) return {};
  PcieLink link;
  link.address = last_name(device);
  link.speed = link_speed(probe, device + "/current_link_speed");
  link.width = link_width(probe, device + "/current_link_width");
  link.max_speed = link_speed(probe, device + "/max_link_speed");
  link.max_width = link_width(probe, device + "/max_link_width");
  link.numa_node = sys_number(probe, device + "/numa_node");  // -1, no number to us, is unknown
  add_slot(probe, folder_above(device), link);
  add_uplinks(probe, folder_above(device), link);
  return link;
}

unsigned pcie_generation(double speed) {
  for (std::size_t i = 0; i < kSpeeds.size(); ++i) {
    if (speed == kSpeeds[i]) return static_cast<unsigned>(i + 1);
  }
  return 0;
}

std::optional<double> pcie_speed(unsigned generation) {
  if (generation == 0 || generation > kSpeeds.size()) return std::nullopt;
  return kSpeeds[generation - 1];
}

std::optional<double> pcie_rate(std::optional<double> speed, std::optional<std::uint64_t> lanes) {
  if (!speed || !lanes) return std::nullopt;
  const double coding = *speed < 8 ? 8.0 / 10 : *speed < 64 ? 128.0 / 130 : 242.0 / 256;
  return *speed * 1e9 / 8 * coding * static_cast<double>(*lanes);
}

GpuPresence find_gpus(const Probe& probe) {
  GpuPresence gpus;
  for (const std::string& name : probe.names("/dev")) {
    if (name.starts_with("nvidia") && parse_count(name.substr(6))) ++gpus.devices;
  }
  gpus.driver_version = driver_version(probe);
  for (const std::string& address : probe.names("/sys/bus/pci/devices")) {
    if (is_gpu(probe, "/sys/bus/pci/devices/" + address)) gpus.bus.push_back(read_gpu(probe, address));
  }
  return gpus;
}

std::vector<NetworkCard> read_network_cards(const Probe& probe) {
  std::vector<NetworkCard> cards;
  std::vector<NetworkCard> virtual_ones;
  for (const std::string& name : probe.names("/sys/class/net")) {
    if (name == "lo" || !probe.text("/sys/class/net/" + name + "/mtu")) continue;
    NetworkCard card = read_card(probe, name);
    if (is_card(probe, name)) {
      cards.push_back(std::move(card));
    } else if (card.state == "up") {
      virtual_ones.push_back(std::move(card));
    }
  }
  return cards.empty() ? virtual_ones : cards;
}

std::vector<RdmaPort> read_rdma_ports(const Probe& probe) {
  std::vector<RdmaPort> ports;
  for (const std::string& device : probe.names("/sys/class/infiniband")) {
    const std::string folder = "/sys/class/infiniband/" + device;
    for (const std::string& number : probe.names(folder + "/ports")) {
      const std::string port = folder + "/ports/" + number;
      const std::string state = sys_word(probe, port + "/state");  // "4: ACTIVE"
      RdmaPort facts{
          device + "/" + number,
          sys_word(probe, port + "/link_layer"),
          state.substr(state.find(':') == std::string::npos ? 0 : std::min(state.size(), state.find(':') + 2)),
          sys_word(probe, port + "/rate"),
          std::nullopt,
          sys_number(probe, folder + "/device/numa_node")};
      facts.bytes_per_second = rdma_rate(facts.rate);
      ports.push_back(std::move(facts));
    }
  }
  return ports;
}

}  // namespace shardkit::system
