#include "bench/env/env.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

/// "PCIe 16 GT/s x8, of 16 GT/s x16, node 1": the known facts about a link.
std::string link_text(const system::PcieLink& link);

void drive(const system::BlockDevice& device, std::string& out) {
  cli::Facts facts;
  facts.add(device.name == device.disk ? device.name : fmt::format("{} on {}", device.name, device.disk));
  facts.add(std::string(enum_name(device.storage_class)));
  facts.add(device.model).add_size(device.size, "").add(device.array_level);
  if (!device.members.empty()) facts.add(fmt::format("over {}", fmt::join(device.members, " ")));
  if (!device.scheduler.empty()) facts.add("scheduler " + device.scheduler);
  facts.add_size(device.read_ahead, " read-ahead").add_if(device.queue_depth, "queue of {}");
  if (device.links.size() == 1) facts.add(link_text(device.links.front().pcie));
  cli::line(out, "device", facts.text());
  if (device.links.size() < 2) return;
  for (const system::DriveLink& link : device.links)
    cli::line(out, "", cli::Facts().add(link.disk).add(link_text(link.pcie)).text());
}

void remote(const bench::Environment& machine, std::string& out) {
  if (const auto& nfs = machine.nfs) {
    cli::Facts facts;
    facts.add(nfs->version.empty() ? "" : "version " + nfs->version)
        .add(nfs->protocol)
        .add(format_count(nfs->connections, "connection"));
    facts.add_size(nfs->read_size, " read size").add(nfs->recovery);
    if (const auto& counted = nfs->counters)
      facts.add(
          fmt::format("{} of {} requests retransmitted", counted->retransmissions, format_count(counted->operations)));
    if (nfs->read_round_trip) facts.add(format_duration(*nfs->read_round_trip) + " per read");
    cli::line(out, "nfs", facts.text());
  }
  if (const auto& lustre = machine.lustre) {
    cli::Facts facts;
    facts.add(lustre->stripe_count ? fmt::format("{} of {}", format_count(*lustre->stripe_count, "stripe"),
                                                 format_size(lustre->stripe_size.value_or(0)))
                                   : "stripes unknown");
    facts.add_if(lustre->read_requests_in_flight, "{} requests in flight per target");
    cli::line(out, "lustre", facts.add_size(lustre->read_ahead, " read-ahead").text());
  }
  if (const auto& fuse = machine.fuse) {
    cli::Facts facts;
    facts.add(fuse->client).add(std::string(enum_name(fuse->kind)));
    if (!fuse->cache_folders.empty()) facts.add(fmt::format("cache in {}", fmt::join(fuse->cache_folders, " ")));
    facts.add_size(fuse->cached, " cached").add_size(fuse->cache_limit, " of cache at most");
    cli::line(out, "fuse", facts.text());
  }
}

std::string link_text(const system::PcieLink& link) {
  cli::Facts facts;
  if (link.speed && link.width) {
    facts.add(fmt::format("PCIe {} GT/s x{}", *link.speed, *link.width));
    const bool less = link.max_speed.value_or(0) > *link.speed || link.max_width.value_or(0) > *link.width;
    if (less && link.max_speed && link.max_width) {
      facts.add(fmt::format("of {} GT/s x{}", *link.max_speed, *link.max_width));
    }
  }
  return facts.add_if(link.numa_node, "node {}").text();
}

/// The lines of `iobench env` about the storage of the data.
void add_storage_lines(const bench::Environment& machine, std::string& out) {
  if (machine.path.empty()) {
    cli::line(out, "data", "no PATH given: give the data folder to see what storage it is on");
    return;
  }
  const system::StorageFacts& storage = machine.storage;
  cli::Facts facts;
  const bool is_device = storage.mount_point.empty() && machine.block_device;
  facts.add(!storage.file_system.empty() ? storage.file_system : is_device ? "a device" : "unknown file system");
  if (!storage.mount_point.empty()) facts.add("at " + storage.mount_point);
  if (!storage.source.empty()) facts.add("from " + storage.source);
  if (machine.space) facts.add(format_size(machine.space->free_bytes) + " free");
  if (!machine.block_device) facts.add_size(storage.read_ahead, " read-ahead");
  cli::line(out, "data", machine.path + ": " + facts.text());
  cli::line(out, "", fmt::format("{}", fmt::join(storage.options, ",")));
  if (machine.block_device) drive(*machine.block_device, out);
  remote(machine, out);
}

std::string headline(const bench::EnvResult& result) {
  const auto& findings = result.environment.findings;
  if (findings.empty()) return "no findings";
  const std::uint64_t hints = findings.size() - result.errors - result.warnings;
  cli::Facts counts;
  if (result.errors > 0) counts.add(format_count(result.errors, "error"));
  if (result.warnings > 0) counts.add(format_count(result.warnings, "warning"));
  if (hints > 0) counts.add(format_count(hints, "hint"));
  return counts.text();
}

void findings(const bench::EnvResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  for (const bench::MachineFinding& finding : result.environment.findings) {
    fmt::format_to(to, "{}: {}\n", enum_name(finding.severity), cli::printable(finding.text));
    fmt::format_to(to, "  is      {}\n  normal  {}\n  do      {}\n", cli::printable(finding.measured),
                   cli::printable(finding.normal), cli::printable(finding.advice));
  }
}

std::string gigahertz(const system::CpuFacts& cpu) {
  if (!cpu.min_hertz || !cpu.max_hertz) return {};
  return fmt::format("{:.1f}-{:.1f} GHz", static_cast<double>(*cpu.min_hertz) / 1e9,
                     static_cast<double>(*cpu.max_hertz) / 1e9);
}

/// "intel_pstate powersave balance_performance": the governor means another thing with each driver.
std::string clock_rule(const system::CpuFacts& cpu) {
  std::string text = cpu.frequency_driver;
  for (const std::string& word : {cpu.governor, cpu.energy_preference}) {
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

void processors(const bench::Environment& machine, std::string& out) {
  const system::CpuFacts& cpu = machine.cpu;
  cli::Facts facts;
  facts.add(cpu.model);
  if (cpu.sockets && cpu.cores) {
    facts.add(fmt::format("{}, {}, {} each", format_count(*cpu.sockets, "socket"), format_count(*cpu.cores, "core"),
                          format_count(cpu.threads_per_core.value_or(1), "thread")));
  }
  facts.add(clock_rule(cpu)).add(gigahertz(cpu));
  cli::line(out, "cpu", facts.text().empty() ? "unknown" : facts.text());
  cli::Facts allowed;
  allowed.add(format_count(machine.usable_threads, "thread") + " available");
  if (cpu.processors > 0) allowed.add(fmt::format("{} of {} processors visible", cpu.affinity, cpu.processors));
  if (machine.cpu_limit) {
    allowed.add(fmt::format("limit {:.2f}", *machine.cpu_limit));
    allowed.add(fmt::format("throttled in {} of {} periods", machine.throttled_periods,
                            machine.control_group.periods.value_or(0)));
  }
  cli::line(out, "", allowed.text());
}

void memory(const bench::Environment& machine, std::string& out) {
  const system::MemoryFacts& memory = machine.memory;
  cli::Facts facts;
  facts.add(machine.usable_memory > 0 ? format_size(machine.usable_memory) + " usable" : "unknown");
  if (memory.total > 0) {
    facts.add(fmt::format("{} in the machine, {} available", format_size(memory.total), format_size(memory.available)));
    const std::uint64_t swapped = memory.swap_total - std::min(memory.swap_free, memory.swap_total);
    facts.add(memory.swap_total == 0 ? "no swap" : format_size(swapped) + " swapped");
  }
  if (memory.huge_pages > 0) facts.add(format_size(memory.huge_pages) + " of huge pages");
  if (!memory.transparent_huge_pages.empty()) facts.add("THP " + memory.transparent_huge_pages);
  cli::line(out, "memory", facts.text());
  if (machine.dev_shm_size) {
    cli::line(out, "/dev/shm",
              fmt::format("{}, {} free{}", format_size(*machine.dev_shm_size), format_size(machine.dev_shm.value_or(0)),
                          machine.usable_memory > 0 && *machine.dev_shm_size > machine.usable_memory
                              ? "; files there count towards the memory limit, so they cannot fill it"
                              : ""));
  }
  if (machine.numa_nodes.size() < 2) return;
  for (const system::NumaNode& node : machine.numa_nodes) {
    cli::line(out, node.node == 0 ? "numa" : "",
              fmt::format("node {}: processors {}, {}", node.node, node.cpus, format_size(node.memory)));
  }
}

void cards(const bench::Environment& machine, std::string& out) {
  for (const system::NetworkCard& card : machine.network) {
    cli::Facts facts;
    facts.add(card.name).add(card.driver).add(card.state);
    facts.add(card.bytes_per_second ? fmt::format("{} Gb/s", *card.bytes_per_second * 8 / 1e9) : "speed unknown");
    facts.add_if(card.mtu, "MTU {}");
    if (card.pcie) facts.add(link_text(*card.pcie));
    cli::line(out, &card == &machine.network.front() ? "network" : "", facts.text());
  }
  for (const system::RdmaPort& port : machine.rdma) {
    cli::Facts facts;
    facts.add(port.name).add(port.link_layer).add(port.state).add(port.rate).add_if(port.numa_node, "node {}");
    cli::line(out, &port == &machine.rdma.front() ? "rdma" : "", facts.text());
  }
}

std::string of_most(const std::optional<double>& value, const std::optional<double>& most, const char* unit) {
  if (!value) return {};
  return most ? fmt::format("{:.0f} of {:.0f} {}", *value, *most, unit) : fmt::format("{:.0f} {}", *value, unit);
}

std::optional<double> megahertz(const std::optional<std::uint64_t>& hertz) {
  if (!hertz) return std::nullopt;
  return static_cast<double>(*hertz) / 1e6;
}

std::string state_text(const gpu::GpuState& gpu) {
  cli::Facts facts;
  facts.add_if(gpu.performance_state, "P{}").add(of_most(megahertz(gpu.sm_clock), megahertz(gpu.max_sm_clock), "MHz"));
  facts.add(of_most(gpu.temperature, {}, "degrees C")).add(of_most(gpu.power, gpu.power_limit, "W"));
  if (gpu.memory && gpu.memory_used) {
    facts.add(fmt::format("{} of {} in use", format_size(*gpu.memory_used), format_size(*gpu.memory)));
  }
  if (gpu.gpu_busy) facts.add(fmt::format("busy {:.0f} %", *gpu.gpu_busy * 100));
  if (const auto limits = gpu::clock_limit_names(gpu.clock_limits); !limits.empty())
    facts.add(fmt::format("clocks limited by {}", fmt::join(limits, " ")));
  return facts.text();
}

void gpus(const bench::Environment& machine, std::string& out) {
  for (const system::GpuDevice& gpu : machine.gpu_devices) {
    cli::line(out, &gpu == &machine.gpu_devices.front() ? "gpu" : "",
              cli::Facts().add(gpu.model).add(gpu.pcie.address).add(link_text(gpu.pcie)).text());
    if (const gpu::GpuState* const state = machine.gpu_monitor.find(gpu.pcie.address))
      cli::line(out, "", state_text(*state));
  }
  if (machine.gpu_devices.empty()) {
    cli::line(out, "gpu", machine.gpus == 0 ? "no NVIDIA GPU" : format_count(machine.gpus, "NVIDIA device"));
  }
  const bool expected = machine.gpus > 0 || !machine.gpu_devices.empty();
  if (expected && machine.gpu_monitor.missing) cli::line(out, "", *machine.gpu_monitor.missing);
}

void kernel(const bench::Environment& machine, std::string& out) {
  const system::KernelFacts& kernel = machine.kernel;
  cli::Facts facts;
  facts.add(kernel.release);
  if (!kernel.virtual_machine.empty()) facts.add("virtual machine " + kernel.virtual_machine);
  if (!kernel.container.empty()) facts.add(kernel.container + " container");
  facts.add(fmt::format("io_uring {}", enum_name(kernel.io_uring)));
  facts.add(fmt::format("cachestat {}", enum_name(kernel.cachestat)));
  facts.add_if(kernel.descriptors, "{} open files");
  facts.add(kernel.locked_memory && !kernel.may_lock ? format_size(*kernel.locked_memory) + " may be locked" : "");
  cli::line(out, "kernel", facts.text());
}

void normal(const bench::Environment& machine, std::string& out) {
  for (const bench::NormalRate& rate : machine.normal) {
    const std::string low = rate.low ? format_rate(*rate.low) + " to " : "up to ";
    cli::line(out, &rate == &machine.normal.front() ? "normal" : "",
              fmt::format("{}: {}{} ({})", rate.part, low, format_rate(rate.high), rate.note));
  }
}

}  // namespace

cli::Answer answer_env(const bench::EnvResult& result) {
  const bench::Environment& machine = result.environment;
  cli::Answer answer{.headline = headline(result)};
  std::string& out = answer.body;
  findings(result, out);
  if (!out.empty()) out += '\n';
  processors(machine, out);
  memory(machine, out);
  add_storage_lines(machine, out);
  cards(machine, out);
  gpus(machine, out);
  kernel(machine, out);
  normal(machine, out);
  return answer;
}

cli::Command env_command() {
  return cli::make_command<bench::EnvOptions, bench::EnvResult>(
      {.name = "env",
       .summary = "check how this machine and its storage are set up for training",
       .description =
           "Looks at processors and clocks, control group limits, memory, NUMA nodes, /dev/shm, network cards, RDMA, "
           "GPUs and PCIe links. With a PATH, also looks at its file system, mount and block device, and at NFS, "
           "Lustre and FUSE clients. Findings come first: what was found, what is normal for this class of machine, "
           "and what to do. With --workers and a batch size, compares free space in /dev/shm with what that loader "
           "needs.\n\nRuns no benchmark and writes nothing. GPU data comes from NVML if it is installed. Leaves out "
           "devices that this user or container cannot see. Findings are advice: exit code 0. With --strict, errors "
           "and warnings give exit code 3.",
       .examples = {{"iobench env /data/train", "is this node set up well for this data?"},
                    {"iobench env /data/train --gpus 8 --workers 12 --batch 256",
                     "is /dev/shm large enough for this loader?"},
                    {"iobench env /data --strict --json env.json", "a gate for new nodes"}},
       .about_node = true},
      bench::env, answer_env);
}

}  // namespace shardkit::apps
