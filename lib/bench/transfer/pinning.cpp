#include "bench/transfer/pinning.hpp"

#include <chrono>

#include "stats/summary.hpp"

namespace shardkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kRepetitions = 3;
constexpr double kGib = 1024.0 * 1024 * 1024;

struct Cost {
  double prepare = 0;
  double release = 0;
};

double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

Cost allocate_once(Device& device, std::size_t bytes, bool write_combined) {
  const auto start = Clock::now();
  const MutableBytes memory = device.allocate_pinned(bytes, write_combined);
  const auto prepared = Clock::now();
  device.free_pinned(memory);
  return {seconds(start, prepared), seconds(prepared, Clock::now())};
}

Cost register_once(Device& device, MutableBytes memory) {
  const auto start = Clock::now();
  device.register_memory(memory);
  const auto prepared = Clock::now();
  device.unregister_memory(memory);
  return {seconds(start, prepared), seconds(prepared, Clock::now())};
}

}  // namespace

std::optional<PinningRow> time_pinning(Device& device, HostMemory kind, std::size_t bytes, Context& context) {
  if (kind == HostMemory::pageable) return std::nullopt;
  std::vector<double> prepare;
  std::vector<double> release;
  std::optional<FreshPages> pages;
  if (kind == HostMemory::registered) pages.emplace(bytes);
  for (unsigned i = 0; i < kRepetitions; ++i) {
    context.throw_if_stopped();
    const Cost cost = pages ? register_once(device, pages->bytes())
                            : allocate_once(device, bytes, kind == HostMemory::write_combined);
    prepare.push_back(cost.prepare);
    release.push_back(cost.release);
  }
  PinningRow row;
  row.kind = kind;
  row.bytes = bytes;
  row.prepare_seconds = summarize(prepare).median;
  row.release_seconds = summarize(release).median;
  row.prepare_seconds_per_gib = row.prepare_seconds * kGib / static_cast<double>(bytes);
  row.release_seconds_per_gib = row.release_seconds * kGib / static_cast<double>(bytes);
  return row;
}

}  // namespace shardkit
