#include "report/charts.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace shardkit::report {
namespace {

std::string number(double value) { return std::to_string(value); }

TEST_CASE("thinning keeps the smallest and the largest value of every column") {
  std::vector<Point> points;
  for (int i = 0; i < 10'000; ++i) points.push_back({double(i), 100});
  points[4321].y = 1;
  points[8765].y = 999;
  const std::vector<Point> kept = thinned(points, 300);
  CHECK(kept.size() <= 600);
  const auto [low, high] = std::ranges::minmax_element(kept, {}, &Point::y);
  CHECK(low->y == 1);
  CHECK(high->y == 999);
  CHECK(std::ranges::is_sorted(kept, {}, &Point::x));
}

TEST_CASE("few points are not thinned") {
  const std::vector<Point> points{{0, 1}, {1, 2}, {2, 3}};
  CHECK(thinned(points, 300).size() == 3);
}

TEST_CASE("a plot of many points stays small") {
  Curve curve{"bytes", {}, Color::first, true};
  for (int i = 0; i < 10'000; ++i) curve.points.push_back({double(i), double(i % 97)});
  const std::string plot = line_chart("t", std::span(&curve, 1), {.x_text = number, .y_text = number});
  CHECK(plot.size() < 20'000);
}

TEST_CASE("plots without data are empty") {
  CHECK(bar_chart("t", {}).empty());
  CHECK(heat_map("t", {}).empty());
  CHECK(range_chart("t", {}).empty());
  CHECK(stacked_chart("t", {}, {}).empty());
  const Curve one{"", {{1, 1}}};
  CHECK(line_chart("t", std::span(&one, 1), {.x_text = number, .y_text = number}).empty());
}

TEST_CASE("texts of plots are escaped, and numbers that are not finite leave no trace") {
  const std::vector<Bar> bars{{"<b>&\"'", "1", std::numeric_limits<double>::quiet_NaN()}, {"two", "2", 2}};
  const std::string plot = bar_chart("<title>", bars);
  CHECK(plot.find("<b>") == std::string::npos);
  CHECK(plot.find("&lt;b&gt;&amp;&quot;&#39;") != std::string::npos);
  CHECK(plot.find("nan") == std::string::npos);
  CHECK(plot.find("aria-label=\"&lt;title&gt;\"") != std::string::npos);
}

TEST_CASE("a required value is a mark across its bar") {
  const std::vector<Bar> with{{"read", "1/s", 1, {}, {}, 2.0}};
  const std::vector<Bar> without{{"read", "1/s", 1}};
  CHECK(bar_chart("t", with).find("class=\"required\"") != std::string::npos);
  CHECK(bar_chart("t", without).find("class=\"required\"") == std::string::npos);
}

}  // namespace
}  // namespace shardkit::report
