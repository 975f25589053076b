#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gpu/trace_range.hpp"

/// Where the threads of a pipeline spend their time.
namespace shardkit {

class TraceTrack;

/// What a thread does at a moment. The first two are waiting: for what comes in, for room where it goes out.
enum class Activity : std::uint8_t { starved, blocked, read, decode, augment, transfer, compute, checkpoint };
inline constexpr std::size_t kActivities = 8;
std::string_view activity_name(Activity activity);

/// A point in time on the wall's clock and on the calling thread's processor clock.
struct Moment {
  std::chrono::steady_clock::time_point wall{};
  std::chrono::nanoseconds cpu{0};
  static Moment now();
};

/// Seconds by activity, of one thread or the sum of several.
struct ActivityTimes {
  std::array<double, kActivities> wall{};
  std::array<double, kActivities> cpu{};

  double wall_of(Activity activity) const { return wall[static_cast<std::size_t>(activity)]; }
  double cpu_of(Activity activity) const { return cpu[static_cast<std::size_t>(activity)]; }
  double total_wall() const;
  double total_cpu() const;
  void add(const ActivityTimes& other);
};

/// Splits one thread's time into activities: at each moment exactly one goes on, so their sum is the thread's whole
/// time. Profilers are told of those that are no waiting. Belongs to one thread.
class StageClock {
 public:
  /// Begins with `first`. `track`, when there is one, gets an event for each activity that ends.
  explicit StageClock(Activity first, TraceTrack* track = nullptr, const Moment& now = Moment::now());

  /// From `now` on the thread does `activity`.
  void enter(Activity activity, const Moment& now = Moment::now());
  /// Ends the last activity and gives all times.
  const ActivityTimes& stop(const Moment& now = Moment::now());

 private:
  void close(const Moment& now);
  void begin_range();

  Activity activity_;
  Moment since_;
  TraceTrack* track_;
  ActivityTimes times_;
  std::optional<TraceRange> range_;
};

}  // namespace shardkit
