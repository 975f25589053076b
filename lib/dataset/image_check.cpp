#include "dataset/image_check.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "image/jpeg_header.hpp"
#include "image/probe.hpp"

namespace shardkit {
namespace {

/// Larger ones are not taken into memory: no decoder would accept their pixels.
constexpr std::uint64_t kLargestImage = 512U << 20U;

/// "seg.png" is a PNG.
std::string_view last_extension(std::string_view extension) { return extension.substr(extension.rfind('.') + 1); }

ProblemCode code_of_header(std::string_view code) {
  if (code == "truncated") return ProblemCode::image_truncated;
  if (code == "zero_pixels") return ProblemCode::image_zero_pixels;
  if (code == "other_format") return ProblemCode::image_other_format;
  if (code == "not_an_image") return ProblemCode::image_not_an_image;
  return ProblemCode::image_corrupt;
}

ProblemCode code_of(DecodeFailure failure) {
  switch (failure) {
    case DecodeFailure::warned:
      return ProblemCode::image_damaged;
    case DecodeFailure::truncated:
      return ProblemCode::image_truncated;
    case DecodeFailure::not_jpeg:
      return ProblemCode::image_other_format;
    case DecodeFailure::zero_pixels:
      return ProblemCode::image_zero_pixels;
    case DecodeFailure::too_large:
      return ProblemCode::image_too_large;
    case DecodeFailure::too_many_scans:
      return ProblemCode::image_too_many_scans;
    case DecodeFailure::none:
    case DecodeFailure::corrupt:
      break;
  }
  return ProblemCode::image_corrupt;
}

}  // namespace

std::optional<ImageFault> image_fault(JpegDecoder& decoder, Bytes image, std::string_view extension) {
  if (image.empty()) return std::nullopt;
  const std::string_view kind = last_extension(extension);
  if (const auto problem = header_problem(image, kind)) return ImageFault{code_of_header(problem->code), problem->text};
  if (sniff_image(image) != ImageKind::jpeg) return std::nullopt;
  const Decoded decoded = decoder.decode(image);
  if (decoded.failure != DecodeFailure::none) {
    return ImageFault{code_of(decoded.failure), std::string(decoded.message)};
  }
  if (read_jpeg_header(image).header.is_cmyk()) return ImageFault{ProblemCode::image_cmyk, {}};
  return std::nullopt;
}

class ImageCheck::Collector final : public MemberWatcher {
 public:
  Collector(ImageCheck& owner, std::size_t shard) : owner_(owner), shard_(shard) {}

  bool begin(const TarEntry& entry, const SampleName& name) override {
    const std::string_view extension = last_extension(name.extension);
    if (!is_image_extension(extension)) return false;
    image_ = {{shard_, entry.data_offset, entry.name}, std::string(extension), {}};
    if (entry.size > kLargestImage) {
      owner_.add(image_.place, ImageFault{ProblemCode::image_too_large, format_size(entry.size)});
      return false;
    }
    image_.bytes.reserve(entry.size);
    return true;
  }
  void piece(Bytes bytes) override { image_.bytes.insert(image_.bytes.end(), bytes.begin(), bytes.end()); }
  void end() override {
    const std::uint64_t cost = image_.bytes.size();
    if (owner_.queue_.push(std::move(image_), cost, owner_.stop_)) return;
    throw Error(ErrorCode::cancelled, "stopped while images were checked");
  }

 private:
  ImageCheck& owner_;
  std::size_t shard_;
  Image image_;
};

std::unique_ptr<MemberWatcher> ImageCheck::collector(std::size_t shard) {
  return std::make_unique<Collector>(*this, shard);
}

void ImageCheck::decode(const std::stop_token& stop) {
  JpegDecoder decoder;
  while (const std::optional<Image> image = queue_.pop(stop)) {
    add(image->place, image_fault(decoder, image->bytes, image->extension));
  }
}

void ImageCheck::add(const Place& place, std::optional<ImageFault> fault) {
  const std::scoped_lock lock(mutex_);
  ShardFindings& shard = shards_[place.shard];
  ++shard.images;
  if (fault) shard.found.push_back({place, std::move(*fault)});
}

std::uint64_t ImageCheck::images() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t sum = 0;
  for (const ShardFindings& shard : shards_) sum += shard.images;
  return sum;
}

void ImageCheck::note(std::size_t shard, ProblemLog& log) {
  const std::scoped_lock lock(mutex_);
  std::vector<Found> found = std::move(shards_[shard].found);
  std::ranges::sort(found, {}, [](const Found& item) { return item.place.offset; });
  for (const Found& item : found) log.add(item.fault.code, item.place.offset, item.place.name, item.fault.text);
}

}  // namespace shardkit
