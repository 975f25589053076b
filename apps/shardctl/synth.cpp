#include "dataset/synth/synth.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command synth_command() {
  return cli::make_command(
      {.name = "synth",
       .summary = "generate photo-like JPEGs that are as large and as costly to decode as those of ImageNet",
       .description = "Generates DIR/<class>/<class>_<number>.JPEG for tests and benchmarks without real data. Sizes, "
                      "dimensions, subsampling and decode cost follow the distributions of ImageNet. Each image "
                      "depends only on the seed, its class and its number.\n\nThe same command again keeps complete "
                      "images and generates the missing ones. A folder that contains anything else is refused.",
       .examples = {{"shardctl synth /tmp/photos", "1000 images in 10 classes, about 110 MB"},
                    {"shardctl synth /tmp/photos --classes 1000 --per-class 20 --seed 7",
                     "many classes, different images"}},
       .resumable = true},
      dataset::synth);
}

}  // namespace shardkit::apps
