#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "bench/pipeline/timing/stage_clock.hpp"
#include "io/file_system.hpp"

/// What each thread did when, as a Chrome trace: a JSON file that ui.perfetto.dev and chrome://tracing open.
namespace shardkit {

/// The last events of one thread, oldest first; older ones make room. One thread at a time.
class TraceTrack {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Event {
    Time begin;
    Time end;
    Activity activity = Activity::starved;
  };

  TraceTrack(std::string name, std::size_t most_events) : name_(std::move(name)), most_(most_events) {}

  /// Waits of less than a microsecond are left out: they are the price of asking.
  void add(Activity activity, Time begin, Time end);

  const std::string& name() const { return name_; }
  std::size_t size() const { return ring_.size(); }
  /// Events that had to make room.
  std::uint64_t dropped() const { return dropped_; }
  /// By age, the oldest first.
  const Event& event(std::size_t index) const { return ring_[(oldest_ + index) % ring_.size()]; }

 private:
  std::string name_;
  std::size_t most_;
  std::vector<Event> ring_;
  std::size_t oldest_ = 0;
  std::uint64_t dropped_ = 0;
};

/// The tracks of a pipeline. Tracks are made before their threads start; writing comes after they ended.
class TraceLog {
 public:
  /// All tracks together keep at most about this many events, 24 bytes each.
  static constexpr std::size_t kMostEvents = 2'000'000;

  /// For `tracks` threads; times count from `start`.
  TraceLog(std::size_t tracks, TraceTrack::Time start);

  /// The track of this name, made when it is new. Stays where it is.
  TraceTrack& track(const std::string& name);

  std::uint64_t events() const;
  std::uint64_t dropped() const;

  /// Publishes the trace as `path`: metadata that names `process` and each track, then complete events (ph X) in the
  /// order of their times, in microseconds. Throws Error{io, no_space, denied}.
  void write(FileSystem& files, const std::string& path, std::string_view process) const;

 private:
  std::size_t most_per_track_;
  TraceTrack::Time start_;
  std::deque<TraceTrack> tracks_;
};

}  // namespace shardkit
