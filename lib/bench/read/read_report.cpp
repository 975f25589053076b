#include "bench/read/read_report.hpp"

namespace shardkit {

std::vector<LatencyStep> latency_steps(const LatencyHistogram& latency) {
  std::vector<LatencyStep> steps;
  for (const LogHistogram::Octave& octave : latency.octaves()) {
    steps.push_back({static_cast<double>(octave.from) * 1e-9, static_cast<double>(octave.to) * 1e-9, octave.count});
  }
  return steps;
}

void LatencyStep::describe(FieldVisitor& v) {
  v.field({"from", Unit::seconds, "at least so long"}, from);
  v.field({"to", Unit::seconds, "at most so long"}, to);
  v.field({"count", Unit::count, "reads"}, count);
}

void DeviceActivity::describe(FieldVisitor& v) {
  v.field({"read_bytes", Unit::bytes, "bytes read from the device"}, read_bytes);
  v.field({"read_bytes_per_second", Unit::bytes_per_second, "the same over time"}, read_bytes_per_second);
  v.field({"requests_per_second", Unit::per_second, "requests answered"}, requests_per_second);
  v.field({"mean_request", Unit::bytes, "mean size of a request"}, mean_request);
  v.field({"mean_wait", Unit::seconds, "mean time from request to answer"}, mean_wait);
  v.field({"mean_queue", Unit::none, "mean number of requests under way"}, mean_queue);
}

void ReadRepetition::describe(FieldVisitor& v) {
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time"}, bytes_per_second);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"read_seconds", Unit::seconds, "time they took"}, read_seconds);
  v.field({"passes", Unit::count, "times that caches were made ready and the data read"}, passes);
  v.field(
      {"steady", Unit::none,
       "false when the rate drifted by more than a tenth from start to end; null: less than 1 s, too short to tell"},
      steady);
  v.field({"p50", Unit::seconds, "half of the reads took no longer"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 took no longer"}, p99);
}

void DataOnDisk::describe(FieldVisitor& v) {
  v.field({"files_asked", Unit::count, "files that were asked, 2000 at most, taken evenly"}, files_asked);
  v.field({"hole_bytes", Unit::bytes, "of them: holes, which are on no disk"}, hole_bytes);
  v.field({"unwritten_bytes", Unit::bytes, "of them: allocated but never written, which no read takes from a disk"},
          unwritten_bytes);
  v.field({"compressed_bytes", Unit::bytes, "of them: stored in another form, of which the disk brings fewer"},
          compressed_bytes);
}

}  // namespace shardkit
