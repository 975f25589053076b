#include "cli/reports/env_storage_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/reports/fact_lines.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

void drive(const BlockDevice& device, std::string& out) {
  Facts facts;
  facts.add(device.name == device.disk ? device.name : fmt::format("{} on {}", device.name, device.disk));
  facts.add(std::string(EnumNames<StorageClass>::names[static_cast<std::size_t>(device.storage_class)]));
  facts.add(device.model).add_size(device.size, "").add(device.array_level);
  if (!device.members.empty()) facts.add(fmt::format("over {}", fmt::join(device.members, " ")));
  if (!device.scheduler.empty()) facts.add("scheduler " + device.scheduler);
  facts.add_size(device.read_ahead, " read-ahead").add_if(device.queue_depth, "queue of {}");
  if (device.links.size() == 1) facts.add(link_text(device.links.front().pcie));
  line(out, "device", facts.text());
  if (device.links.size() < 2) return;
  for (const DriveLink& link : device.links) line(out, "", Facts().add(link.disk).add(link_text(link.pcie)).text());
}

void remote(const Environment& machine, std::string& out) {
  if (const auto& nfs = machine.nfs) {
    Facts facts;
    facts.add(nfs->version.empty() ? "" : "version " + nfs->version)
        .add(nfs->protocol)
        .add(format_count(nfs->connections, "connection"));
    facts.add_size(nfs->read_size, " read size").add(nfs->recovery);
    facts.add(fmt::format("{} of {} requests sent again", nfs->retransmissions, format_count(nfs->operations)));
    if (nfs->read_round_trip) facts.add(format_duration(*nfs->read_round_trip) + " per read");
    line(out, "nfs", facts.text());
  }
  if (const auto& lustre = machine.lustre) {
    Facts facts;
    facts.add(lustre->stripe_count ? fmt::format("{} of {}", format_count(*lustre->stripe_count, "stripe"),
                                                 format_size(lustre->stripe_size.value_or(0)))
                                   : "stripes unknown");
    facts.add_if(lustre->read_requests_in_flight, "{} requests in flight per target");
    line(out, "lustre", facts.add_size(lustre->read_ahead, " read-ahead").text());
  }
  if (const auto& fuse = machine.fuse) {
    Facts facts;
    facts.add(fuse->client).add(fuse->kind);
    if (!fuse->cache_folders.empty()) facts.add(fmt::format("cache in {}", fmt::join(fuse->cache_folders, " ")));
    facts.add_size(fuse->cached, " cached").add_size(fuse->cache_limit, " of cache at most");
    line(out, "fuse", facts.text());
  }
}

}  // namespace

std::string link_text(const PcieLink& link) {
  Facts facts;
  if (link.speed && link.width) {
    facts.add(fmt::format("PCIe {} GT/s x{}", *link.speed, *link.width));
    const bool less = link.max_speed.value_or(0) > *link.speed || link.max_width.value_or(0) > *link.width;
    if (less && link.max_speed && link.max_width) {
      facts.add(fmt::format("of {} GT/s x{}", *link.max_speed, *link.max_width));
    }
  }
  return facts.add_if(link.numa_node, "node {}").text();
}

void add_storage_lines(const Environment& machine, std::string& out) {
  if (machine.path.empty()) {
    line(out, "data", "no PATH given: name the data to see what it lies on");
    return;
  }
  const StorageFacts& storage = machine.storage;
  Facts facts;
  const bool is_device = storage.mount_point.empty() && machine.block_device;
  facts.add(!storage.file_system.empty() ? storage.file_system : is_device ? "a device" : "unknown file system");
  if (!storage.mount_point.empty()) facts.add("at " + storage.mount_point);
  if (!storage.source.empty()) facts.add("from " + storage.source);
  if (machine.space) facts.add(format_size(machine.space->free_bytes) + " free");
  if (!machine.block_device) facts.add_size(storage.read_ahead, " read-ahead");
  line(out, "data", machine.path + ": " + facts.text());
  line(out, "", fmt::format("{}", fmt::join(storage.options, ",")));
  if (machine.block_device) drive(*machine.block_device, out);
  remote(machine, out);
}

}  // namespace shardkit
