#include "bench/pipeline/sample_source.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>

#include <fmt/format.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "core/units.hpp"

namespace shardkit::bench {

SampleFlow::SampleFlow(const FlowLimits& limits, unsigned readers)
    : limits_(limits), queue_(limits.queue_bytes), readers_(readers) {}

bool SampleFlow::put(SampleBuffer image, const std::stop_token& stop) {
  constexpr std::uint64_t kLeastCost = 256;  // an entry of the queue needs memory too
  if (limits_.deadline && std::chrono::steady_clock::now() >= *limits_.deadline) return false;
  if (limits_.samples && claimed_.fetch_add(1, std::memory_order_relaxed) >= *limits_.samples) return false;
  samples_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(image.size(), std::memory_order_relaxed);
  const std::uint64_t cost = std::max<std::uint64_t>(image.capacity(), kLeastCost);
  return queue_.push(std::move(image), cost, stop);
}

void SampleFlow::reader_ended() {
  if (readers_.fetch_sub(1) == 1) queue_.close();
}

namespace {

/// The shards and images of a set.
std::vector<InputFile> images_of(const InputSet& input) {
  std::vector<InputFile> images;
  std::ranges::copy_if(input.files, std::back_inserter(images), [](const InputFile& file) {
    return file.is_shard || catalog::is_image_name(file_name(file.path));
  });
  if (!images.empty()) return images;
  const std::string& first = input.files.front().path;
  throw Error(ErrorCode::not_found, At{first}, "none of {} is an image by its name, the first is '{}'",
              format_count(input.files.size(), "file"), first);
}

/// Shards, each streamed from start to end by one reader, and image files, as a map-style data set with a random
/// sampler reads them. Each reader takes the next one. A fault of a shard is one warning; its readable part is read.
class SetImages final : public ImageSource {
 public:
  SetImages(const InputSet& input, Context& context)
      : files_(images_of(input)),
        opener_{{}, 0, {}, input.inputs},
        has_shards_(std::ranges::any_of(files_, &InputFile::is_shard)),
        context_(context),
        warned_(files_.size()) {}

  SourceForm form() const override { return has_shards_ ? SourceForm::shards : SourceForm::files; }
  std::size_t most_readers() const override { return files_.size(); }
  void begin_epoch(std::uint64_t epoch) override {
    turns_.resize(files_.size());
    std::iota(turns_.begin(), turns_.end(), 0U);
    Prng prng(epoch);
    if (!has_shards_) shuffle(std::span(turns_), prng);
    next_ = 0;
  }

  void read(SampleOutlet& outlet, const std::stop_token& stop) override {
    while (!stop.stop_requested()) {
      const std::size_t turn = next_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= turns_.size()) return;
      const std::uint32_t index = turns_[turn];
      const InputFile& file = files_[index];
      const bool wanted = file.is_shard ? stream_images(opener_, file, outlet, warned_[index], stop, context_)
                                        : read_file(file, outlet);
      if (!wanted) return;
    }
  }

 private:
  /// False when no more is wanted.
  bool read_file(const InputFile& file, SampleOutlet& outlet) const {
    const auto source = open_file(opener_, file.path);
    const std::uint64_t bytes = source->size();
    if (bytes > kMostImageBytes) return outlet.pass_over(), true;
    SampleBuffer image = outlet.buffer(bytes);
    if (const std::size_t got = source->read_at(0, image.bytes()); got < bytes) {
      throw Error(ErrorCode::io,
                  fmt::format("'{}' ended after {} of {} bytes: it changed while being read", file.path, got, bytes),
                  file.path, got);
    }
    return outlet.give(std::move(image));
  }

  const std::vector<InputFile> files_;
  const InputSet opener_;  ///< without files
  const bool has_shards_;
  Context& context_;
  std::vector<std::atomic<bool>> warned_;  ///< by file
  std::vector<std::uint32_t> turns_;
  std::atomic<std::size_t> next_{0};
};

class NullSource final : public ImageSource {
 public:
  SourceForm form() const override { return SourceForm::null; }
  std::size_t most_readers() const override { return std::numeric_limits<std::size_t>::max(); }
  void begin_epoch(std::uint64_t /*epoch*/) override {}
  void read(SampleOutlet& outlet, const std::stop_token& stop) override {
    while (!stop.stop_requested() && outlet.give(outlet.buffer(0))) {
    }
  }
};

}  // namespace

std::unique_ptr<ImageSource> make_source(const InputSet& input, Context& context) {
  return std::make_unique<SetImages>(input, context);
}

std::unique_ptr<ImageSource> null_source() { return std::make_unique<NullSource>(); }

}  // namespace shardkit::bench
