#include "bench/decode/decode.hpp"

namespace shardkit {

void DecodeBenchOptions::describe(FieldVisitor& v) {
  v.field({"PATH", Unit::none, "shards, image files, or folders of either", Role::positional}, paths);
  v.field({"backend", Unit::none, "what decodes: libjpeg-turbo, or nvJPEG on a GPU"}, backend);
  v.field({"threads", Unit::count, "decoding threads; as many as the process may keep cores busy"}, threads);
  v.field({"samples", Unit::count, "images to load, taken evenly"}, samples);
  v.field({"crop", Unit::count, "decode only a random resized crop to this many pixels a side", Role::option, "PIXELS"},
          crop);
  v.field({"scale", Unit::none, "shrink whole images while decoding: 1, 2, 4 or 8 times a side", Role::option, "N"},
          scale);
  v.field({"augment", Unit::none,
           "time augmenting the crops apart: imagenet flips one in two and normalises; crops are of 224 pixels without "
           "--crop"},
          augment);
  v.field({"dtype", Unit::none, "type of the augmented values; with --augment"}, dtype);
  v.field({"layout", Unit::none, "planes first (nchw) or pixels first (nhwc); with --augment"}, layout);
  v.field({"min-seconds", Unit::seconds, "decode, and augment, for at least this long"}, min_seconds);
  v.field({"scaling", Unit::none, "measure 1, 2, 4, ... threads too"}, scaling);
  v.field({"seed", Unit::none, "where the crops lie and which are flipped"}, seed);
  v.field({"batch", Unit::count, "images that nvJPEG is given at once; default: 256"}, batch);
  v.field({"device", Unit::none, "number of the GPU that nvJPEG decodes on; default: 0"}, device);
}

void ScalingRow::describe(FieldVisitor& v) {
  v.field({"threads", Unit::count, "decoding threads"}, threads);
  v.field({"samples_per_second", Unit::per_second, "images over time"}, samples_per_second);
  v.field({"speedup", Unit::none, "against one thread"}, speedup);
  v.field({"efficiency", Unit::ratio, "speedup over threads"}, efficiency_ratio);
}

void DecodeResult::describe(FieldVisitor& v) {
  v.field({"backend", Unit::none, "what decoded"}, backend);
  v.field({"crop", Unit::count, "side of the random resized crop; none: the whole image"}, crop);
  v.field({"scale", Unit::none, "how many times smaller a side was decoded"}, scale);
  v.field({"threads", Unit::count, "decoding threads"}, threads);
  v.field({"images", Unit::count, "images in memory"}, images);
  v.field({"decoded", Unit::count, "images decoded, each at least once where there was time"}, decoded);
  v.field({"decode_seconds", Unit::seconds, "time that took"}, decode_seconds);
  v.field({"cpu_seconds", Unit::seconds, "processor time that took, of the whole process"}, cpu_seconds);
  v.field({"cpu_seconds_per_sample", Unit::none, "that time over the images decoded"}, cpu_seconds_per_sample);
  v.field({"samples_per_second", Unit::per_second, "images over time"}, samples_per_second);
  v.field({"samples_per_second_interval", Unit::per_second,
           "95 % interval of the median over slices of 0.1 s; none of less than 1 s, or where the rate lies outside"},
          samples_per_second_interval);
  v.field(
      {"steady", Unit::none,
       "false when the rate drifted by more than a tenth from start to end; null: less than 1 s, too short to tell"},
      steady);
  v.field({"samples_per_second_per_core", Unit::per_second, "images per second of processor time; of the CPU alone"},
          samples_per_second_per_core);
  v.field({"megapixels_per_second", Unit::per_second, "megapixels of the images, before cropping, over time"},
          megapixels_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "compressed bytes over time"}, bytes_per_second);
  v.field({"mix", Unit::none, "what the images are"}, mix);
  v.field({"samples_used", Unit::none, "which images these are"}, samples_used);
  v.field({"failures", Unit::none, "images that went wrong, by kind"}, failures);
  v.field({"scaling", Unit::none, "the same on fewer threads"}, scaling);
  v.field({"cores_needed", Unit::none, "for one GPU of each published JPEG workload, where the CPU decoded"},
          cores_needed);
  v.field({"augment", Unit::none, "flip, normalise and collate, timed apart; none without --augment"}, augment);
  v.field({"nvjpeg", Unit::none, "what decoded on a GPU, and whether its pixels are right; none on the CPU"}, nvjpeg);
}

}  // namespace shardkit
