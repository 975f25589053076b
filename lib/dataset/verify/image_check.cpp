#include "dataset/verify/image_check.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit::dataset {

class ImageCheck::Collector final : public MemberWatcher {
 public:
  Collector(ImageCheck& owner, std::size_t shard) : owner_(owner), shard_(shard) {}

  bool begin(const formats::TarEntry& entry, const formats::SampleName& name) override {
    if (!is_image_member(name.extension)) return false;
    image_ = {{shard_, entry.data_offset, entry.name}, std::string(name.extension), {}};
    if (entry.size > kLargestImage) {
      owner_.add(std::move(image_.place), ImageFault{ProblemCode::image_too_large, format_size(entry.size)});
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
  image::JpegDecoder decoder;
  while (std::optional<Image> image = queue_.pop(stop)) {
    std::optional<ImageFault> fault = image_fault(decoder, image->bytes, image->extension);
    add(std::move(image->place), std::move(fault));
  }
}

void ImageCheck::add(Place&& place, std::optional<ImageFault> fault) {
  const std::scoped_lock lock(mutex_);
  ShardFindings& shard = shards_[place.shard];
  ++shard.images;
  if (!fault) return;
  CodeFindings& code = shard.by_code[fault->code];
  ++code.count;
  code.first.emplace(place.offset, Found{std::move(place.name), std::move(fault->text)});
  if (code.first.size() > ProblemLog::most_listed(fault->code)) code.first.erase(std::prev(code.first.end()));
}

std::uint64_t ImageCheck::images() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t sum = 0;
  for (const ShardFindings& shard : shards_) sum += shard.images;
  return sum;
}

void ImageCheck::note(std::size_t shard, ProblemLog& log) {
  const std::scoped_lock lock(mutex_);
  std::multimap<std::uint64_t, std::pair<ProblemCode, const Found*>> in_order;
  for (const auto& [code, findings] : shards_[shard].by_code) {
    for (const auto& [offset, found] : findings.first) in_order.emplace(offset, std::pair(code, &found));
  }
  for (const auto& [offset, item] : in_order) log.add(item.first, offset, item.second->name, item.second->text);
  for (const auto& [code, findings] : shards_[shard].by_code) {
    const std::uint64_t unlisted = findings.count - findings.first.size();
    if (unlisted > 0) log.add(code, std::nullopt, "", {}, unlisted);
  }
  shards_[shard] = {};
}

}  // namespace shardkit::dataset
