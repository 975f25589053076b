#include "system/host.hpp"

#include <cerrno>

#include <sys/utsname.h>

#include "core/text.hpp"
#include "system/limits.hpp"
#include "system/storage.hpp"

namespace shardkit::system {
namespace {

/// PRETTY_NAME of os-release(5); the kernel's name if there is none.
std::string os_name(const std::string& kernel_name) {
  const std::string release = live_probe().text("/etc/os-release").value_or("");
  std::string_view name = line_value(release, "PRETTY_NAME=");
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  return name.empty() ? kernel_name : std::string(name);
}

constexpr unsigned kCapIpcLock = 14;  // linux/capability.h

CallState call_state(int error) {
  if (error == ENOSYS) return CallState::absent;
  return error == EPERM || error == EACCES ? CallState::refused : CallState::works;
}

CallState io_uring_state(const Probe& probe) {
  const CallState state = call_state(probe.try_call(SystemCall::io_uring_setup));
  const bool disabled = sys_number(probe, "/proc/sys/kernel/io_uring_disabled").value_or(0) > 0;
  return state == CallState::refused && disabled ? CallState::disabled : state;
}

/// The hard limit of a line "Max open files   1024   524288   files"; empty for "unlimited".
std::optional<std::uint64_t> hard_limit(std::string_view limits, std::string_view name) {
  const auto words = split(line_value(limits, name), ' ');
  return words.size() < 2 ? std::nullopt : parse_count(words[1]);
}

bool has_capability(std::string_view status, unsigned capability) {
  std::uint64_t mask = 0;
  return parse_number(line_value(status, "CapEff:"), mask, 16) && (mask >> capability & 1U) != 0;
}

std::string virtual_machine(const Probe& probe) {
  const std::string vendor = sys_word(probe, "/sys/class/dmi/id/sys_vendor");
  const std::string product = sys_word(probe, "/sys/class/dmi/id/product_name");
  const std::string flags = std::string(line_value(probe.text("/proc/cpuinfo").value_or(""), "flags"));
  bool guest = probe.text("/sys/hypervisor/type").has_value();
  for (const auto flag : split(flags, ' ')) guest = guest || flag == "hypervisor";
  for (const std::string_view known : {"QEMU", "VMware", "Google", "innotek", "Xen"}) {
    guest = guest || vendor.starts_with(known);
  }
  guest = guest || (vendor == "Amazon EC2" && !product.ends_with(".metal"));
  if (!guest) return {};
  if (vendor.empty() && product.empty()) return "of unknown make";
  return vendor + (vendor.empty() || product.empty() ? "" : " ") + product;
}

std::string container(const Probe& probe) {
  const std::string groups = probe.text("/proc/self/cgroup").value_or("");
  const auto has = [&](std::string_view part) { return groups.find(part) != std::string::npos; };
  if (probe.stat("/var/run/secrets/kubernetes.io") || has("kubepods")) return "kubernetes";
  if (probe.stat("/run/.containerenv")) return "podman";
  if (probe.stat("/.dockerenv") || has("/docker")) return "docker";
  if (probe.stat("/.singularity.d")) return "apptainer";
  if (has("/lxc")) return "lxc";
  return probe.text("/run/systemd/container").value_or("");  // of systemd-nspawn and others that follow its rule
}

}  // namespace

HostInfo this_host() {
  HostInfo host;
  utsname name{};
  if (uname(&name) == 0) {
    host.hostname = name.nodename;
    host.kernel = name.release;
  }
  host.os = os_name(name.sysname);
  host.cpus = usable_threads();
  host.cpu_limit = read_cgroup_use().cpu_limit;
  host.memory = usable_memory();
  return host;
}

KernelFacts read_kernel(const Probe& probe) {
  const std::string limits = probe.text("/proc/self/limits").value_or("");
  const std::string status = probe.text("/proc/self/status").value_or("");
  KernelFacts facts;
  facts.release = sys_word(probe, "/proc/sys/kernel/osrelease");
  facts.io_uring = io_uring_state(probe);
  facts.cachestat = call_state(probe.try_call(SystemCall::cachestat));
  facts.descriptors = hard_limit(limits, "Max open files");
  facts.locked_memory = hard_limit(limits, "Max locked memory");
  const auto ids = split(line_value(status, "Uid:"), '\t');
  facts.root = ids.size() > 1 && ids[1] == "0";
  facts.may_lock = has_capability(status, kCapIpcLock);
  facts.virtual_machine = virtual_machine(probe);
  facts.container = container(probe);
  return facts;
}

std::string pod_uid(const Probe& probe) {
  constexpr std::string_view kPods = "/pods/";
  for (const Mount& mount : read_mounts(probe)) {
    const std::size_t pods = mount.root.find(kPods);
    if (pods == std::string::npos || (mount.point != "/etc/hosts" && mount.point != "/dev/termination-log")) continue;
    const std::string below = mount.root.substr(pods + kPods.size());
    return below.substr(0, below.find('/'));
  }
  return {};
}

std::string node_name() {
  const EnvironmentLookup environment = process_environment();
  for (const char* name : {"SLURMD_NODENAME", "NODE_NAME"}) {
    if (const auto value = environment(name)) return *value;
  }
  return this_host().hostname;
}

}  // namespace shardkit::system
