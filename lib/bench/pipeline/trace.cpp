#include "bench/pipeline/trace.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "bench/timing/timed_run.hpp"
#include "io/publish.hpp"

namespace shardkit::bench {
namespace {

constexpr std::size_t kLeastPerTrack = 256;
constexpr std::size_t kMostPerTrack = 1U << 16U;

struct TrackEvent {
  TraceTrack::Event event;
  std::size_t track = 0;
};

/// Of all tracks, by the time they begin.
std::vector<TrackEvent> in_order(const std::deque<TraceTrack>& tracks) {
  std::vector<TrackEvent> all;
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    for (std::size_t i = 0; i < tracks[t].size(); ++i) all.push_back({tracks[t].event(i), t});
  }
  std::ranges::stable_sort(all, [](const TrackEvent& a, const TrackEvent& b) { return a.event.begin < b.event.begin; });
  return all;
}

double microseconds(TraceTrack::Time::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

void TraceTrack::add(Activity activity, Time begin, Time end) {
  constexpr std::chrono::microseconds kShortestWait{1};
  const bool waits = activity == Activity::starved || activity == Activity::blocked;
  if (waits && end - begin < kShortestWait) return;
  if (ring_.size() < most_) {
    ring_.push_back({begin, end, activity});
    return;
  }
  ring_[oldest_] = {begin, end, activity};
  oldest_ = (oldest_ + 1) % most_;
  ++dropped_;
}

TraceLog::TraceLog(std::size_t tracks, TraceTrack::Time start)
    : most_per_track_(std::clamp(kMostEvents / std::max<std::size_t>(tracks, 1), kLeastPerTrack, kMostPerTrack)),
      start_(start) {}

TraceTrack& TraceLog::track(const std::string& name) {
  const auto found = std::ranges::find_if(tracks_, [&](const TraceTrack& track) { return track.name() == name; });
  if (found != tracks_.end()) return *found;
  return tracks_.emplace_back(name, most_per_track_);
}

std::uint64_t TraceLog::events() const {
  std::uint64_t sum = 0;
  for (const TraceTrack& track : tracks_) sum += track.size();
  return sum;
}

std::uint64_t TraceLog::dropped() const {
  std::uint64_t sum = 0;
  for (const TraceTrack& track : tracks_) sum += track.dropped();
  return sum;
}

void TraceLog::write(io::FileSystem& files, const std::string& path, std::string_view process) const {
  io::AtomicFile file(files, path);
  std::string text = fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      R"({{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{{"name":"{}"}}}})",
      process);
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    fmt::format_to(std::back_inserter(text), ",\n{}",
                   fmt::format(R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", t + 1,
                               tracks_[t].name()));
  }
  for (const TrackEvent& entry : in_order(tracks_)) {
    const TraceTrack::Event& event = entry.event;
    fmt::format_to(std::back_inserter(text),
                   ",\n"
                   R"({{"ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{}","cat":"stage"}})",
                   entry.track + 1, microseconds(event.begin - start_), microseconds(event.end - event.begin),
                   enum_name(event.activity));
    constexpr std::size_t kPiece = 1U << 20U;
    if (text.size() < kPiece) continue;
    file.write(as_bytes(text));
    text.clear();
  }
  text += "\n]}\n";
  file.write(as_bytes(text));
  file.commit();
}

Moment Moment::now() {
  const std::chrono::nanoseconds cpu = thread_cpu_time();
  return {std::chrono::steady_clock::now(), cpu};
}

double ActivityTimes::total_wall() const { return std::accumulate(wall.begin(), wall.end(), 0.0); }
double ActivityTimes::total_cpu() const { return std::accumulate(cpu.begin(), cpu.end(), 0.0); }

void ActivityTimes::add(const ActivityTimes& other) {
  for (std::size_t i = 0; i < kActivities; ++i) {
    wall[i] += other.wall[i];
    cpu[i] += other.cpu[i];
  }
}

StageClock::StageClock(Activity first, TraceTrack* track, const Moment& now)
    : activity_(first), since_(now), track_(track) {
  begin_range();
}

void StageClock::begin_range() {
  if (activity_ == Activity::starved || activity_ == Activity::blocked) return;
  range_.emplace(enum_name(activity_).data());  // a literal, which ends with a 0
}

void StageClock::close(const Moment& now) {
  range_.reset();
  const auto index = static_cast<std::size_t>(activity_);
  times_.wall[index] += std::chrono::duration<double>(now.wall - since_.wall).count();
  times_.cpu[index] += std::chrono::duration<double>(now.cpu - since_.cpu).count();
  if (track_ != nullptr) track_->add(activity_, since_.wall, now.wall);
  since_ = now;
}

void StageClock::enter(Activity activity, const Moment& now) {
  close(now);
  activity_ = activity;
  begin_range();
}

const ActivityTimes& StageClock::stop(const Moment& now) {
  close(now);
  return times_;
}

}  // namespace shardkit::bench
