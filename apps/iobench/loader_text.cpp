#include "iobench/loader_text.hpp"

#include <iterator>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "cli/field_text.hpp"
#include "core/units.hpp"

namespace shardkit::apps {
namespace {

std::string delivers(const bench::LoaderAdvice& loader, bool can_calibrate, bool is_disturbed) {
  std::string how = loader.calibrated ? "calibrated with --python" : "estimated";
  if (!loader.calibrated) how += can_calibrate ? "; --python measures it" : "; `iobench run --python` measures it";
  return fmt::format("# about {}{} ({}),{}{} of /dev/shm\n", bench::sample_rate_text(loader.samples_per_second),
                     is_disturbed ? " on an idle machine" : "", how, is_disturbed ? "\n# " : " ",
                     format_rounded_size(loader.dev_shm_needed));
}

}  // namespace

std::string loader_text(const bench::LoaderAdvice& loader, bool can_calibrate, bool is_disturbed) {
  std::string out;
  auto to = std::back_inserter(out);
  if (loader.line.empty()) {
    out = "no DataLoader: there are fewer shards than GPUs, and each GPU needs shards of its own\n";
  } else if (!loader.why_no_code.empty()) {
    fmt::format_to(to, "# DataLoader settings, without code for the dataset: {}\n{}", loader.why_no_code, loader.code);
  } else {
    out = loader.code;
  }
  if (!loader.line.empty()) out += delivers(loader, can_calibrate, is_disturbed);
  if (loader.is_uneven) {
    fmt::format_to(to,
                   "hint: the shards do not divide by the GPUs, so some GPUs end an epoch earlier, and\n"
                   "DDP waits for them for ever. As many as divide: `{}`\n",
                   cli::printable(loader.reshard));
  } else if (loader.shards_needed && loader.wanted_workers == 0) {
    fmt::format_to(to, "hint: the GPUs need {}: `{}`\n", format_count(*loader.shards_needed, "shard"),
                   cli::printable(loader.reshard));
  } else if (loader.shards_needed) {
    fmt::format_to(
        to, "hint: {} per GPU {} {}: `{}`\n",
        loader.wanted_workers == 1 ? "1 loader process" : fmt::format("{} loader processes", loader.wanted_workers),
        loader.wanted_workers == 1 ? "needs" : "need", format_count(*loader.shards_needed, "shard"),
        cli::printable(loader.reshard));
  }
  return out;
}

}  // namespace shardkit::apps
