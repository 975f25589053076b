#include "dataset/cat/cat.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_cat(const dataset::CatOptions&, const dataset::CatResult& result) {
  return {.headline = fmt::format("{}, {}", result.name, format_size(result.bytes)), .subject = result.shard};
}

}  // namespace

cli::Command cat_command() {
  return cli::make_command<dataset::CatOptions, dataset::CatResult>(
      {.name = "cat",
       .summary = "write one member of a shard to standard output",
       .description = "Finds a sample by its key and writes the content of one member. Uses shard indexes if they "
                      "exist, otherwise reads tar headers. For a sample with one member besides its label, KEY is "
                      "enough. Otherwise give KEY.EXT.\n\n--json FILE reports where the bytes were found. --json - is "
                      "not allowed because standard output is used for the content.",
       .examples = {{"shardctl cat shards/train n01440764/n01440764_10026 > fish.jpg", "the image"},
                    {"shardctl cat shards/train n01440764/n01440764_10026.cls", "its label"}},
       .streams = true},
      dataset::cat, answer_cat);
}

}  // namespace shardkit::apps
