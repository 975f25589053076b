#include "bench/transfer/transfer_verdict.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/transfer/pcie_limit.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

/// The fastest row of a GPU, kind and direction; null when there is none.
const TransferRow* best_row(const TransferResult& result, std::uint64_t device, HostMemory kind,
                            CopyDirection direction, bool remote) {
  const TransferRow* best = nullptr;
  for (const TransferRow& row : result.rows) {
    if (row.device != device || row.kind != kind || row.direction != direction) continue;
    if ((row.numa == NumaPlace::remote) != remote) continue;
    if (!best || row.bytes_per_second > best->bytes_per_second) best = &row;
  }
  return best;
}

std::string_view kind_name(HostMemory kind) { return EnumNames<HostMemory>::names.at(static_cast<std::size_t>(kind)); }

std::string_view direction_text(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::h2d:
      return "host to device";
    case CopyDirection::d2h:
      return "device to host";
    case CopyDirection::both:
      break;
  }
  return "both ways at once";
}

/// What the verdict is about: pinned memory to the GPU, or the first row where that was not measured.
struct Lead {
  HostMemory kind;
  CopyDirection direction;
  bool remote;
};

Lead lead_of(const TransferResult& result) {
  const TransferRow& first = result.rows.front();
  const auto wanted = std::find_if(result.rows.begin(), result.rows.end(), [](const TransferRow& row) {
    return row.kind == HostMemory::pinned && row.direction == CopyDirection::h2d;
  });
  const TransferRow& row = wanted == result.rows.end() ? first : *wanted;
  return {row.kind, row.direction, row.numa == NumaPlace::remote};
}

const TransferDevice& slowest_device(const TransferResult& result, const Lead& lead) {
  const auto rate = [&](const TransferDevice& device) {
    const TransferRow* const row = best_row(result, device.device, lead.kind, lead.direction, lead.remote);
    return row ? row->bytes_per_second : 0;
  };
  return *std::min_element(result.devices.begin(), result.devices.end(),
                           [&](const TransferDevice& a, const TransferDevice& b) { return rate(a) < rate(b); });
}

std::string share_text(const TransferRow& row, const TransferDevice& device) {
  if (!row.wire_share) return " (its PCIe link is not known)";
  return fmt::format(", {:.0f} % of {}'s wire limit", *row.wire_share * 100, link_name(device));
}

std::string copies_verdict(const TransferResult& result) {
  const Lead lead = lead_of(result);
  const TransferDevice& device = slowest_device(result, lead);
  const auto best = [&](HostMemory kind, bool remote) {
    return best_row(result, device.device, kind, lead.direction, remote);
  };
  const TransferRow& row = *best(lead.kind, lead.remote);
  std::string text;
  if (result.devices.size() > 1) {
    text = fmt::format("slowest of {} GPUs is number {}: ", result.devices.size(), device.device);
  }
  text += fmt::format("{} {} {}{}", kind_name(lead.kind), direction_text(lead.direction),
                      format_rate(row.bytes_per_second), share_text(row, device));
  for (std::size_t i = 0; i < EnumNames<HostMemory>::names.size(); ++i) {
    const auto kind = static_cast<HostMemory>(i);
    const TransferRow* const other = kind == lead.kind ? nullptr : best(kind, lead.remote);
    if (other) text += fmt::format("; {} {}", kind_name(kind), format_rate(other->bytes_per_second));
  }
  if (const TransferRow* const far = lead.remote ? nullptr : best(lead.kind, true)) {
    text += fmt::format("; from NUMA node {} {}", far->numa_node.value_or(0), format_rate(far->bytes_per_second));
  }
  return text;
}

std::string file_verdict(const FileTransfer& file) {
  std::string text;
  for (const FileWay& way : file.rows) {
    if (!text.empty()) text += "; ";
    if (way.way == "cufile") {
      text += fmt::format("cuFile ({} mode) ", EnumNames<GdsMode>::names.at(static_cast<std::size_t>(file.mode)));
    } else {
      text += "pread and pinned copies ";
    }
    text += format_rate(way.bytes_per_second);
  }
  return file.missing ? fmt::format("{}; {}", text, *file.missing) : text;
}

}  // namespace

std::optional<double> best_rate(const TransferResult& result, HostMemory kind, CopyDirection direction) {
  std::optional<double> slowest;
  for (const TransferDevice& device : result.devices) {
    const TransferRow* const row = best_row(result, device.device, kind, direction, false);
    if (row) slowest = std::min(slowest.value_or(row->bytes_per_second), row->bytes_per_second);
  }
  return slowest;
}

std::string transfer_verdict(const TransferResult& result) {
  return result.file ? file_verdict(*result.file) : copies_verdict(result);
}

}  // namespace shardkit
