#include "bench/pipeline/samples/shard_samples.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kBlock = 256U << 10U;

/// Cuts images out of a shard that comes by.
class ImageCutter final : public TarHandler {
 public:
  ImageCutter(const InputFile& shard, SampleOutlet& outlet, std::atomic<bool>& warned, Context& context)
      : shard_(shard), outlet_(outlet), warned_(warned), context_(context) {}

  bool entry(const TarEntry& entry) override {
    if (!wanted_ || entry.type != TarType::regular || is_metadata_name(entry.name)) return false;
    const auto name = split_sample_name(entry.name);
    if (!name || !is_image_extension(last_extension(name->extension)) || name->key == key_) return false;
    key_ = name->key;
    if (entry.size > kMostImageBytes) {
      outlet_.pass_over();
      return false;
    }
    image_ = outlet_.buffer(entry.size);
    filled_ = 0;
    return true;
  }
  void content(Bytes piece) override {
    std::memcpy(image_.bytes().data() + filled_, piece.data(), piece.size());
    filled_ += piece.size();
  }
  void content_end() override { wanted_ = outlet_.give(std::move(image_)); }
  void finding(const TarFinding& finding) override {
    if (warned_.exchange(true)) return;
    context_.warn("damaged_shard", fmt::format("'{}' at byte {}: {}; shardctl verify tells more", shard_.path,
                                               finding.offset, finding.text));
  }

  bool wanted() const { return wanted_; }

 private:
  /// "jpg" of "left.jpg", as a member's name may hold several dots.
  static std::string_view last_extension(std::string_view extension) {
    return extension.substr(extension.find_last_of('.') + 1);  // npos + 1 is 0
  }

  const InputFile& shard_;
  SampleOutlet& outlet_;
  std::atomic<bool>& warned_;
  Context& context_;
  std::string key_;  ///< of the sample whose image was passed on last
  SampleBuffer image_;
  std::size_t filled_ = 0;
  bool wanted_ = true;
};

}  // namespace

ShardSamples::ShardSamples(const InputSet& input, const SourceOrder& order, Context& context)
    : order_(order), context_(context), engine_(make_read_engine("pread", {})) {
  std::ranges::copy_if(input.files, std::back_inserter(shards_), &InputFile::is_shard);
  warned_ = std::vector<std::atomic<bool>>(shards_.size());
}

void ShardSamples::begin_epoch(std::uint64_t epoch) {
  turns_.resize(shards_.size());
  std::iota(turns_.begin(), turns_.end(), 0U);
  Prng prng(order_.seed + epoch);
  if (order_.shuffled) shuffle(std::span(turns_), prng);
  next_ = 0;
}

void ShardSamples::read(SampleOutlet& outlet, const std::stop_token& stop) {
  const auto lane = engine_->make_lane(kBlock);
  for (bool wanted = true; wanted && !stop.stop_requested();) {
    const std::size_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    if (turn >= turns_.size()) return;
    read_shard(turns_[turn], outlet, *lane, stop, wanted);
  }
}

void ShardSamples::read_shard(std::uint32_t index, SampleOutlet& outlet, ReadLane& lane, const std::stop_token& stop,
                              bool& wanted) {
  const InputFile& shard = shards_[index];
  const auto file = engine_->open(shard.path);
  if (file->size() < shard.bytes) {
    throw Error(ErrorCode::io,
                fmt::format("'{}' has {} bytes and had {} when it was listed: it changed meanwhile", shard.path,
                            file->size(), shard.bytes),
                shard.path, file->size());
  }
  ImageCutter cutter(shard, outlet, warned_[index], context_);
  TarFeed feed(cutter, shard.bytes);
  for (std::uint64_t offset = 0; offset < shard.bytes && cutter.wanted() && !stop.stop_requested();) {
    lane.submit({file.get(), offset, std::min(kBlock, shard.bytes - offset), 0});
    const Bytes block = lane.wait().bytes;
    feed.feed(block);
    offset += block.size();
  }
  wanted = cutter.wanted();
  if (wanted && !stop.stop_requested()) feed.finish();
}

}  // namespace shardkit
