#include "cli/reports/read_report.hpp"

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "cli/field_tree.hpp"
#include "cli/reports/steady_text.hpp"
#include "cli/reports/text_report.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::string verdict_on(const StoreReport& store, double rate) {
  if (store.streaming) return store.streaming->text;
  return fmt::format("the store gives {} with {}; --preset or --required-rate says whether that is enough",
                     format_rate(rate), format_count(store.knee_connections, "connection"));
}

/// What a reader looks for first: how fast, and out of what.
std::string rate_line(const ReadResult& result) {
  const std::string state = result.direct ? "direct" : "cache " + result.cache.state;
  std::string line = fmt::format("{}, {}: ", format_rate(result.bytes_per_second), state);
  if (result.samples_per_second && result.samples.value_or(0) > 0) {
    line +=
        fmt::format("{}/s by ", format_count(static_cast<std::uint64_t>(*result.samples_per_second + 0.5), "sample"));
  }
  line += fmt::format("{} of {}", format_count(result.threads, "thread"), result.engine);
  if (result.storage.file_system.empty()) return line;
  line += ", " + result.storage.file_system;
  return result.storage.device.empty() ? line : line + " on " + result.storage.device;
}

}  // namespace

std::string render_read(const ReadResult& result, bool colour) {
  ReadResult all = result;
  const std::string first = result.store ? verdict_on(*result.store, result.bytes_per_second) : rate_line(result);
  std::vector<FieldNode> nodes = field_tree([&](FieldVisitor& v) { all.describe(v); });
  tell_steadiness(nodes, result.read_seconds);
  return bold(printable(first), colour) + "\n\n" + text_report(nodes);
}

}  // namespace shardkit
