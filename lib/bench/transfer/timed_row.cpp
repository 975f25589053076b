#include "bench/transfer/timed_row.hpp"

#include <algorithm>

#include "stats/summary.hpp"

namespace shardkit {

TransferRow timed_row(const CopyJob& job, const CopyTiming& timing, const Placement& place) {
  const double bytes = static_cast<double>(job.bytes * job.lanes());
  const auto [least, most] = std::minmax_element(timing.copy_seconds.begin(), timing.copy_seconds.end());
  TransferRow row;
  row.kind = job.kind;
  row.direction = job.direction;
  row.bytes = job.bytes;
  row.streams = job.streams;
  row.numa = place.place;
  row.numa_node = place.node;
  row.copies = timing.copies;
  row.copy_seconds = summarize(timing.copy_seconds).median;
  row.bytes_per_second = bytes / row.copy_seconds;
  row.lowest_bytes_per_second = bytes / *most;
  row.highest_bytes_per_second = bytes / *least;
  return row;
}

void add_wire_share(const TransferDevice& device, TransferRow& row) {
  if (!device.wire_limit) return;
  const double directions = row.direction == CopyDirection::both ? 2 : 1;
  row.wire_share = row.bytes_per_second / (*device.wire_limit * directions);
}

}  // namespace shardkit
