#include "bench/timing/second_watch.hpp"

#include <algorithm>
#include <chrono>

namespace shardkit::bench {

SecondWatch::SecondWatch(Progress& progress, std::vector<PhaseOfStage> phases)
    : progress_(progress), phases_(std::move(phases)) {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kPause(20);
    auto last = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!never_.wait_for(lock, stop, kPause, [] { return false; }) && !stop.stop_requested()) {
      const auto now = std::chrono::steady_clock::now();
      look(std::chrono::duration<double>(now - last).count());
      last = now;
    }
  });
}

std::vector<SecondRow> SecondWatch::stop() {
  thread_.request_stop();
  thread_.join();
  return std::move(rows_);
}

void SecondWatch::look(double seconds) {
  const std::uint64_t starts = progress_.starts;
  if (starts != starts_) bytes_ = samples_ = 0;
  starts_ = starts;
  const std::uint64_t bytes = progress_.bytes;
  const std::uint64_t samples = progress_.items;
  const std::uint64_t more_bytes = bytes - std::min(bytes, bytes_);
  const std::uint64_t more_samples = samples - std::min(samples, samples_);
  bytes_ = bytes;
  samples_ = samples;
  const auto known = std::ranges::find(phases_, std::string_view(progress_.phase.load()), &PhaseOfStage::phase);
  if (known == phases_.end()) return;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto second = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
  if (rows_.empty() || rows_.back().unix_time != second || rows_.back().stage != known->stage) {
    rows_.push_back({second, std::string(known->stage)});
  }
  SecondRow& row = rows_.back();
  row.bytes += more_bytes;
  row.samples += more_samples;
  row.measured_seconds = std::min(row.measured_seconds + seconds, 1.0);
}

void SecondRow::describe(FieldList& v) {
  v.field({"unix_time", Unit::seconds, "the second, since 1970"}, unix_time);
  v.field({"stage", "stage of the run"}, stage);
  v.field({"bytes", Unit::bytes, "bytes read in it"}, bytes);
  v.field({"samples", Unit::count, "samples finished in it"}, samples);
  v.field({"measured_seconds", Unit::seconds, "how much of the second this stage ran"}, measured_seconds);
}

}  // namespace shardkit::bench
