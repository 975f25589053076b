#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "gpu/device.hpp"
#include "io/file_system.hpp"

/// How the threads of a pipeline spend their time.
///
/// Activities of each thread, as a Chrome trace: a JSON file that ui.perfetto.dev and chrome://tracing open.
namespace shardkit::bench {

class TraceTrack;

/// Activity of a thread. The first two are waiting: for input, and for space for its output.
enum class Activity : std::uint8_t { starved, blocked, read, unpack, decode, augment, transfer, compute };
constexpr auto enum_names(Activity) {
  return std::to_array<std::string_view>(
      {"starved", "blocked", "read", "unpack", "decode", "augment", "transfer", "compute"});
}
inline constexpr std::size_t kActivities = kEnumNames<Activity>.size();

/// A point in time on the wall clock and on the CPU clock of the calling thread.
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

/// Splits the time of one thread into activities, one at each moment, so their sum is the whole time. Profilers see the
/// activities that are not waiting. Belongs to one thread.
class StageClock {
 public:
  /// Begins with `first`. `track`, when there is one, gets an event for each activity that ends.
  explicit StageClock(Activity first, TraceTrack* track = nullptr, const Moment& now = Moment::now());

  /// From `now` on, the thread does `activity`.
  void enter(Activity activity, const Moment& now = Moment::now());
  /// Ends the last activity and returns all times.
  const ActivityTimes& stop(const Moment& now = Moment::now());

 private:
  void close(const Moment& now);
  void begin_range();

  Activity activity_;
  Moment since_;
  TraceTrack* track_;
  ActivityTimes times_;
  std::optional<gpu::TraceRange> range_;
};

/// The latest events of one thread, oldest first; they overwrite older ones. One thread at a time.
class TraceTrack {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Event {
    Time begin;
    Time end;
    Activity activity = Activity::starved;
  };

  TraceTrack(std::string name, std::size_t most_events) : name_(std::move(name)), most_(most_events) {}

  /// Waits of less than a microsecond are left out: they are overhead of the calls.
  void add(Activity activity, Time begin, Time end);

  const std::string& name() const { return name_; }
  std::size_t size() const { return ring_.size(); }
  /// Events that were overwritten.
  std::uint64_t dropped() const { return dropped_; }
  /// Oldest first.
  const Event& event(std::size_t index) const { return ring_[(oldest_ + index) % ring_.size()]; }

 private:
  std::string name_;
  std::size_t most_;
  std::vector<Event> ring_;
  std::size_t oldest_ = 0;
  std::uint64_t dropped_ = 0;
};

/// The tracks of a pipeline. Create tracks before their threads start, and write after they have ended.
class TraceLog {
 public:
  /// Limit for all tracks together, 24 bytes per event.
  static constexpr std::size_t kMostEvents = 2'000'000;

  /// For `tracks` threads; times count from `start`.
  TraceLog(std::size_t tracks, TraceTrack::Time start);

  /// The track with this name, created on first use. Its address does not change.
  TraceTrack& track(const std::string& name);

  std::uint64_t events() const;
  std::uint64_t dropped() const;

  /// Publishes the trace as `path`: metadata with the names of `process` and each track, then complete events (ph X)
  /// sorted by time, in microseconds. Throws Error{io, no_space, denied}.
  void write(io::FileSystem& files, const std::string& path, std::string_view process) const;

 private:
  std::size_t most_per_track_;
  TraceTrack::Time start_;
  std::deque<TraceTrack> tracks_;
};

}  // namespace shardkit::bench
