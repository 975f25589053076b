#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/results/result_file.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/change_points.hpp"

/// The results of one node over weeks: what is normal, when it changed, and what else changed then.
namespace shardkit::bench {

struct HistoryPoint {
  double unix_time = 0;  ///< start of the run
  double value = 0;
  bool disturbed = false;  ///< shown, and not judged
  std::string file;

  void describe(FieldList& v);
};

/// Where the runs of a period lie: their median, and where 95 % of new runs would be.
struct NoiseBand {
  double from = 0;  ///< Unix time
  double to = 0;
  double median = 0;
  double low = 0;
  double high = 0;

  void describe(FieldList& v);
};

struct HistoryChange {
  double unix_time = 0;  ///< of the first run after it
  stats::Change change;
  std::vector<std::string> environment;  ///< what differs from the runs before: "host.kernel: 6.1.0 -> 6.8.0"
  std::string text;

  void describe(FieldList& v);
};

/// The newest undisturbed run beside those before it, since the last change.
struct HistoryNow : stats::NewestRun {
  double value = 0;
  std::string text;  ///< "1.50 GB/s, 70 % below the runs before it"; empty if it is as they are

  void describe(FieldList& v);
};

struct MetricHistory {
  std::string metric;
  std::string unit;  ///< suffix of its field: "bytes_per_second"
  HistoryNow now;
  std::vector<HistoryPoint> points;
  std::vector<NoiseBand> bands;
  std::vector<HistoryChange> changes;

  void describe(FieldList& v);
};

struct History {
  std::string text;  ///< in a line
  std::string node;
  std::string verb;
  std::uint64_t runs = 0;
  std::vector<MetricHistory> metrics;
  std::vector<LeftOut> left_out;

  void describe(FieldList& v);
};

/// Reads the results of files and folders. Those of the newest one's node and verb under its conditions are its
/// history; others are left out with the reason, such as a result without a metric or a date. `newest` becomes the
/// newest one. Throws Error{usage} without results.
History read_history(std::span<const std::string> paths, Context& context, nlohmann::json& newest);

}  // namespace shardkit::bench
