#include "bench/timing/second_watch.hpp"

#include <algorithm>
#include <chrono>

#include "bench/requirement/requirement.hpp"

namespace shardkit::bench {
namespace {

/// The stage of a phase; empty if none is measured in it.
std::string_view measured_stage(const char* now) {
  if (now == phase::kReading || now == phase::kMeasuring) return stage::kRead;
  if (now == phase::kDecoding) return stage::kDecode;
  if (now == phase::kAugmenting) return stage::kAugment;
  return now == phase::kPipeline ? stage::kPipeline : std::string_view();
}

}  // namespace

SecondWatch::SecondWatch(Progress& progress) : progress_(progress) {
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
  const std::string_view stage = measured_stage(progress_.phase);
  if (stage.empty()) return;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto second = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
  if (rows_.empty() || rows_.back().unix_time != second || rows_.back().stage != stage) {
    rows_.push_back({second, std::string(stage)});
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
