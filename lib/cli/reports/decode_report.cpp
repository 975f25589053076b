#include "cli/reports/decode_report.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "cli/field_tree.hpp"
#include "cli/reports/steady_text.hpp"
#include "cli/reports/text_report.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

/// "2 threads, 640/s per core"; a GPU is named instead.
std::string by_whom(const DecodeResult& result) {
  if (result.nvjpeg) return fmt::format("GPU {} ({}) by nvJPEG", result.nvjpeg->device, result.nvjpeg->name);
  std::string text = format_count(result.threads, "thread");
  if (const auto& rate = result.samples_per_second_per_core) text += ", " + format_rounded_count(*rate) + "/s per core";
  return text;
}

std::string what_of_them(const DecodeResult& result) {
  if (result.crop) return fmt::format("random crops to {} pixels", *result.crop);
  return result.scale > 1 ? fmt::format("whole images at 1/{} of a side", result.scale) : std::string("whole images");
}

/// What a reader looks for first: how fast, on what, and what came out of it.
std::string rate_line(const DecodeResult& result) {
  const std::string count = format_rounded_count(result.samples_per_second);
  std::string line = fmt::format("{} {}/s on {}; {} of {:.2f} megapixels", count, count == "1" ? "image" : "images",
                                 by_whom(result), what_of_them(result), result.mix.mean_megapixels);
  if (result.augment) {
    line += fmt::format("; augmenting alone {}/s", format_rounded_count(result.augment->samples_per_second));
  }
  if (result.failures.total > 0) {
    line += fmt::format("; {} of {} cannot be decoded", format_count(result.failures.total),
                        format_count(result.tried(), "image"));
  }
  return line;
}

}  // namespace

std::string render_decode(const DecodeResult& result, bool colour) {
  DecodeResult all = result;
  std::vector<FieldNode> nodes = field_tree([&](FieldVisitor& v) { all.describe(v); });
  tell_steadiness(nodes, result.decode_seconds);
  const auto augment = std::ranges::find(nodes, "augment", &FieldNode::name);
  if (result.augment && augment != nodes.end()) tell_steadiness(augment->children, result.augment->augment_seconds);
  return bold(printable(rate_line(result)), colour) + "\n\n" + text_report(nodes);
}

}  // namespace shardkit
