#include "iobench/cells.hpp"

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"

namespace shardkit::apps {

std::string percent_cell(const std::optional<double>& ratio, int digits) {
  return ratio ? fmt::format("{:.{}f} %", *ratio * 100, digits) : "-";
}

std::string per_second_cell(const std::optional<double>& count) {
  return count ? bench::rate_number(*count) + "/s" : "-";
}

}  // namespace shardkit::apps
