#include "bench/run/remedy.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit {
namespace {

/// Images far larger than what is made of them: a crop comes from a quarter of an image's area and more.
bool is_oversized(const MeasuredNode& node) {
  const double wanted = static_cast<double>(node.crop * node.crop) / 1e6;
  constexpr double kFarLarger = 16;
  return node.crop > 0 && node.megapixels > kFarLarger * wanted;
}

/// "7.1 more cores (9.1 in all)", and what would make fewer of them needed.
std::string decode_remedy(const MeasuredNode& node, double target, double rate) {
  const double used = std::min(node.threads, node.cores);
  const double needed = used * target / rate;
  std::string text = fmt::format("{:.1f} more cores like these would close it ({:.1f} in all), or decoding on the GPU",
                                 needed - used, needed);
  if (node.cpu_limit && *node.cpu_limit < node.threads + 1) {
    text += fmt::format("; the control group's CPU limit of {:.2f} cuts in: raise it", *node.cpu_limit);
  }
  if (node.threads < node.cores) {
    text += fmt::format("; --threads {:.0f} leaves cores idle", node.threads);
  }
  if (is_oversized(node)) {
    text += fmt::format(
        "; images of {:.1f} megapixels are decoded for crops of {}: `shardctl convert --resize` makes "
        "them smaller once",
        node.megapixels, node.crop);
  }
  return text;
}

/// "1.2 GB/s more": what is missing from storage.
std::string read_remedy(const MeasuredNode& node, const JobRequirement& requirement, double target) {
  const double missing = target * sample_bytes(node, requirement) - node.read_bytes_per_second;
  std::string text = fmt::format(
      "{} more from storage would close it ({} in all): more readers, faster storage, or stage the shards on a local "
      "disk",
      format_rate(std::max(missing, 0.0)), format_rate(node.read_bytes_per_second + missing));
  if (node.shards_gain_ratio) {
    text += fmt::format(
        "; shards (`shardctl convert`) spare each file's opening and closing: at least {:.1f} times as "
        "fast with as many reads under way",
        *node.shards_gain_ratio);
  }
  return text;
}

/// "4.00 GB/s more to each GPU": what is missing from the links.
std::string transfer_remedy(const MeasuredNode& node, const JobRequirement& requirement, const Judgement& judgement,
                            double target) {
  const double measured = *node.transfer_bytes_per_second;
  const double needed = measured * target / judgement.supply_per_second;
  std::string text = fmt::format("{} more to each GPU would close it ({} in all): ", format_rate(needed - measured),
                                 format_rate(needed));
  if (decodes(node, requirement)) {
    text += "8-bit values over the bus, normalised on the GPU, are a quarter of float32's (--dtype u8); ";
  }
  return text + "a link with more lanes or of a newer generation (`iobench transfer` says what this one gives)";
}

}  // namespace

std::string remedy(const MeasuredNode& node, const JobRequirement& requirement, const Judgement& judgement) {
  const double target = samples_per_second(requirement.job) * requirement.min_au;
  if (judgement.limiting_stage == stage::kRead) return read_remedy(node, requirement, target);
  if (judgement.limiting_stage == stage::kTransfer) return transfer_remedy(node, requirement, judgement, target);
  return decode_remedy(node, target, judgement.supply_per_second);
}

}  // namespace shardkit
