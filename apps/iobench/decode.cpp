#include "bench/decode/decode.hpp"

#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

/// "2 threads, 640/s per core"; a GPU is named instead.
std::string by_whom(const bench::DecodeResult& result) {
  if (result.nvjpeg) return fmt::format("GPU {} ({}) by nvJPEG", result.nvjpeg->device, result.nvjpeg->name);
  std::string text = format_count(result.threads, "thread");
  if (const auto& rate = result.samples_per_second_per_core) text += ", " + format_rounded_count(*rate) + "/s per core";
  return text;
}

std::string what_of_them(const bench::DecodeResult& result) {
  if (result.crop) return fmt::format("random crops to {} pixels", *result.crop);
  return "whole images";
}

/// The most important line: how fast, on what, and which images.
std::string rate_line(const bench::DecodeResult& result) {
  const std::string count = format_rounded_count(result.samples_per_second);
  std::string line = fmt::format("{} {}/s on {}; {} of {:.2f} megapixels", count, count == "1" ? "image" : "images",
                                 by_whom(result), what_of_them(result), result.mix.mean_megapixels);
  if (result.augment) {
    line += fmt::format("; augmenting alone {}/s", format_rounded_count(result.augment->samples_per_second));
  }
  if (result.failures.total > 0) {
    line += fmt::format("; {} of {} left out: {}", format_count(result.failures.total),
                        format_count(result.tried(), "image"), bench::kinds_text(result.failures));
  }
  return line;
}

}  // namespace

cli::Answer answer_decode(const bench::DecodeResult& result) {
  cli::Answer answer{.headline = rate_line(result)};
  answer.facts = {
      {"decoded", fmt::format("{} of {}, {} of CPU each", format_count(result.tried() - result.failures.total),
                              format_count(result.images, "image"), format_duration(result.cpu_seconds_per_sample))},
      {"rate", fmt::format("{} megapixels/s, {} compressed", format_rounded_count(result.megapixels_per_second),
                           format_rate(result.bytes_per_second))},
      {"steady", cli::steady_text(result.steady, result.decode_seconds)}};
  if (const auto& interval = result.samples_per_second_interval) {
    answer.facts.emplace_back("interval", fmt::format("{} to {} images/s (95 %)", format_rounded_count(interval->low),
                                                      format_rounded_count(interval->high)));
  }
  if (result.augment) {
    answer.facts.emplace_back("augment",
                              fmt::format("{} of tensors, steady: {}", format_rate(result.augment->bytes_per_second),
                                          cli::steady_text(result.augment->steady, result.augment->augment_seconds)));
  }
  if (result.nvjpeg) answer.body += cli::table_text("decoded_by", result.nvjpeg->paths);
  answer.body += cli::table_text("scaling", result.scaling);
  answer.body += cli::table_text("cores_needed", result.cores_needed);
  return answer;
}

cli::Command decode_command() {
  return cli::make_command<bench::DecodeBenchOptions, bench::DecodeResult>(
      {.name = "decode",
       .summary = "measure how many images per second the CPU or a GPU decodes",
       .description =
           "Loads images from shards or folders into memory, then decodes them repeatedly: whole images, or only the "
           "random resized crop that training uses (--crop 224). A crop is faster because the rest of the image is "
           "skipped. PNG and WebP are always decoded as a whole. Damaged files and other formats are counted by kind, "
           "and the time they take counts towards the rate.\n\nWith --augment imagenet, also measures flipping, "
           "normalizing and writing into a batch "
           "tensor as a separate stage. Reports how many cores one GPU of each published workload needs for each "
           "stage.\n\nWith --backend nvjpeg, a GPU decodes whole images in batches, with its hardware decoders if it "
           "has them, else with its hybrid engines. Meanwhile --threads CPU threads decode the images that nvJPEG does "
           "not support. The share of each engine is reported. First, pixels are compared with those of libjpeg-turbo. "
           "If they are wrong, the command fails and reports no rate. Exit code 4 if there is no GPU, driver or "
           "nvJPEG, with one line that names what is missing.",
       .examples = {{"iobench decode shards/train", "whole images on all available CPUs"},
                    {"iobench decode shards/train --crop 224 --scaling", "crops on 1, 2, 4, ... threads"},
                    {"iobench decode shards/train --augment imagenet --dtype f16", "also the cost of normalizing"},
                    {"iobench decode shards/train --backend nvjpeg --batch 256", "on a GPU, helped by the CPU"}},
       .main = {"backend", "threads", "crop", "augment", "dtype", "samples", "scaling"},
       .labels = true},
      bench::decode, answer_decode);
}

}  // namespace shardkit::apps
