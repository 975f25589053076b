#include "iobench/loader_text.hpp"

#include <iterator>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "core/units.hpp"

namespace shardkit::apps {
namespace {

/// One line of at most 80 columns.
std::string delivers(const bench::LoaderAdvice& loader, bool can_calibrate, bool is_disturbed) {
  std::string how = loader.calibrated ? "calibrated with --python" : "estimated";
  if (!loader.calibrated && can_calibrate && !is_disturbed) how += "; --python measures it";
  return fmt::format("# about {}{} ({}), {} of /dev/shm\n", bench::sample_rate_text(loader.samples_per_second),
                     is_disturbed ? " on an idle machine" : "", how, format_rounded_size(loader.dev_shm_needed));
}

}  // namespace

std::string reshard_hint(const bench::LoaderAdvice& loader) {
  if (loader.is_uneven) {
    return fmt::format(
        "the shards do not divide by the GPUs, so some GPUs end an epoch earlier, and DDP waits for them for ever. As "
        "many as divide: `{}`",
        loader.reshard);
  }
  if (!loader.shards_needed) return {};
  const std::string shards = format_count(*loader.shards_needed, "shard");
  if (loader.wanted_workers == 0) return fmt::format("the GPUs need {}: `{}`", shards, loader.reshard);
  return fmt::format(
      "{} per GPU {} {}: `{}`",
      loader.wanted_workers == 1 ? "1 loader process" : fmt::format("{} loader processes", loader.wanted_workers),
      loader.wanted_workers == 1 ? "needs" : "need", shards, loader.reshard);
}

std::string short_loader_text(const bench::LoaderAdvice& loader, bool is_disturbed) {
  if (loader.line.empty()) return {};
  return fmt::format("DataLoader  num_workers={}: about {}{}; code with --verbose\n", loader.workers,
                     bench::sample_rate_text(loader.samples_per_second), is_disturbed ? " if idle" : "");
}

std::string loader_text(const bench::LoaderAdvice& loader, bool can_calibrate, bool is_disturbed) {
  std::string out;
  auto to = std::back_inserter(out);
  if (loader.line.empty()) {
    out = "no DataLoader: fewer shards than GPUs, and each GPU needs shards of its own\n";
  } else if (!loader.why_no_code.empty()) {
    fmt::format_to(to, "# DataLoader settings, without code for the dataset: {}\n{}", loader.why_no_code, loader.code);
  } else {
    out = loader.code;
  }
  if (!loader.line.empty()) out += delivers(loader, can_calibrate, is_disturbed);
  return out;
}

}  // namespace shardkit::apps
