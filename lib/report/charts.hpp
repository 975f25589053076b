#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Plots as inline SVG, for a page that loads nothing. They are 420 units wide, so that their text can be read on a
/// phone; colors are classes of the page's style. Texts may contain anything. Values that are not finite are left out.
namespace shardkit::report {

/// The classes of colors: series in order, judgments, and what threads do.
enum class Color { first, second, third, fourth, fifth, good, bad, unclear, busy, starved, blocked };

/// A horizontal bar with its label and value above it.
struct Bar {
  std::string label;
  std::string text;  ///< the value, as shown
  double value = 0;
  std::optional<double> low = {};  ///< of an interval around the value
  std::optional<double> high = {};
  std::optional<double> required = {};  ///< a mark across the bar
  Color color = Color::first;
};
/// Empty without bars.
std::string bar_chart(std::string_view title, std::span<const Bar> bars);

/// What a share is of.
struct Share {
  std::string name;
  Color color = Color::first;
};

/// Shares of a whole, which add up to at most 1.
struct Stack {
  std::string label;
  std::vector<double> shares;
};
/// `names` are those of the shares, in their order.
std::string stacked_chart(std::string_view title, std::span<const Share> names, std::span<const Stack> stacks);

struct Point {
  double x = 0;
  double y = 0;
};

struct Curve {
  std::string name;
  std::vector<Point> points;  ///< in order of x
  Color color = Color::first;
  bool dots = false;   ///< shows each point
  bool joined = true;  ///< by lines
};

/// A vertical line with a text.
struct Mark {
  double x = 0;
  std::string text;
};

/// A horizontal band behind the curves.
struct Band {
  double from = 0;
  double to = 0;
  double low = 0;
  double high = 0;
};

struct Axes {
  std::string (*x_text)(double x) = nullptr;
  std::string (*y_text)(double y) = nullptr;
  std::string x_name = {};
  bool logarithmic_x = false;    ///< x must be positive
  bool ticks_at_points = false;  ///< names the x of every point, as far as there is space
  std::vector<Mark> marks = {};
  std::vector<Band> bands = {};
};
/// Curves of many points are thinned: each column of the plot keeps its smallest and its largest value. Empty without
/// two points.
std::string line_chart(std::string_view title, std::span<const Curve> curves, const Axes& axes);

/// A range on a common axis with a reference line: changes of metrics.
struct Range {
  std::string label;
  std::string text;
  double middle = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
  Color color = Color::first;
};
std::string range_chart(std::string_view title, std::span<const Range> ranges, double reference);

/// A square for each value, in lines: what a fleet looks like at a glance.
struct Cell {
  std::string text;
  double share = 0;  ///< of the best, 0 to 1
  bool marked = false;
};
std::string heat_map(std::string_view title, std::span<const Cell> cells);

/// At most two points for each of `columns` equal parts of the range of x: the smallest and the largest y of it.
std::vector<Point> thinned(std::span<const Point> points, std::size_t columns);

}  // namespace shardkit::report
