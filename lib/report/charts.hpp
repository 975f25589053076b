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
/// Empty without bars. `per_cent`: values are ratios, and the axis below has ticks from 0 %.
std::string bar_chart(std::string_view title, std::span<const Bar> bars, bool per_cent = false);

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

/// "+12 %", "+4,000 %"; "0 %" below `least`, without a sign.
std::string signed_percent(double ratio, double least);

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
  double zoom = 0;               ///< y ends at the values, which are at least this far apart; 0: y begins at 0
  bool ticks_at_points = false;  ///< names the x of every point, as far as there is space
  std::vector<Mark> marks = {};
  std::vector<Band> bands = {};
  std::vector<double> levels = {};    ///< dashed lines at these y
  std::optional<Point> x_range = {};  ///< from x to y; default: that of the points
};
/// Curves of many points are thinned: each column of the plot keeps its smallest and its largest value. Empty without
/// two points.
std::string line_chart(std::string_view title, std::span<const Curve> curves, const Axes& axes);

/// A change as a ratio with its interval, on an axis in percent that all of a plot have in common. 0 has a line.
struct Range {
  std::string label;
  std::string text;
  double middle = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
  Color color = Color::first;
  std::optional<double> threshold = {};  ///< marked on both sides of 0
  std::vector<double> before = {};       ///< single runs of the side that 0 is of
  std::vector<double> after = {};        ///< and of the other
};
std::string range_chart(std::string_view title, std::span<const Range> ranges);

/// A square for each value: what a fleet looks like at a glance.
struct Cell {
  std::string text;
  std::optional<double> share = {};  ///< of the best, 0 to 1; a hollow square without one
  bool marked = false;
  std::string name = {};  ///< below the square if a line has few of them
};
struct CellRow {
  std::string label;
  std::vector<Cell> cells;
};
/// One row without a label fills lines; several have a line each, or as many as they need. At most 6 in each row fill
/// the width, with their names.
std::string heat_map(std::string_view title, std::span<const CellRow> rows);

/// At most two points for each of `columns` equal parts of the range of x: the smallest and the largest y of it.
std::vector<Point> thinned(std::span<const Point> points, std::size_t columns);

}  // namespace shardkit::report
