#include "dataset/synth/synth.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

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
      dataset::synth);
}

}  // namespace shardkit::apps
