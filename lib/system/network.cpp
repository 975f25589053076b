#include "system/network.hpp"

#include <algorithm>
#include <charconv>

namespace shardkit::system {
namespace {

NetworkCard read_card(const Probe& probe, const std::string& name) {
  const std::string folder = "/sys/class/net/" + name;
  NetworkCard card;
  card.name = name;
  card.driver = last_name(probe.resolve(folder + "/device/driver").value_or(""));
  card.state = sys_word(probe, folder + "/operstate");
  // In 10^6 bits; -1, no number to us, where the link is virtual or down.
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
  double gigabits = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), gigabits);
  return error == std::errc() ? std::optional(gigabits * 1e9 / 8) : std::nullopt;
}

}  // namespace

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
