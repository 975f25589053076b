#include "bench/pipeline/timing/stage_clock.hpp"

#include <numeric>

#include <time.h>

#include "bench/pipeline/timing/trace_log.hpp"

namespace shardkit {

std::string_view activity_name(Activity activity) {
  constexpr std::array<std::string_view, kActivities> kNames{"starved", "blocked",  "read",    "decode",
                                                             "augment", "transfer", "compute", "checkpoint"};
  return kNames[static_cast<std::size_t>(activity)];
}

Moment Moment::now() {
  timespec cpu{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return {std::chrono::steady_clock::now(), std::chrono::seconds(cpu.tv_sec) + std::chrono::nanoseconds(cpu.tv_nsec)};
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
  range_.emplace(activity_name(activity_).data());  // a literal, which ends with a 0
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

}  // namespace shardkit
