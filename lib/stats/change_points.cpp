#include "stats/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardkit::stats {
namespace {

/// Sums of logarithms and of their squares, up to each value.
struct Sums {
  explicit Sums(std::span<const double> values) : sum{0}, square{0} {
    for (const double value : values) {
      const double logarithm = std::log(value);
      sum.push_back(sum.back() + logarithm);
      square.push_back(square.back() + logarithm * logarithm);
    }
  }
  /// Squared deviation of the values from `from` to before `to` from their mean.
  double deviation(std::size_t from, std::size_t to) const {
    const double total = sum[to] - sum[from];
    return square[to] - square[from] - total * total / static_cast<double>(to - from);
  }

  double mean(std::size_t from, std::size_t to) const { return (sum[to] - sum[from]) / static_cast<double>(to - from); }

  std::vector<double> sum;
  std::vector<double> square;
};

/// How many times the variance of a mean is larger because successive values are alike. The correlation of n values is
/// estimated too low, by about (1 + 3 r) / n for each fitted parameter, and half as much again where the best are
/// chosen.
double dependence_of(std::span<const double> residuals, std::size_t parameters) {
  constexpr double kMost = 0.95;
  constexpr double kHiddenByChoice = 1.5;
  double products = 0;
  double squares = residuals[0] * residuals[0];
  for (std::size_t i = 1; i < residuals.size(); ++i) {
    products += residuals[i] * residuals[i - 1];
    squares += residuals[i] * residuals[i];
  }
  const double found = squares > 0 ? products / squares : 0;
  const double corrected = found + kHiddenByChoice * (1 + 3 * found) * static_cast<double>(parameters) /
                                       static_cast<double>(residuals.size());
  const double correlation = squares > 0 ? std::clamp(corrected, 0.0, kMost) : 0;
  return (1 + correlation) / (1 - correlation);
}

/// Values that have a logarithm, and their positions in the series.
struct Usable {
  Usable(std::span<const double> series, double floor) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      const double value = std::max(series[i], floor);
      if (value <= 0) continue;
      values.push_back(value);
      positions.push_back(i);
    }
  }

  std::vector<double> values;
  std::vector<std::size_t> positions;
};

/// A shift of the logarithm, whose variance is `squares` divided by the degrees of freedom of the residuals.
Change judged(double shift, double squares, std::span<const double> residuals, std::size_t parameters, Better better,
              double threshold) {
  const double dependence = dependence_of(residuals, parameters);
  const auto degrees = static_cast<double>(residuals.size() - parameters);
  const auto effective = static_cast<std::size_t>(std::max(degrees / dependence, 2.0));
  return judge_shift(shift, std::max(squares, 0.0) / degrees * dependence, effective, better, threshold);
}

bool is_change(const Change& change) {
  return change.verdict == ChangeVerdict::regressed || change.verdict == ChangeVerdict::improved;
}

/// A step between two parts of a series.
struct Step {
  std::size_t at = 0;
  double positions = 1;  ///< of which it is the best
  Change change = {};

  double p_value() const { return change.p_value.value_or(1) * positions; }
};

/// Searches a series and its parts.
class Search {
 public:
  Search(std::span<const double> values, Better better, double threshold)
      : values_(values), sums_(values), better_(better), threshold_(threshold), cuts_{0, values.size()} {}

  /// The total change of a line, if it fits better than the best step and is a change.
  std::optional<Change> trend() const {
    const auto count = static_cast<double>(values_.size());
    const double mean = sums_.sum.back() / count;
    const double middle = (count - 1) / 2;
    const double squares = count * (count * count - 1) / 12;  // of the distances from the middle
    double slope = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      slope += (static_cast<double>(i) - middle) * std::log(values_[i]) / squares;
    }
    std::vector<double> residuals;
    double left = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      residuals.push_back(std::log(values_[i]) - mean - slope * (static_cast<double>(i) - middle));
      left += residuals.back() * residuals.back();
    }
    const std::size_t best = best_split(0, values_.size());
    if (left >= sums_.deviation(0, best) + sums_.deviation(best, values_.size())) return std::nullopt;
    const double length = count - 1;
    const Change change = judged(slope * length, left / squares * length * length, residuals, 2, better_, threshold_);
    return is_change(change) ? std::optional(change) : std::nullopt;
  }

  /// The steps that remain changes where successive runs are alike: what all steps leave shows how much they are. The
  /// least certain one goes first.
  std::vector<Step> steps() {
    search(0, values_.size(), 1);
    while (!steps_.empty()) {
      judge_steps();
      const auto worst = std::ranges::max_element(steps_, {}, &Step::p_value);
      const auto none = std::ranges::find_if_not(steps_, [](const Step& step) { return is_change(step.change); });
      if (worst->p_value() <= kFalseAlarms && none == steps_.end()) break;
      steps_.erase(worst->p_value() > kFalseAlarms ? worst : none);
    }
    return std::move(steps_);
  }

 private:
  /// Candidates, as if runs were independent. `tries` is how many parts of these values were looked at before.
  void search(std::size_t from, std::size_t to, double tries) {
    const std::size_t size = to - from;
    if (size < 2 * kRunsBesideChange) return;
    const std::size_t best = best_split(from, to);
    // A change too near to an end shows nothing, and hides others.
    const bool is_near_begin = best < from + kRunsBesideChange;
    if (is_near_begin || best + kRunsBesideChange > to) {
      cuts_.push_back(best);
      return is_near_begin ? search(best, to, tries + 1) : search(from, best, tries + 1);
    }
    const Change change = step_at(from, best, to, residuals({from, best, to}), 2);
    const double positions = tries * static_cast<double>(size - 2 * kRunsBesideChange + 1);
    if (!is_change(change) || change.p_value.value_or(1) * positions > kFalseAlarms) return;
    search(from, best, tries);
    steps_.push_back({best, positions});
    search(best, to, tries);
  }

  void judge_steps() {
    std::vector<std::size_t> ends = cuts_;
    for (const Step& step : steps_) ends.push_back(step.at);
    std::ranges::sort(ends);
    const std::vector<double> left = residuals(ends);
    for (Step& step : steps_) {
      const auto end = std::ranges::find(ends, step.at);
      step.change = step_at(*std::prev(end), step.at, *std::next(end), left, ends.size() - 1, true);
    }
  }

  /// The position at which the two parts deviate least.
  std::size_t best_split(std::size_t from, std::size_t to) const {
    std::size_t best = from + 1;
    double least = std::numeric_limits<double>::max();
    for (std::size_t at = from + 1; at < to; ++at) {
      const double deviation = sums_.deviation(from, at) + sums_.deviation(at, to);
      if (deviation >= least) continue;
      least = deviation;
      best = at;
    }
    return best;
  }

  /// The logarithms without the means of the parts between these ends.
  std::vector<double> residuals(const std::vector<std::size_t>& ends) const {
    std::vector<double> left;
    for (std::size_t part = 1; part < ends.size(); ++part) {
      for (std::size_t i = ends[part - 1]; i < ends[part]; ++i) {
        left.push_back(std::log(values_[i]) - sums_.mean(ends[part - 1], ends[part]));
      }
    }
    return left;
  }

  /// The change at `at` between the parts on its sides, with the deviation of all residuals.
  Change step_at(std::size_t from, std::size_t at, std::size_t to, const std::vector<double>& left,
                 std::size_t parameters, bool depends = false) const {
    const double scale = 1 / static_cast<double>(at - from) + 1 / static_cast<double>(to - at);
    const double shift = sums_.mean(at, to) - sums_.mean(from, at);
    double squares = 0;
    for (const double one : left) squares += one * one;
    if (depends) return judged(shift, squares * scale, left, parameters, better_, threshold_);
    const std::size_t degrees = left.size() - parameters;
    return judge_shift(shift, squares * scale / static_cast<double>(degrees), degrees, better_, threshold_);
  }

  std::span<const double> values_;
  Sums sums_;
  Better better_;
  double threshold_;
  std::vector<Step> steps_;
  std::vector<std::size_t>
      cuts_;  ///< ends of the parts that are searched: of the series, and of the few runs at an end
};

}  // namespace

ChangePoints change_points(std::span<const double> values, Better better, double threshold, double floor) {
  const Usable usable(values, floor);
  ChangePoints changes;
  if (usable.values.size() < 2 * kRunsBesideChange) return changes;
  Search search(usable.values, better, threshold);
  if (changes.trend = search.trend(); changes.trend) return changes;
  for (const Step& step : search.steps()) changes.points.push_back({usable.positions[step.at], step.change});
  return changes;
}

NewestRun judge_newest(std::span<const double> all, Better better, std::size_t metrics, double threshold,
                       double floor) {
  constexpr std::size_t kLeastBefore = 4;
  NewestRun newest;
  const Usable usable(all, floor);
  const std::vector<double>& values = usable.values;
  if (!all.empty() && better == Better::higher && all.back() <= 0 && !values.empty()) {
    return {ChangeVerdict::regressed, -1, all.size() - 1 - usable.positions.back()};
  }
  if (values.size() <= kLeastBefore) return newest;
  const std::size_t before = std::max(kLeastBefore, values.size() - std::min(values.size(), kRunsBesideChange - 1));
  std::vector<double> levels;
  for (const double value : std::span(values).first(before)) levels.push_back(std::log(value));
  const double level = summarize(levels).median;
  for (double& one : levels) one = std::abs(one - level);
  const auto count = static_cast<double>(before);
  const double noise = 1.4826 * summarize(levels).median * count / (count - 1) * std::sqrt(1 + 1.57 / count);
  const double deviations = student_quantile(kFalseAlarms / static_cast<double>(3 * metrics), before - 1);
  const double limit = std::max(deviations * noise, -std::log(1 - threshold));
  const auto verdict_on = [&](double value) {
    const double change = std::log(value) - level;
    if (std::abs(change) <= limit) return ChangeVerdict::pass;
    return (change > 0) == (better == Better::higher) ? ChangeVerdict::improved : ChangeVerdict::regressed;
  };
  newest.verdict = verdict_on(values.back());
  newest.ratio = values.back() / std::exp(level) - 1;
  for (std::size_t i = values.size(); i > before && verdict_on(values[i - 1]) == newest.verdict; --i) ++newest.runs;
  return newest;
}

}  // namespace shardkit::stats
