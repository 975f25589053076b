#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/tone.hpp"

/// A report for people: one page from the JSON envelope of a result, as HTML that needs no network and no script, or as
/// Markdown for tickets. Pure functions; all texts are escaped here.
namespace shardkit::report {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< as many cells as columns
};

/// SVG of charts.hpp, and a text below it if a section has several.
struct Figure {
  Figure(std::string svg_, std::string caption_ = {})  // NOLINT: implicit on purpose
      : svg(std::move(svg_)), caption(std::move(caption_)) {}
  std::string svg;
  std::string caption;
};

struct Section {
  std::string heading;
  std::vector<std::string> paragraphs = {};
  std::vector<Figure> figures = {};  ///< only in HTML; two in a line of a wide window; empty ones are left out
  std::string code = {};             ///< shown as it is, to be copied
  Table table = {};
};

struct Page {
  std::string kind;      ///< "iobench run"
  std::string headline;  ///< the verdict, or the error
  Tone tone = Tone::neutral;
  std::vector<std::string> remarks = {};                        ///< sentences about it
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< node, date, version
  std::vector<Section> sections = {};
  std::string attachment = {};  ///< JSON text; empty: none
};

/// One file with a strict content security policy, light and dark, for screens, paper and screen readers.
std::string html(const Page& page);
/// Without plots and attachment. Tables are cut after kMarkdownRows.
std::string markdown(const Page& page);
inline constexpr std::size_t kMarkdownRows = 25;

/// The single runs of a metric, on both sides of a comparison.
struct MetricRuns {
  std::string metric;
  std::vector<double> base;
  std::vector<double> changed;
};

/// What a comparison is of, and its result does not contain.
struct Beside {
  std::vector<MetricRuns> runs = {};
  const nlohmann::json* base = nullptr;  ///< an envelope of each side, to be overlaid; null: several, or none
  const nlohmann::json* changed = nullptr;
};

/// The page of a result of any verb. What the result does not contain is left out. Never throws for what an envelope
/// contains.
Page page_of(const nlohmann::json& envelope, const Beside& beside = {});

/// The result with other words for names of hosts, paths and addresses: "host-1", "path-1"; the same for the same.
nlohmann::json redacted(const nlohmann::json& envelope);

}  // namespace shardkit::report
