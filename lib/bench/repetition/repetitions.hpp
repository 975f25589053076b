#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/fields.hpp"
#include "stats/summary.hpp"

/// --repeat, for any verb that measures: it measures several times, and the metrics among the fields of its result say
/// what has a median and an interval.
namespace shardkit::bench {

struct RepeatOption {
  std::uint64_t repeat = 1;

  void describe(FieldList& v);
};

/// A metric over all repetitions.
struct RepeatedMetric {
  std::string metric;  ///< as compare names it
  double median = 0;
  double low = 0;  ///< of the median's 95 % interval (stats/summary.hpp)
  double high = 0;
  std::optional<stats::Interval> next;
  std::string text;

  void describe(FieldList& v);
};

/// One row per metric that all repetitions have, which are the metrics of results of `verb`. Derived metrics of a stage
/// are left out.
std::vector<RepeatedMetric> repeated_metrics(std::string_view verb,
                                             std::span<const std::vector<FieldNode>> repetitions);

/// The repetition with the median rate: the lower of the two in the middle for an even number. Requires at least one
/// rate.
std::size_t median_repetition(std::span<const double> rates);

/// The result of the repetition with the median rate.
template <class Result>
const Result& median_result(const std::vector<Result>& results, const std::function<double(const Result&)>& rate_of) {
  std::vector<double> rates;
  for (const Result& result : results) rates.push_back(rate_of(result));
  return results[median_repetition(rates)];
}

/// A result of which only the metrics are described.
template <Describable Result>
struct MetricsOf {
  Result result;

  void describe(FieldList& v) {
    v.metrics([&] { result.describe(v); });
  }
};

/// What --repeat adds to the result of a verb: nothing for a single repetition.
template <Describable Result>
struct Repeated {
  std::vector<RepeatedMetric> repeated;
  std::vector<MetricsOf<Result>> repetitions;
  std::optional<Error> failure;  ///< of a repetition after the first; the others are in the result

  void set(std::string_view verb, std::vector<Result> results) {
    std::vector<std::vector<FieldNode>> metrics;
    for (Result& result : results) {
      MetricsOf<Result>& repetition = repetitions.emplace_back(std::move(result));
      metrics.push_back(field_tree([&](FieldList& v) { repetition.describe(v); }));
    }
    repeated = repeated_metrics(verb, metrics);
  }

  void throw_if_failed() const {
    if (failure) throw Error(*failure);
  }

  void describe(FieldList& v) {
    v.field({"repeated", "with --repeat: each metric over all repetitions"}, repeated);
    v.field({"repetitions", "with --repeat: metrics of each repetition"}, repetitions);
  }
};

/// The results of the repetitions, in order. Only a single one may be interrupted: then nothing else was measured.
template <class Result>
struct Measured {
  std::vector<Result> results;
  bool interrupted = false;
  std::optional<Error> failure;
};

/// "repetition 2 of 3 failed, and the result comes from those before"
Error failed_repetition(const Error& error, std::size_t number, std::uint64_t count);

/// Calls `measure` as often as the option says. A stop or a failure after the first repetition ends them; before, it is
/// that of the verb. `Result` has a member `interrupted`.
template <class Result>
Measured<Result> measure_repeatedly(const RepeatOption& option, const std::function<Result()>& measure) {
  Measured<Result> measured;
  std::vector<Result>& results = measured.results;
  while (results.size() < option.repeat && !measured.interrupted) {
    try {
      Result result = measure();
      measured.interrupted = result.interrupted;
      if (!result.interrupted || results.empty()) results.push_back(std::move(result));
    } catch (const Error& error) {
      if (results.empty()) throw;
      measured.interrupted = error.code() == ErrorCode::cancelled;
      if (!measured.interrupted) measured.failure = failed_repetition(error, results.size() + 1, option.repeat);
      break;
    }
  }
  return measured;
}

}  // namespace shardkit::bench
