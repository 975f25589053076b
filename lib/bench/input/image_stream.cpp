#include "bench/input/image_stream.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bench/input/shard_blocks.hpp"
#include "catalog/shard_faults.hpp"
#include "catalog/unpacked_stream.hpp"
#include "formats/image_names.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit::bench {
namespace {

/// Cuts images out of a shard that is read.
class ImageCutter final : public formats::TarHandler {
 public:
  ImageCutter(const InputFile& shard, SampleOutlet& outlet, std::atomic<bool>& warned, Context& context)
      : shard_(shard), outlet_(outlet), warned_(warned), context_(context) {}

  bool entry(const formats::TarEntry& entry) override {
    if (!wanted_ || entry.type != formats::TarType::regular || formats::is_metadata_name(entry.name)) return false;
    const auto name = formats::split_sample_name(entry.name);
    if (!name || !formats::is_image_extension(last_extension(name->extension)) || name->key == key_) return false;
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
  void finding(const formats::TarFinding& finding) override {
    if (!warned_.exchange(true)) catalog::warn_of_damage(shard_.path, finding, context_);
  }

  bool wanted() const { return wanted_; }

 private:
  /// "jpg" of "left.jpg", because a member's name may contain several dots.
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

bool stream_images(const InputSet& input, const InputFile& shard, SampleOutlet& outlet, std::atomic<bool>& warned,
                   const std::stop_token& stop, Context& context) {
  ShardBlocks blocks(input, shard);
  const auto read_packed = [&] {
    outlet.unpacks(false);
    const Bytes block = blocks.next();
    outlet.unpacks(true);
    return block;
  };
  std::optional<catalog::UnpackedStream> unpacked;
  if (is_compressed(shard)) unpacked.emplace(read_packed, shard.path);
  const auto next = [&] {
    if (!unpacked) return blocks.next();
    outlet.unpacks(true);
    const Bytes piece = unpacked->next();
    outlet.unpacks(false);
    return piece;
  };
  ImageCutter cutter(shard, outlet, warned, context);
  formats::TarFeed feed(cutter, unpacked ? formats::kUnknownBytes : shard.bytes);
  const auto goes_on = [&] { return cutter.wanted() && !stop.stop_requested(); };
  while (goes_on()) {
    const Bytes piece = next();
    if (piece.empty()) break;
    feed.feed(piece);
  }
  if (goes_on()) feed.finish();
  return cutter.wanted();
}

}  // namespace shardkit::bench
