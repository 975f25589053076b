#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/watch/watch_verdict.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

/// "I/O pressure 64 %, all tasks 58 %": facts of one thing, those that are told.
class EvidenceLine {
 public:
  explicit EvidenceLine(std::string subject) : subject_(std::move(subject)) {}

  EvidenceLine& add(const std::optional<double>& value, fmt::format_string<const double&> format) {
    if (value) facts_.push_back(fmt::format(format, *value));
    return *this;
  }
  EvidenceLine& share(const std::optional<double>& value, std::string_view what) {
    if (value) facts_.push_back(fmt::format("{} {:.0f} %", what, *value * 100));
    return *this;
  }
  EvidenceLine& rate(const std::optional<double>& bytes_per_second, std::string_view what) {
    if (bytes_per_second) facts_.push_back(fmt::format("{} {}", what, format_rate(*bytes_per_second)));
    return *this;
  }
  EvidenceLine& time(const std::optional<double>& seconds, std::string_view what) {
    if (seconds) facts_.push_back(fmt::format("{} {}", what, format_duration(*seconds)));
    return *this;
  }
  EvidenceLine& size(const std::optional<std::uint64_t>& bytes, std::string_view what) {
    if (bytes) facts_.push_back(fmt::format("{} {}", what, format_size(*bytes)));
    return *this;
  }
  /// Nothing when no fact is told.
  void into(std::vector<std::string>& lines) const {
    if (!facts_.empty()) lines.push_back(fmt::format("{}: {}", subject_, fmt::join(facts_, ", ")));
  }

 private:
  std::string subject_;
  std::vector<std::string> facts_;
};

std::optional<std::uint64_t> whole(const std::optional<double>& value) {
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

void waiting(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("waiting for storage")
      .share(sum.io_pressure.value(), "some task")
      .share(sum.io_full.value(), "all tasks")
      .add(sum.has_job ? sum.blocked_threads.value() : std::nullopt, "{:.1f} threads on average")
      .share(sum.blocked_share.value(), "of threads that wait or work")
      .into(lines);
}

void data(const WatchTarget& target, const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("disk " + target.storage.device)
      .rate(sum.disk_read_bytes.value(), "read")
      .add(sum.disk_reads.value(), "{:.0f} reads/s")
      .size(whole(sum.disk_read_size.value()), "of")
      .time(sum.disk_read_wait.value(), "each")
      .rate(sum.disk_written_bytes.value(), "written")
      .share(sum.disk_busy.value(), "busy")
      .into(lines);
  EvidenceLine("NFS " + target.storage.source)
      .rate(sum.nfs_read_bytes.value(), "read")
      .add(sum.nfs_operations.value(), "{:.0f} requests/s")
      .time(sum.nfs_round_trip.value(), "round trip")
      .share(sum.nfs_retransmitted.value(), "sent again")
      .into(lines);
  EvidenceLine("page cache").share(sum.cached.value(), "holds of some files of PATH").into(lines);
}

void job(const WatchSummary& sum, std::vector<std::string>& lines) {
  std::optional<double> processors;
  if (sum.processors) processors = static_cast<double>(*sum.processors);
  EvidenceLine("job")
      .add(sum.cores.value(), "{:.1f} cores used")
      .add(sum.cores.value() ? processors : std::nullopt, "of {:.0f} that it may use")
      .add(sum.queued_threads.value(), "{:.1f} threads wait for one")
      .add(sum.saturated_processes.value(), "{:.1f} processes with a whole core")
      .rate(sum.asked_bytes.value(), "read calls")
      .rate(sum.from_storage_bytes.value(), "from storage")
      .rate(sum.to_storage_bytes.value(), "to storage")
      .into(lines);
}

void processors(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("node")
      .share(sum.cpu_busy.value(), "processors busy")
      .add(sum.busy_cores.value(), "{:.1f} cores")
      .into(lines);
  EvidenceLine("waiting for cores").share(sum.cpu_pressure.value(), "some task").into(lines);
  EvidenceLine("CPU limit").add(sum.cpu_limit, "{:.2f} cores").share(sum.throttled.value(), "cuts in").into(lines);
}

void memory(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("memory")
      .share(sum.memory_pressure.value(), "some task waits")
      .size(sum.least_memory_available, "least available")
      .size(sum.memory, "of")
      .add(sum.swapped_pages.value(), "{:.0f} pages/s swapped")
      .into(lines);
  EvidenceLine("control group")
      .size(sum.memory_limit ? sum.most_group_memory : std::nullopt, "at most")
      .size(sum.memory_limit, "of")
      .into(lines);
}

void gpus(const WatchSummary& sum, std::vector<std::string>& lines) {
  if (sum.most_gpus_in_use == 0) return;
  EvidenceLine(format_count(sum.most_gpus_in_use, "GPU") + " in use")
      .share(sum.gpu_busy.value(), "busy")
      .share(sum.link_use.value(), "link used")
      .into(lines);
}

void dev_shm(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("/dev/shm").size(sum.least_dev_shm_free, "least free").size(sum.dev_shm_size, "of").into(lines);
}

}  // namespace

std::vector<std::string> watch_evidence(const WatchTarget& target, const WatchSummary& summary, Shortage shortage) {
  const bool undecided = shortage == Shortage::nothing;
  std::vector<std::string> lines;
  if (shortage == Shortage::storage || undecided) {
    waiting(summary, lines);
    data(target, summary, lines);
  }
  if (shortage == Shortage::cores || shortage == Shortage::cpu_limit || undecided) processors(summary, lines);
  if (shortage == Shortage::memory) memory(summary, lines);
  if (shortage == Shortage::dev_shm) dev_shm(summary, lines);
  job(summary, lines);
  gpus(summary, lines);
  return lines;
}

}  // namespace shardkit
