#include "system/pressure.hpp"

#include <cstdint>

#include "system/sys_text.hpp"

namespace shardkit {
namespace {

/// "some avg10=12.84 avg60=7.92 avg300=8.44 total=875022445", in microseconds.
std::optional<double> total_seconds(std::string_view text, std::string_view kind) {
  const std::string_view line = line_value(text, kind);
  const std::size_t at = line.find("total=");
  const auto total = at == std::string_view::npos ? std::nullopt : parse_number(line.substr(at + 6));
  if (!total) return std::nullopt;
  return static_cast<double>(*total) / 1e6;
}

}  // namespace

std::optional<Pressure> read_pressure(const Probe& probe, const std::string& path) {
  const auto text = probe.text(path);  // an error where it was disabled at start
  const auto some = text ? total_seconds(*text, "some ") : std::nullopt;
  if (!some) return std::nullopt;
  return Pressure{*some, total_seconds(*text, "full ").value_or(0)};
}

}  // namespace shardkit
