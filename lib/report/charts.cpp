#include "report/charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "core/markup.hpp"
#include "core/units.hpp"

namespace shardkit::report {
namespace {

constexpr double kWidth = 420;
constexpr std::array<std::string_view, 11> kClasses{"c1",  "c2",      "c3",   "c4",      "c5",     "good",
                                                    "bad", "unclear", "busy", "starved", "blocked"};

std::string_view class_of(Color color) { return kClasses.at(static_cast<std::size_t>(color)); }

/// Collects the elements of a picture.
class Drawing {
 public:
  void rect(double x, double y, double width, double height, std::string_view style, std::string_view tip = {}) {
    if (!std::isfinite(x + y + width + height)) return;
    fmt::format_to(out(), "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"", x, y,
                   std::max(width, 0.5), height, style);
    elements_ += tip.empty() ? "/>" : fmt::format("><title>{}</title></rect>", escaped_html(tip));
  }
  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    if (!std::isfinite(x1 + y1 + x2 + y2)) return;
    fmt::format_to(out(), "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" class=\"{}\"/>", x1, y1, x2, y2, style);
  }
  void circle(double x, double y, double radius, std::string_view style) {
    if (!std::isfinite(x + y)) return;
    fmt::format_to(out(), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"/>", x, y, radius, style);
  }
  void text(double x, double y, std::string_view words, std::string_view style) {
    fmt::format_to(out(), "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>", x, y, style, escaped_html(words));
  }
  void raw(std::string_view element) { elements_ += element; }

  std::string finish(std::string_view title, double height) const {
    return fmt::format("<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {:.0f}\">{}</svg>\n", escaped_html(title),
                       kWidth, height, elements_);
  }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(elements_); }
  std::string elements_;
};

/// A label on the left and a value on the right, above whatever belongs to both; long labels are cut.
void caption(Drawing& drawing, double y, const std::string& label, const std::string& value) {
  constexpr std::size_t kMost = 54;
  constexpr std::size_t kLeast = 18;  // of the label
  const auto cut = [](const std::string& text, std::size_t room) {
    return text.size() > room ? text.substr(0, room - 3) + "..." : text;
  };
  const std::string end = cut(value, kMost - std::min(label.size(), kLeast));
  drawing.text(0, y, cut(label, kMost - end.size()), "t");
  drawing.text(kWidth, y, end, "t e");
}

/// A round number of one or two digits, at least `value`.
double round_up(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (step * power >= value * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

/// A tick of the axis below rows that end at `y`, and its text within the plot.
void draw_tick(Drawing& drawing, double x, double y, std::string_view text) {
  constexpr double kHalfText = 30;
  drawing.line(x, y - 6, x, y - 2, "tick");
  drawing.text(x, y + 11, text, x > kWidth - kHalfText ? "s e" : x < kHalfText ? "s" : "s m");
}

/// Names with squares of their colors, in as many lines as they need. Returns the height.
double legend(Drawing& drawing, std::span<const std::string> names, std::span<const std::string_view> classes) {
  constexpr double kLetter = 8;
  double x = 0;
  double y = 11;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double width = 22 + kLetter * static_cast<double>(names[i].size());
    if (x > 0 && x + width > kWidth) {
      x = 0;
      y += 17;
    }
    drawing.rect(x, y - 9, 10, 10, classes[i]);
    drawing.text(x + 14, y, names[i], "t");
    x += width;
  }
  return y + 9;
}

}  // namespace

std::string signed_percent(double ratio, double least) {
  if (std::abs(ratio) < least) return "0 %";
  if (std::abs(ratio) < 9.995) return fmt::format("{:+.3g} %", ratio * 100);
  return fmt::format("{}{} %", ratio < 0 ? "-" : "+", format_rounded_count(std::abs(ratio) * 100));
}

std::string bar_chart(std::string_view title, std::span<const Bar> bars, bool per_cent) {
  constexpr double kRow = 36;
  if (bars.empty()) return {};
  double most = 0;
  for (const Bar& bar : bars) {
    most = std::max({most, bar.value, bar.high.value_or(0), bar.required.value_or(0)});
  }
  const double scale = most > 0 ? kWidth / most : 0;
  Drawing drawing;
  double y = 0;
  for (const Bar& bar : bars) {
    caption(drawing, y + 12, bar.label, bar.text);
    drawing.rect(0, y + 17, kWidth, 11, "track");
    if (std::isfinite(bar.value)) drawing.rect(0, y + 17, bar.value * scale, 11, class_of(bar.color));
    if (bar.low && bar.high) {
      drawing.line(*bar.low * scale, y + 22.5, *bar.high * scale, y + 22.5, "whisker");
      drawing.line(*bar.low * scale, y + 19, *bar.low * scale, y + 26, "whisker");
      drawing.line(*bar.high * scale, y + 19, *bar.high * scale, y + 26, "whisker");
    }
    if (bar.required) drawing.line(*bar.required * scale, y + 14, *bar.required * scale, y + 31, "required");
    y += kRow;
  }
  if (!per_cent) return drawing.finish(title, y);
  const double step = most <= 2 ? 0.5 : round_up(most / 4);  // 100 % is the one that people look for
  for (double tick = 0; tick <= most; tick += step)
    draw_tick(drawing, tick * scale, y, fmt::format("{:.3g} %", tick * 100));
  return drawing.finish(title, y + 16);
}

std::string stacked_chart(std::string_view title, std::span<const Share> names, std::span<const Stack> stacks) {
  constexpr double kRow = 36;
  if (stacks.empty()) return {};
  Drawing drawing;
  std::vector<std::string> texts;
  std::vector<std::string_view> classes;
  for (const Share& share : names) {
    texts.push_back(share.name);
    classes.push_back(class_of(share.color));
  }
  double y = legend(drawing, texts, classes);
  for (const Stack& stack : stacks) {
    caption(drawing, y + 12, stack.label, {});
    drawing.rect(0, y + 17, kWidth, 13, "track");
    double x = 0;
    for (std::size_t i = 0; i < stack.shares.size() && i < names.size(); ++i) {
      const double width = std::clamp(stack.shares[i], 0.0, 1.0) * kWidth;
      const std::string percent = fmt::format("{:.0f} %", stack.shares[i] * 100);
      if (width > 0) drawing.rect(x, y + 17, width, 13, classes[i], fmt::format("{} {}", texts[i], percent));
      if (width > 36) drawing.text(x + width / 2, y + 27.5, percent, "in");
      x += width;
    }
    y += kRow;
  }
  return drawing.finish(title, y);
}

std::vector<Point> thinned(std::span<const Point> points, std::size_t columns) {
  if (points.size() <= 2 * columns) return {points.begin(), points.end()};
  const double from = points.front().x;
  const double width = std::max(points.back().x - from, std::numeric_limits<double>::min());
  const auto column_of = [&](const Point& point) {
    return std::min(static_cast<std::size_t>((point.x - from) / width * static_cast<double>(columns)), columns - 1);
  };
  const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
  std::vector<Point> kept;
  for (auto at = points.begin(); at != points.end();) {
    const std::size_t column = column_of(*at);
    const auto end = std::find_if(at, points.end(), [&](const Point& point) { return column_of(point) != column; });
    const auto [low, high] = std::minmax_element(at, end, by_y);
    kept.push_back(low < high ? *low : *high);
    if (low != high) kept.push_back(low < high ? *high : *low);
    at = end;
  }
  return kept;
}

namespace {

constexpr double kTop = 8;
constexpr double kPlotHeight = 150;
constexpr double kLeft = 70;
constexpr double kRight = kWidth - 10;

/// Where values of both axes are drawn.
struct Frame {
  double from = 0;
  double to = 0;
  double least = 0;
  double most = 0;
  double step = 0;  ///< between the lines at values
  bool logarithmic = false;
  double top = 0;

  double x(double value) const {
    const auto position = [&](double v) { return logarithmic ? std::log2(std::max(v, 1e-12)) : v; };
    const double width = position(to) - position(from);
    return kLeft + (width > 0 ? (position(value) - position(from)) / width : 0.5) * (kRight - kLeft);
  }
  double y(double value) const {
    return top + kPlotHeight - std::clamp((value - least) / (most - least), 0.0, 1.0) * kPlotHeight;
  }
};

/// Both ends at multiples of a round step around the values, so that 0 has a line of its own.
void zoom(Frame& frame, double least, double smallest_spread) {
  constexpr double kSlack = 1e-6;  // of a step: 0.1 may be 0.1000000001
  frame.step = round_up(std::max(frame.most - least, smallest_spread) / 4);
  const double first = std::floor(least / frame.step + kSlack);
  frame.least = first * frame.step;
  frame.most = std::max(std::ceil(frame.most / frame.step - kSlack), first + 1) * frame.step;
}

Frame frame_of(std::span<const Curve> curves, const Axes& axes) {
  Frame frame{.from = std::numeric_limits<double>::max(),
              .to = std::numeric_limits<double>::lowest(),
              .most = axes.zoom > 0 ? std::numeric_limits<double>::lowest() : 0,
              .logarithmic = axes.logarithmic_x};
  double least = std::numeric_limits<double>::max();
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      if (!std::isfinite(point.x + point.y)) continue;
      frame.from = std::min(frame.from, point.x);
      frame.to = std::max(frame.to, point.x);
      frame.most = std::max(frame.most, point.y);
      least = std::min(least, point.y);
    }
  }
  for (const Band& band : axes.bands) {
    frame.most = std::max(frame.most, band.high);
    least = std::min(least, band.low);
  }
  if (axes.x_range) frame.from = axes.x_range->x, frame.to = axes.x_range->y;
  if (axes.zoom > 0) {
    zoom(frame, least, axes.zoom);
  } else {
    frame.most = round_up(frame.most);
    frame.step = frame.most / 2;
  }
  return frame;
}

void draw_axes(Drawing& drawing, const Frame& frame, const Axes& axes) {
  const double lines = std::round((frame.most - frame.least) / frame.step);
  for (double line = 0; line <= lines; ++line) {
    const double value = frame.least + line * frame.step;
    const double y = frame.y(value);
    drawing.line(kLeft, y, kRight, y, "grid");
    drawing.text(kLeft - 6, y + 4, axes.y_text(value), "s e");
  }
  const double y = frame.top + kPlotHeight + 15;
  if (!axes.ticks_at_points) {
    drawing.text(kLeft, y, axes.x_text(frame.from), "s");
    drawing.text(kRight, y, axes.x_text(frame.to), "s e");
    drawing.text((kLeft + kRight) / 2, y, axes.x_name, "s m");
    return;
  }
  drawing.text((kLeft + kRight) / 2, y + 16, axes.x_name + (axes.logarithmic_x ? " (logarithmic)" : ""), "s m");
}

/// The x of each point, from the left; one whose text has no space is left out.
void draw_ticks(Drawing& drawing, const Frame& frame, const Axes& axes, const Curve& curve) {
  constexpr double kLetter = 6.5;
  double free = 0;
  for (const Point& point : curve.points) {
    const std::string text = axes.x_text(point.x);
    const double half = kLetter * static_cast<double>(text.size()) / 2;
    const double x = std::min(frame.x(point.x), kWidth - half);
    if (x - half < free) continue;
    drawing.text(x, frame.top + kPlotHeight + 15, text, "s m");
    free = x + half + kLetter;
  }
}

void draw_curve(Drawing& drawing, const Frame& frame, const Curve& curve) {
  constexpr std::size_t kColumns = 300;
  constexpr std::size_t kMostDots = 120;
  std::string path;
  std::string dots;
  const std::vector<Point> points = thinned(curve.points, kColumns);
  for (const Point& point : points) {
    if (!std::isfinite(point.x + point.y)) continue;
    const double x = frame.x(point.x);
    const double y = frame.y(point.y);
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    if (!curve.dots || points.size() > kMostDots) continue;
    fmt::format_to(std::back_inserter(dots), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"{}\"/>", x, y,
                   class_of(curve.color));
  }
  if (!curve.joined) path = {};
  drawing.raw(fmt::format("<path d=\"{}\" class=\"curve l-{}\"/>{}", path, class_of(curve.color), dots));
}

}  // namespace

std::string line_chart(std::string_view title, std::span<const Curve> curves, const Axes& axes) {
  Frame frame = frame_of(curves, axes);
  if (!(frame.to > frame.from)) return {};
  Drawing drawing;
  std::vector<std::string> names;
  std::vector<std::string_view> classes;
  for (const Curve& curve : curves) {
    if (curve.name.empty()) continue;
    names.push_back(curve.name);
    classes.push_back(class_of(curve.color));
  }
  frame.top = kTop + (names.empty() ? 0 : legend(drawing, names, classes)) + (axes.marks.empty() ? 0 : 14);
  for (const Band& band : axes.bands) {
    drawing.rect(frame.x(band.from), frame.y(band.high), frame.x(band.to) - frame.x(band.from),
                 frame.y(band.low) - frame.y(band.high), "band");
  }
  draw_axes(drawing, frame, axes);
  for (const double level : axes.levels) {
    drawing.line(kLeft, frame.y(level), kRight, frame.y(level), "threshold");
  }
  if (axes.ticks_at_points && !curves.empty()) draw_ticks(drawing, frame, axes, curves.front());
  for (const Curve& curve : curves) draw_curve(drawing, frame, curve);
  for (const Mark& mark : axes.marks) {
    const double x = frame.x(mark.x);
    drawing.line(x, frame.top, x, frame.top + kPlotHeight, "required");
    drawing.text(x, frame.top - 4, mark.text, x > kWidth * 2 / 3 ? "s e" : x < kWidth / 3 ? "s" : "s m");
  }
  return drawing.finish(title, frame.top + kPlotHeight + (axes.ticks_at_points ? 36 : 20));
}

namespace {

/// The ends of an axis of ratios, and the step of its ticks.
struct PercentAxis {
  double from = 0;
  double to = 0;
  double step = 0;

  explicit PercentAxis(std::span<const Range> ranges) {
    for (const Range& range : ranges) {
      for (const auto& value : {std::optional(range.middle), range.low, range.high, range.threshold}) include(value);
      for (const double dot : range.before) include(dot);
      for (const double dot : range.after) include(dot);
      include(-range.threshold.value_or(0));
    }
    step = round_up(std::max(to - from, 0.001) / 5);
  }
  double x(double value) const { return 6 + (value - from) / std::max(to - from, 1e-9) * (kWidth - 12); }

 private:
  void include(std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return;
    from = std::min(from, *value);
    to = std::max(to, *value);
  }
};

void draw_range(Drawing& drawing, const PercentAxis& axis, const Range& range, double y) {
  caption(drawing, y + 12, range.label, range.text);
  drawing.rect(0, y + 17, kWidth, 13, "track");
  if (range.low && range.high) {
    drawing.rect(axis.x(*range.low), y + 20, axis.x(*range.high) - axis.x(*range.low), 7, class_of(range.color));
  }
  for (const double sign : {-1.0, 1.0}) {
    const double x = axis.x(sign * range.threshold.value_or(0));
    if (range.threshold && x >= 0 && x <= kWidth) drawing.line(x, y + 17, x, y + 30, "threshold");
  }
  drawing.circle(axis.x(range.middle), y + 23.5, 5, fmt::format("{} dot", class_of(range.color)));
  for (const double dot : range.before) drawing.circle(axis.x(dot), y + 20, 2, "before");
  for (const double dot : range.after) drawing.circle(axis.x(dot), y + 27, 2, "after");
  drawing.line(axis.x(0), y + 16, axis.x(0), y + 31, "required");
}

}  // namespace

std::string range_chart(std::string_view title, std::span<const Range> ranges) {
  constexpr double kRow = 36;
  if (ranges.empty()) return {};
  const PercentAxis axis(ranges);
  Drawing drawing;
  double y = 0;
  for (const Range& range : ranges) {
    draw_range(drawing, axis, range, y);
    y += kRow;
  }
  for (double tick = std::ceil(axis.from / axis.step) * axis.step; tick <= axis.to + axis.step / 100;
       tick += axis.step) {
    draw_tick(drawing, axis.x(tick), y, signed_percent(tick, axis.step / 2));
  }
  return drawing.finish(title, y + 16);
}

namespace {

std::string_view heat_class(double share) {
  const double missing = std::clamp(1 - share, 0.0, 1.0);  // below 95 %, 90 %, 80 %, 60 % of the best
  return missing <= 0.05 ? "h0" : missing <= 0.1 ? "h1" : missing <= 0.2 ? "h2" : missing <= 0.4 ? "h3" : "h4";
}

}  // namespace

std::string heat_map(std::string_view title, std::span<const CellRow> rows) {
  constexpr std::size_t kMostNamed = 6;
  constexpr double kLetter = 6.5;
  constexpr double kNameHeight = 16;
  std::size_t all = 0;
  std::size_t longest = 0;
  for (const CellRow& row : rows) {
    all += row.cells.size();
    longest = std::max(longest, row.cells.size());
  }
  if (all == 0) return {};
  const bool named = longest <= kMostNamed;
  constexpr double kMostSide = 26;
  constexpr double kSideInRows = 14;
  const bool labelled = rows.size() > 1;
  const double left = labelled ? 90 : 0;
  const double columns = std::max(std::ceil(kWidth / kMostSide), std::ceil(std::sqrt(double(all) * 4)));
  const double side = labelled ? kSideInRows : kWidth / columns;
  const double width = named ? (kWidth - left) / static_cast<double>(longest) : side;
  Drawing drawing;
  double y = 0;
  for (const CellRow& row : rows) {
    double x = left;
    if (labelled) drawing.text(left - 6, y + side / 2 + 4, row.label.substr(0, 13), "s e");
    for (const Cell& cell : row.cells) {
      if (x + width > kWidth + 0.1) {
        x = left;
        y += side;
      }
      const std::string style =
          fmt::format("{}{}", cell.share ? heat_class(*cell.share) : "hollow", cell.marked ? " mark" : "");
      drawing.rect(x + 0.5, y + 0.5, width - 1, side - 1, style, cell.text);
      if (named) drawing.text(x + 1, y + side + 11, cell.name.substr(0, std::size_t(width / kLetter)), "s");
      x += width;
    }
    y += side + (named ? kNameHeight : 0);
  }
  return drawing.finish(title, y);
}

}  // namespace shardkit::report
