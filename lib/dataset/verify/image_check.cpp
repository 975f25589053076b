#include "dataset/verify/image_check.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "image/pixel_check.hpp"

using namespace std::string_view_literals;

namespace shardkit::dataset {

bool ImageFinder::begin(const formats::TarEntry& entry, const formats::SampleName& name) {
  entry_ = entry;
  extension_ = name.extension;
  bytes_.clear();
  decided_ = wanted_ = is_image_member(extension_, {});
  if (entry.size <= kLargestImage) return true;
  if (wanted_) too_large();
  return false;
}

void ImageFinder::piece(Bytes bytes) {
  const bool whole = bytes_.size() + bytes.size() == entry_.size;
  if (bytes_.empty()) decide(bytes, whole);
  if (decided_ && !wanted_) return;
  if (bytes_.empty() && whole) return image(bytes);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  decide(bytes_, whole);
  if (wanted_ && whole) image(bytes_);
}

/// Whether it is an image, as soon as there are enough bytes.
void ImageFinder::decide(Bytes head, bool whole) {
  if (decided_ || (!whole && head.size() < image::kSniffedBytes)) return;
  decided_ = true;
  wanted_ = is_image_member(extension_, head);
}

void ImageFinder::end() {
  if (!wanted_) return other();
  if (entry_.size == 0) image({});
}

class ImageCheck::Collector final : public ImageFinder {
 public:
  Collector(ImageCheck& owner, std::size_t shard) : owner_(owner), shard_(shard) {}

 private:
  Position position() const { return {shard_, entry().data_offset, entry().name}; }
  void too_large() override {
    owner_.add(position(), ImageFault{ProblemCode::image_too_large, format_size(entry().size)});
  }
  void image(Bytes bytes) override {
    Image image{position(), extension(), {bytes.begin(), bytes.end()}};
    if (owner_.queue_.push(std::move(image), bytes.size(), owner_.stop_)) return;
    throw Error(ErrorCode::cancelled, "interrupted while images were checked");
  }
  void other() override { owner_.count_other(extension()); }

  ImageCheck& owner_;
  std::size_t shard_;
};

std::unique_ptr<MemberWatcher> ImageCheck::collector(std::size_t shard) {
  return std::make_unique<Collector>(*this, shard);
}

void ImageCheck::decode(const std::stop_token& stop) {
  image::PixelChecker checker;
  while (std::optional<Image> image = queue_.pop(stop)) {
    std::optional<ImageFault> fault = image_fault(checker, image->bytes, image->extension);
    add(std::move(image->position), std::move(fault));
    const image::ImageKind kind = image::sniff_image(image->bytes);
    if (kind == image::ImageKind::unknown || image::has_decoder(kind)) continue;
    const std::scoped_lock lock(mutex_);
    ++not_decoded_[std::string(enum_name(kind))];
  }
}

/// Images by their names whose content is not looked at.
void ImageCheck::count_other(std::string_view extension) {
  constexpr std::array kKinds{"svg"sv, "exr"sv};
  const std::string last = lower_case(extension.substr(extension.rfind('.') + 1));
  if (std::ranges::find(kKinds, last) == kKinds.end()) return;
  const std::scoped_lock lock(mutex_);
  ++images_;
  ++not_decoded_["." + last];
}

std::uint64_t ImageCheck::not_decoded() const {
  std::uint64_t sum = 0;
  for (const auto& [kind, count] : not_decoded_) sum += count;
  return sum;
}

std::string ImageCheck::kinds_not_decoded() const {
  std::string text;
  for (const auto& [kind, count] : not_decoded_) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, format_count(count));
  }
  return text;
}

void ImageCheck::note(std::size_t shard, ProblemLog& log) {
  const std::scoped_lock lock(mutex_);
  std::multimap<std::uint64_t, std::pair<ProblemCode, const Found*>> in_order;
  for (const auto& [code, findings] : shards_[shard]) {
    for (const auto& [offset, found] : findings.first) in_order.emplace(offset, std::pair(code, &found));
  }
  for (const auto& [offset, item] : in_order) log.add(item.first, offset, item.second->name, item.second->text);
  for (const auto& [code, findings] : shards_[shard]) {
    const std::uint64_t unlisted = findings.count - findings.first.size();
    if (unlisted > 0) log.add(code, std::nullopt, "", {}, unlisted);
  }
  shards_[shard] = {};
}

void ImageCheck::add(Position&& position, std::optional<ImageFault> fault) {
  const std::scoped_lock lock(mutex_);
  ++images_;
  if (!fault) return;
  CodeFindings& code = shards_[position.shard][fault->code];
  ++code.count;
  code.first.emplace(position.offset, Found{std::move(position.name), std::move(fault->text)});
  if (code.first.size() > ProblemLog::most_listed(fault->code)) code.first.erase(std::prev(code.first.end()));
}

}  // namespace shardkit::dataset
