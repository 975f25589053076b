#include "bench/transfer/copy_timer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "gpu/pattern.hpp"
#include "stats/summary.hpp"
#include "sync/task_group.hpp"

namespace shardkit::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWarmUps = 4;
constexpr std::uint64_t kCopies = 16;
constexpr unsigned kMeasurements = 3;
/// For larger blocks, fewer copies over all streams, so that a stop is quick.
constexpr std::uint64_t kMostInFlight = std::uint64_t{16} << 30U;

/// A stream that copies one piece of memory over and over in one direction.
struct Lane {
  std::unique_ptr<gpu::Stream> stream;
  bool to_device;
  MutableBytes host;
  gpu::DeviceSpan memory;
  std::uint64_t seed;

  void copy() const {
    if (to_device) {
      stream->copy_to_device(memory, host);
    } else {
      stream->copy_to_host(host, memory);
    }
  }
};

class CopyRun {
 public:
  CopyRun(gpu::Device& device, MutableBytes host, gpu::DeviceSpan memory, const CopyJob& job, std::uint64_t seed,
          const std::stop_token& stop, std::barrier<>* others)
      : device_(device),
        job_(job),
        copies_(std::clamp<std::uint64_t>(kMostInFlight / (job.bytes * job.streams), 1, kCopies)),
        stop_(stop),
        others_(others) {
    for (std::uint64_t i = 0; i < job.lanes(); ++i) {
      const bool to_device =
          job.direction == CopyDirection::h2d || (job.direction == CopyDirection::both && i % 2 == 0);
      const std::size_t at = i * job.stride();
      lanes_.push_back({device.make_stream(), to_device, host.subspan(at, job.bytes), memory.part(at, job.bytes),
                        gpu::pattern_word(seed, i)});
    }
  }

  /// The caller's memory may go away next: nothing copies there any more.
  ~CopyRun() {
    for (const Lane& lane : lanes_) {
      try {
        lane.stream->synchronize();
      } catch (...) {  // already on its way, from the call that failed
      }
    }
  }

  CopyRun(const CopyRun&) = delete;
  CopyRun& operator=(const CopyRun&) = delete;

  CopyTiming run() {
    write_pattern();
    warm_up();
    CopyTiming timing{copies_, {}};
    for (unsigned i = 0; i < kMeasurements; ++i) {
      throw_if_stopped();
      meet_others();  // a gate gives up after seconds, which others may need to get here
      const double seconds = job_.kind == gpu::HostMemory::pageable ? seconds_by_clock() : seconds_by_events();
      timing.copy_seconds.push_back(seconds / static_cast<double>(copies_));
    }
    throw_if_stopped();
    check();
    return timing;
  }

 private:
  /// Fills the sources. The targets contain other bytes: patterns of an earlier seed, or zeros.
  void write_pattern() {
    for (const Lane& lane : lanes_) {
      if (lane.to_device) {
        gpu::fill_pattern(lane.host, lane.seed);
      } else {
        device_.fill_pattern(lane.memory, lane.seed);
      }
    }
  }

  void warm_up() {
    for (std::uint64_t i = 0; i < std::min(kWarmUps, copies_); ++i) {
      throw_if_stopped();
      for (const Lane& lane : lanes_) lane.copy();
    }
    for (const Lane& lane : lanes_) lane.stream->synchronize();
  }

  double seconds_by_events() {
    const auto start = device_.make_event();
    const auto end = device_.make_event();
    std::vector<std::unique_ptr<gpu::Event>> ends;
    for (std::size_t i = 1; i < lanes_.size(); ++i) ends.push_back(device_.make_event());
    const auto gate = device_.make_gate();  // destroyed first, and opens, if something throws

    gpu::Stream& first = *lanes_.front().stream;
    first.hold(*gate);
    first.record(*start);
    for (std::size_t i = 1; i < lanes_.size(); ++i) lanes_[i].stream->wait(*start);
    for (std::uint64_t i = 0; i < copies_; ++i) {
      for (const Lane& lane : lanes_) lane.copy();
    }
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
      lanes_[i].stream->record(*ends[i - 1]);
      first.wait(*ends[i - 1]);
    }
    first.record(*end);
    meet_others();
    gate->open();
    for (const Lane& lane : lanes_) lane.stream->synchronize();
    if (!gate->held()) {
      throw Error(ErrorCode::io,
                  "the GPU timed out waiting for copies to be queued, so their time cannot be measured; is "
                  "CUDA_LAUNCH_BLOCKING set?");
    }
    return end->seconds_since(*start);
  }

  double seconds_by_clock() {
    std::atomic<std::size_t> waiting{lanes_.size()};
    std::vector<Clock::time_point> ends(lanes_.size());
    sync::TaskGroup others(stop_);
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
      others.spawn([&, i](const std::stop_token& stop) {
        copy_by_clock(lanes_[i], waiting, stop);
        ends[i] = Clock::now();
      });
    }
    meet_others();
    const std::stop_token stop = others.stop_token();
    while (waiting.load() > 1 && !stop.stop_requested()) std::this_thread::yield();
    const Clock::time_point start = Clock::now();
    copy_by_clock(lanes_.front(), waiting, stop);
    ends.front() = Clock::now();
    others.wait();
    throw_if_stopped();
    return std::chrono::duration<double>(*std::max_element(ends.begin(), ends.end()) - start).count();
  }

  /// Waits until every lane's thread is there, copies, and finishes.
  void copy_by_clock(const Lane& lane, std::atomic<std::size_t>& waiting, const std::stop_token& stop) {
    for (waiting.fetch_sub(1); waiting.load() > 0 && !stop.stop_requested();) std::this_thread::yield();
    for (std::uint64_t i = 0; i < copies_ && !stop.stop_requested(); ++i) lane.copy();
    lane.stream->synchronize();
  }

  void check() const {
    for (const Lane& lane : lanes_) {
      const std::uint64_t wrong = wrong_bytes(lane);
      if (wrong == 0) continue;
      throw Error(
          ErrorCode::corrupt,
          fmt::format("{} of {} arrived wrong {} GPU {} ({}, {} memory, {}): check the kernel log for PCIe errors "
                      "before training on this machine",
                      format_count(wrong, "byte"), format_count(job_.bytes), lane.to_device ? "on" : "from",
                      device_.facts().index, format_size(job_.bytes), enum_name(job_.kind), enum_name(job_.direction)));
    }
  }

  /// On the host, or where it can hardly read its own memory through the GPU.
  std::uint64_t wrong_bytes(const Lane& lane) const {
    if (lane.to_device) return device_.count_mismatches(lane.memory, lane.seed);
    if (job_.kind != gpu::HostMemory::write_combined) return gpu::count_mismatches(lane.host, lane.seed);
    device_.fill_pattern(lane.memory, ~lane.seed);
    lane.stream->copy_to_device(lane.memory, lane.host);
    lane.stream->synchronize();
    return device_.count_mismatches(lane.memory, lane.seed);
  }

  /// Waits until the other GPUs that copy at the same time are as far.
  void meet_others() {
    if (others_ != nullptr) others_->arrive_and_wait();
  }

  void throw_if_stopped() const {
    if (stop_.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while copying");
  }

  gpu::Device& device_;
  CopyJob job_;
  std::uint64_t copies_;
  std::stop_token stop_;
  std::barrier<>* others_;
  std::vector<Lane> lanes_;
};
constexpr unsigned kRepetitions = 3;
constexpr double kGib = 1024.0 * 1024 * 1024;
struct Cost {
  double prepare = 0;
  double release = 0;
};

Cost cost_of(const auto& prepare, const auto& release) {
  const auto start = Clock::now();
  prepare();
  const auto prepared = Clock::now();
  release();
  return {std::chrono::duration<double>(prepared - start).count(),
          std::chrono::duration<double>(Clock::now() - prepared).count()};
}

}  // namespace

CopyTiming time_copies(gpu::Device& device, MutableBytes host, gpu::DeviceSpan memory, const CopyJob& job,
                       std::uint64_t seed, const std::stop_token& stop, std::barrier<>* others) {
  return CopyRun(device, host, memory, job, seed, stop, others).run();
}

TransferRow timed_row(const CopyJob& job, const CopyTiming& timing, const Placement& placement) {
  const double bytes = static_cast<double>(job.bytes * job.lanes());
  const auto [least, most] = std::minmax_element(timing.copy_seconds.begin(), timing.copy_seconds.end());
  TransferRow row;
  row.kind = job.kind;
  row.direction = job.direction;
  row.bytes = job.bytes;
  row.streams = job.streams;
  row.numa = placement.location;
  row.numa_node = placement.node;
  row.copies = timing.copies;
  const stats::Summary seconds = stats::summarize(timing.copy_seconds);
  row.copy_seconds = seconds.median;
  row.bytes_per_second = bytes / row.copy_seconds;
  row.interval = {bytes / seconds.high, bytes / seconds.low};
  row.lowest_bytes_per_second = bytes / *most;
  row.highest_bytes_per_second = bytes / *least;
  return row;
}

void add_wire_share(const TransferDevice& device, TransferRow& row) {
  if (!device.wire_limit) return;
  const double directions = row.direction == CopyDirection::both ? 2 : 1;
  constexpr double kMost = 1.02;  // a clock's error
  const double share = row.bytes_per_second / (*device.wire_limit * directions);
  if (share <= kMost) row.wire_share = share;
}

std::optional<PinningRow> time_pinning(gpu::Device& device, gpu::HostMemory kind, std::size_t bytes, Context& context) {
  if (kind == gpu::HostMemory::pageable) return std::nullopt;
  std::vector<double> prepare;
  std::vector<double> release;
  std::optional<gpu::FreshPages> pages;
  if (kind == gpu::HostMemory::registered) pages.emplace(bytes);
  for (unsigned i = 0; i < kRepetitions; ++i) {
    context.throw_if_stopped();
    MutableBytes memory;
    const bool combined = kind == gpu::HostMemory::write_combined;
    const Cost cost =
        pages ? cost_of([&] { device.register_memory(pages->bytes()); },
                        [&] { device.unregister_memory(pages->bytes()); })
              : cost_of([&] { memory = device.allocate_pinned(bytes, combined); }, [&] { device.free_pinned(memory); });
    prepare.push_back(cost.prepare);
    release.push_back(cost.release);
  }
  PinningRow row;
  row.kind = kind;
  row.bytes = bytes;
  row.prepare_seconds = stats::summarize(prepare).median;
  row.release_seconds = stats::summarize(release).median;
  row.prepare_seconds_per_gib = row.prepare_seconds * kGib / static_cast<double>(bytes);
  row.release_seconds_per_gib = row.release_seconds * kGib / static_cast<double>(bytes);
  return row;
}

}  // namespace shardkit::bench
