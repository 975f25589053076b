#include "dataset/synth/synth.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/command_text.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_synth(const dataset::SynthOptions& options, const dataset::SynthResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{} in {} classes, {}", format_count(result.images, "image"),
                                format_count(result.classes), format_size(result.bytes));
  answer.place = options.target;
  answer.facts = {
      {"kept", result.images_kept > 0 ? format_count(result.images_kept, "image") : ""},
      {"rate", result.images_per_second > 0 ? format_rounded_count(result.images_per_second) + " images/s" : ""}};
  answer.next = {fmt::format("shardctl convert {} SHARDS", shell_word(options.target))};
  return answer;
}

}  // namespace

cli::Command synth_command() {
  return cli::make_command(
      {.name = "synth",
       .summary = "make a tree of photo-like JPEGs that are as large and as costly to decode as ImageNet's",
       .description = "Makes DIR/<class>/<class>_<number>.JPEG for trials and benchmarks where no data is at "
                      "hand. Sizes, sides, subsampling and decode cost follow ImageNet's distributions. Each "
                      "image depends on the seed, its class and its number alone.\n\nThe same call again keeps "
                      "what is whole and makes the rest. A folder that holds anything else is refused.",
       .examples = {{"shardctl synth /tmp/photos", "1000 images in 10 classes, about 110 MB"},
                    {"shardctl synth /tmp/photos --classes 1000 --per-class 20 --seed 7",
                     "many classes, other images"}},
       .resumable = true},
      dataset::synth, answer_synth);
}

}  // namespace shardkit::apps
