#include "bench/pipeline/samples/file_samples.hpp"

#include <numeric>
#include <span>

#include <fmt/format.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "core/units.hpp"
#include "io/file.hpp"

namespace shardkit {

FileSamples::FileSamples(const InputSet& input, const SourceOrder& order) : seed_(order.seed) {
  for (const InputFile& file : input.files) {
    if (is_image_name(file.path)) paths_.push_back(file.path);
  }
  if (!paths_.empty()) return;
  const std::string& first = input.files.front().path;
  throw Error(ErrorCode::not_found,
              fmt::format("none of {} is an image by its name, the first is '{}'",
                          format_count(input.files.size(), "file"), first),
              first);
}

void FileSamples::begin_epoch(std::uint64_t epoch) {
  order_.resize(paths_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  Prng prng(seed_ + epoch);
  shuffle(std::span(order_), prng);
  next_ = 0;
}

void FileSamples::read(SampleOutlet& outlet, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const std::size_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    if (turn >= order_.size()) return;
    const std::string& path = paths_[order_[turn]];
    const File file = File::open_read(path);
    const std::uint64_t bytes = file.size();
    if (bytes > kMostImageBytes) {
      outlet.pass_over();
      continue;
    }
    SampleBuffer image = outlet.buffer(bytes);
    if (const std::size_t got = file.read_at(0, image.bytes()); got < bytes) {
      throw Error(ErrorCode::io,
                  fmt::format("'{}' ended after {} of {} bytes: it changed while it was read", path, got, bytes), path,
                  got);
    }
    if (!outlet.give(std::move(image))) return;
  }
}

}  // namespace shardkit
