#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// The machine a result was made on.
struct HostInfo {
  std::string hostname;
  std::string os;
  std::string kernel;
  std::uint64_t cpus = 0;
  std::optional<double> cpu_limit;  ///< of the control group, in cores; empty: none
  std::uint64_t memory = 0;

  void describe(FieldList& v) {
    v.field({"hostname", "name of the machine"}, hostname);
    v.field({"os", "distribution and version"}, os);
    v.field({"kernel", "kernel release"}, kernel);
    v.field({"cpus", Unit::count, "CPUs available to the process", kCondition}, cpus);
    v.field({"cpu_limit", "CPU limit of the control group, in cores; absent: none", condition_within(0.01)}, cpu_limit);
    v.field({"memory", Unit::bytes, "memory available to the process", condition_within(0.1)}, memory);
  }
};

/// Asks the operating system. Unknown facts stay empty or 0; never throws for them.
HostInfo this_host();

/// Whether a system call may be used, and the reason, because "no" alone would not say what to change.
enum class CallState { works, absent, refused, disabled };
constexpr auto enum_names(CallState) {
  return std::to_array<std::string_view>({"works", "not in this kernel", "refused by a security filter",  // seccomp
                                          "disabled by kernel.io_uring_disabled"});
}

/// What the kernel, a seccomp filter and the limits of this process allow.
struct KernelFacts {
  std::string release;
  CallState io_uring = CallState::works;
  CallState cachestat = CallState::works;      ///< never disabled
  std::optional<std::uint64_t> descriptors;    ///< most open files, the hard limit; empty: unlimited
  std::optional<std::uint64_t> locked_memory;  ///< bytes that may be locked or registered; empty: unlimited
  bool root = false;
  bool may_lock = false;        ///< CAP_IPC_LOCK: the limit of locked memory does not apply
  std::string virtual_machine;  ///< "Amazon EC2 p5.48xlarge", "QEMU ..."; empty on bare metal
  std::string container;        ///< "docker", "podman", "kubernetes", ...; empty outside of one

  void describe(FieldList& v) {
    v.field({"release", "version of the kernel"}, release);
    v.field({"io_uring", "whether io_uring is available, or why not"}, io_uring);
    v.field({"cachestat", "whether cachestat(2) is available, or why not"}, cachestat);
    v.field({"descriptors", Unit::count, "hard limit of open files"}, descriptors);
    v.field({"locked_memory", Unit::bytes, "memory that may be locked or registered with io_uring and RDMA"},
            locked_memory);
    v.field({"root", "whether the user is root"}, root);
    v.field({"may_lock", "whether that limit is ignored (CAP_IPC_LOCK)"}, may_lock);
    v.field({"virtual_machine", "product name of a virtual machine"}, virtual_machine);
    v.field({"container", "kind of container"}, container);
  }
};

KernelFacts read_kernel(const Probe& probe = live_probe());

/// The UID of this process's pod: the kubelet mounts /etc/hosts and the termination log from its folder. Empty if none.
std::string pod_uid(const Probe& probe = live_probe());

/// The node's name for its scheduler: SLURMD_NODENAME, else NODE_NAME (a Kubernetes convention), else the host name.
std::string node_name();

}  // namespace shardkit::system
