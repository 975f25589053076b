#include "cli/read_report.hpp"

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "cli/field_tree.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::string verdict_on(const StoreReport& store, double rate) {
  if (store.streaming) return store.streaming->text;
  return fmt::format("the store gives {} with {}; --preset or --required-rate says whether that is enough",
                     format_rate(rate), format_count(store.knee_connections, "connection"));
}

}  // namespace

std::string render_read(const ReadResult& result, bool colour) {
  ReadResult all = result;
  std::string out;
  if (result.store) {
    out = fmt::format("{}{}{}\n\n", colour ? "\x1b[1m" : "",
                      printable(verdict_on(*result.store, result.bytes_per_second)), colour ? "\x1b[0m" : "");
  }
  return out + text_report(field_tree([&](FieldVisitor& v) { all.describe(v); }));
}

}  // namespace shardkit
