#include "dataset/synth/synth.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/command_text.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_synth(const dataset::SynthOptions& options, const dataset::SynthResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{} in {}, {}", format_count(result.images, "image"),
                                format_count(result.classes, "class"), format_size(result.bytes));
  answer.subject = options.target;
  answer.facts = {
      {"kept", cli::count_text(result.images_kept, "image")},
      {"rate", result.images_per_second > 0 ? format_rounded_count(result.images_per_second) + " images/s" : ""}};
  answer.next = {fmt::format("shardctl convert {} SHARDS", shell_word(options.target))};
  return answer;
}

}  // namespace

cli::Command synth_command() {
  return cli::make_command(
      {.name = "synth",
       .summary = "generate photo-like JPEGs that decode like those of ImageNet",
       .description = "Generates DIR/<class>/<class>_<number>.JPEG for tests and benchmarks without real data. Sizes, "
                      "dimensions, subsampling and decode cost follow the distributions of ImageNet. Each image "
                      "depends only on the seed, its class and its number.\n\nThe same command again keeps complete "
                      "images and generates the missing ones. A folder that contains anything else is refused.",
       .examples = {{"shardctl synth /tmp/photos", "1000 images in 10 classes, about 110 MB"},
                    {"shardctl synth /tmp/photos --classes 1000 --per-class 20 --seed 7",
                     "many classes, different images"}},
       .resumable = true},
      dataset::synth, answer_synth);
}

}  // namespace shardkit::apps
