#include "bench/decode/decode_options.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kMostThreads = 4096;
constexpr std::uint64_t kMostBatch = 65536;

void check(bool fine, const std::string& text) {
  if (!fine) throw Error(ErrorCode::usage, text);
}

/// Options of what augmenting makes.
void check_tensor(const DecodeBenchOptions& options) {
  const DecodeBenchOptions usual;
  check(options.dtype == usual.dtype,
        "--dtype: decoding alone gives 8-bit values; add --augment imagenet, which makes others of them");
  check(options.layout == usual.layout,
        "--layout: decoding alone gives pixels one after the other; add --augment imagenet, which lays them out");
}

/// Options that only one of the backends has.
void check_backend(const DecodeBenchOptions& options) {
  if (options.backend == DecodeBackend::cpu) {
    check(!options.batch, "--batch: only nvJPEG takes batches; add --backend nvjpeg, or leave it out");
    check(!options.device, "--device: only nvJPEG decodes on a GPU; add --backend nvjpeg, or leave it out");
    return;
  }
  constexpr const char* kWhole = "{}: nvJPEG decodes whole images here; leave it out, or measure it with --backend cpu";
  check(!options.crop, fmt::format(fmt::runtime(kWhole), "--crop"));
  check(options.scale == 1, fmt::format(fmt::runtime(kWhole), "--scale"));
  check(options.augment == Augmentation::none, fmt::format(fmt::runtime(kWhole), "--augment"));
  check(!options.scaling,
        "--scaling: threads of the CPU do not set nvJPEG's pace; leave it out, or try --threads 1, 2, 4, ... yourself");
  const auto batch = options.batch.value_or(1);
  check(batch > 0 && batch <= kMostBatch, fmt::format("--batch: expected 1 to {}", kMostBatch));
}

}  // namespace

std::uint64_t decode_threads(const DecodeBenchOptions& options) { return options.threads.value_or(usable_threads()); }

void check_decode_options(const DecodeBenchOptions& options, std::uint64_t threads) {
  check(threads > 0 && threads <= kMostThreads, fmt::format("--threads: expected 1 to {}", kMostThreads));
  check(options.samples > 0, "--samples: expected at least 1");
  check(options.min_seconds >= 0 && options.min_seconds <= 86400, "--min-seconds: expected up to a day");
  const auto crop = options.crop.value_or(1);
  check(crop > 0 && crop <= kMostCrop, fmt::format("--crop: expected 1 to {} pixels", kMostCrop));
  const auto scale = options.scale;
  check(scale == 1 || scale == 2 || scale == 4 || scale == 8, "--scale: expected 1, 2, 4 or 8");
  const bool crops = options.crop || options.augment != Augmentation::none;
  check(scale == 1 || !crops, "--scale: crops are decoded at full size; leave out --crop and --augment");
  if (options.augment == Augmentation::none) check_tensor(options);
  check_backend(options);
}

}  // namespace shardkit
