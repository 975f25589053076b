#include "bench/input/jpeg_store.hpp"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "bench/input/input_files.hpp"
#include "core/error.hpp"
#include "image/image_decoder.hpp"
#include "image/image_header.hpp"

namespace shardkit::bench {
namespace {

constexpr std::size_t kMostShards = 16;
constexpr std::size_t kFirstNamed = 5;

/// Evenly taken images that fit into `memory`.
std::vector<SampleRef> choose(const std::vector<SampleRef>& samples, std::uint64_t most, std::uint64_t memory,
                              Context& context) {
  const std::size_t wanted = std::min<std::uint64_t>(samples.size(), most);
  std::vector<SampleRef> chosen;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < wanted; ++i) {
    const SampleRef& sample = samples[i * samples.size() / wanted];
    if (bytes + sample.image_bytes > memory) continue;
    bytes += sample.image_bytes;
    chosen.push_back(sample);
  }
  if (chosen.size() < wanted) {
    context.warn("memory_limit", fmt::format("{} of {} fit into the available {}; fewer are decoded", chosen.size(),
                                             format_count(wanted, "image"), format_size(memory)));
  }
  return chosen;
}

/// How much of a compressed shard is loaded.
struct LoadLimits {
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;
  Deadline deadline;
};

/// The first images of a shard: one at least, if it has any.
class FirstImages final : public SampleOutlet {
 public:
  explicit FirstImages(LoadLimits limits) : limits_(limits) {}

  SampleBuffer buffer(std::size_t bytes) override {
    SampleBuffer buffer;
    buffer.resize(bytes);
    return buffer;
  }
  bool give(SampleBuffer image) override {
    bytes_ += image.size();
    images_.push_back(std::move(image));
    return images_.size() < limits_.images && bytes_ < limits_.bytes && !is_over(limits_.deadline);
  }
  void pass_over() override {}

  std::vector<SampleBuffer> take() { return std::move(images_); }

 private:
  LoadLimits limits_;
  std::uint64_t bytes_ = 0;
  std::vector<SampleBuffer> images_;
};

/// The counts in the order of DecodeFailure, `none` left out.
constexpr std::array kByKind{&DecodeFailures::warned,        &DecodeFailures::truncated,   &DecodeFailures::corrupt,
                             &DecodeFailures::not_jpeg,      &DecodeFailures::zero_pixels, &DecodeFailures::too_large,
                             &DecodeFailures::too_many_scans};
static_assert(kByKind.size() + 1 == kEnumNames<image::DecodeFailure>.size());

}  // namespace

void DecodeFailures::add(image::DecodeFailure failure, Bytes image) {
  if (failure == image::DecodeFailure::none) return;
  const bool is_image =
      failure == image::DecodeFailure::not_jpeg && image::sniff_image(image) != image::ImageKind::unknown;
  ++(is_image ? other_format : this->*kByKind[static_cast<std::size_t>(failure) - 1]);
  if (failure != image::DecodeFailure::warned) ++total;
}

void DecodeFailures::add(const DecodeFailures& other) {
  total += other.total;
  other_format += other.other_format;
  for (const auto kind : kByKind) this->*kind += other.*kind;
}

std::string kinds_text(const DecodeFailures& failures) {
  std::string text;
  for (std::size_t kind = 0; kind < kByKind.size(); ++kind) {
    const std::uint64_t count = failures.*kByKind[kind];
    if (count == 0 || kByKind[kind] == &DecodeFailures::warned) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(count),
                        kEnumNames<image::DecodeFailure>[kind + 1]);
  }
  std::ranges::replace(text, '_', ' ');
  if (failures.other_format == 0) return text;
  return fmt::format("{}{}{} of other formats", text, text.empty() ? "" : ", ", format_count(failures.other_format));
}

void warn_of_failures(const DecodeFailures& failures, std::uint64_t tried, Context& context) {
  const auto share = [&](std::uint64_t count) {
    return fmt::format("{} of {} ({:.1f} %", format_count(count), format_count(tried, "image"),
                       100 * static_cast<double>(count) / static_cast<double>(tried));
  };
  DecodeFailures broken = failures;
  broken.total -= std::exchange(broken.other_format, 0);
  if (broken.total > 0) {
    context.warn("images_failed",
                 fmt::format("{}: {}) cannot be decoded and were left out. Broken files take less time, so the rates "
                             "are higher than those of intact data; `shardctl verify --depth decode` finds them in "
                             "shards, `shardctl convert --validate decode` in folders",
                             share(broken.total), kinds_text(broken)));
  }
  if (failures.other_format > 0) {
    context.warn("images_of_other_formats",
                 fmt::format("{}) have formats that were not decoded, and were left out: the CPU decodes JPEG, PNG and "
                             "still WebP images, a GPU only JPEG. The rates refer to the others",
                             share(failures.other_format)));
  }
}

void DecodeFailures::describe(FieldList& v) {
  v.field({"total", Unit::count, "images that could not be decoded"}, total);
  v.field({"warned", Unit::count, "decoded, but libjpeg found damage"}, warned);
  v.field({"truncated", Unit::count, "the file ends before the image does"}, truncated);
  v.field({"corrupt", Unit::count, "libjpeg reported an error"}, corrupt);
  v.field({"not_jpeg", Unit::count, "not an image, or an empty file"}, not_jpeg);
  v.field({"zero_pixels", Unit::count, "width or height is 0"}, zero_pixels);
  v.field({"too_large", Unit::count, "more than 2^28 pixels"}, too_large);
  v.field({"too_many_scans", Unit::count, "progressive, with more than 500 scans"}, too_many_scans);
  v.field({"other_format", Unit::count, "images of formats that are not decoded, such as GIF"}, other_format);
}

void ImageMix::describe(FieldList& v) {
  v.field({"jpeg", Unit::count, "JPEGs, whatever their file extension"}, jpeg);
  v.field({"png", Unit::count, "PNGs, which are decoded as a whole also for crops"}, png);
  v.field({"webp", Unit::count, "WebP images, which are decoded as a whole also for crops"}, webp);
  v.field({"other_format", Unit::count, "other formats, and empty files"}, other_format);
  v.field({"progressive", Unit::count, "progressive JPEGs, which take about three times as long"}, progressive);
  v.field({"gray", Unit::count, "JPEGs without color"}, gray);
  v.field({"cmyk", Unit::count, "CMYK or YCCK JPEGs"}, cmyk);
  v.field({"rotated", Unit::count, "JPEGs with an Exif orientation that is not upright; it is not applied"}, rotated);
  v.field({"mean_bytes", Unit::bytes, "mean size of an image", condition_within(0.05)}, mean_bytes);
  v.field({"mean_megapixels", "mean megapixels of a decoded format", condition_within(0.05)}, mean_megapixels);
  v.field({"bytes_per_pixel", "compressed bytes per pixel; ImageNet has about 0.55"}, bytes_per_pixel);
}

JpegStore::JpegStore(const InputSet& input, std::uint64_t most, std::uint64_t memory, Context& context,
                     const Deadline& deadline) {
  if (has_compressed(input.files)) {
    unpack(input, most, memory, deadline, context);
  } else {
    load_chosen(input, most, memory, deadline, context);
  }
  choice_.chosen = refs_.size();
  choice_.first = sample_names(input, std::span(refs_).first(std::min(refs_.size(), kFirstNamed)));
  look_at_headers();
}

void JpegStore::load_chosen(const InputSet& input, std::uint64_t most, std::uint64_t memory, const Deadline& deadline,
                            Context& context) {
  context.progress().start("listing samples");
  std::vector<SampleRef> listed = list_samples(input, kMostShards, context, deadline);
  std::erase_if(listed, [](const SampleRef& sample) { return !sample.has_image; });
  refs_ = choose(listed, most, memory, context);
  if (refs_.empty()) {
    throw Error(ErrorCode::not_found, At{first_named(input)}, "found no images in {}", named_text(input));
  }
  load(input, deadline, context);
  choice_.listed = listed.size();
  choice_.how = fmt::format("evenly over all files and at most {} shards, in name order", kMostShards);
}

void JpegStore::unpack(const InputSet& input, std::uint64_t most, std::uint64_t memory, const Deadline& deadline,
                       Context& context) {
  const std::vector<std::uint32_t> shards = choose_shards(input, kMostShards, is_compressed);
  context.progress().start("loading images", most, 0, "images");
  const LoadLimits limits{(most + shards.size() - 1) / shards.size(), memory / shards.size(), deadline};
  std::vector<FirstImages> first;
  for (std::size_t i = 0; i < shards.size(); ++i) first.emplace_back(limits);
  std::atomic<bool> warned = false;
  const auto load_one = [&](std::size_t i) {
    stream_images(input, input.files[shards[i]], first[i], warned, context.stop_token(), context);
  };
  for_each_file(shards.size(), context, load_one, deadline);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (SampleBuffer& image : first[i].take()) {
      const std::uint64_t bytes = image.size();
      refs_.push_back({shards[i], 0, bytes, true, 0, bytes});
      bytes_ += bytes;
      images_.push_back(image.bytes());
      unpacked_.push_back(std::move(image));
    }
  }
  choice_.listed = refs_.size();
  choice_.how = fmt::format("the first of each of at most {} compressed shards", kMostShards);
  if (!refs_.empty()) return;
  if (is_over(deadline)) {
    throw Error(ErrorCode::usage, At{first_named(input)}, "no image of {} was found in time: use a longer --budget",
                named_text(input));
  }
  throw Error(ErrorCode::not_found, At{first_named(input)}, "found no images in {}", named_text(input));
}

void JpegStore::load(const InputSet& input, const Deadline& deadline, Context& context) {
  for (const SampleRef& ref : refs_) bytes_ += ref.image_bytes;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
  images_.resize(refs_.size());
  std::vector<MutableBytes> slots;
  std::uint64_t offset = 0;
  for (const SampleRef& ref : refs_) {
    slots.emplace_back(memory_.get() + offset, ref.image_bytes);
    offset += ref.image_bytes;
  }
  context.progress().start("loading images", refs_.size(), bytes_, "images");
  const std::vector<std::size_t> order = spread_order(refs_.size());
  const auto load_one = [&](std::size_t turn) {
    const std::size_t i = order[turn];
    const std::string& path = input.files[refs_[i].file].path;
    if (open_file(input, path)->read_at(refs_[i].image_offset, slots[i]) < slots[i].size()) {
      throw Error(ErrorCode::io, fmt::format("'{}' ended within an image: it changed while being read", path), path,
                  refs_[i].image_offset);
    }
    images_[i] = slots[i];
    context.progress().items.fetch_add(1, std::memory_order_relaxed);
    context.progress().bytes.fetch_add(slots[i].size(), std::memory_order_relaxed);
  };
  if (for_each_file(refs_.size(), context, load_one, deadline) == refs_.size()) return;
  keep_loaded();
}

void JpegStore::keep_loaded() {
  const auto refs = std::exchange(refs_, {});
  const auto images = std::exchange(images_, {});
  bytes_ = 0;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (images[i].data() == nullptr) continue;
    refs_.push_back(refs[i]);
    images_.push_back(images[i]);
    bytes_ += images[i].size();
  }
}

void JpegStore::look_at_headers() {
  std::uint64_t all_pixels = 0;
  std::uint64_t decoded = 0;
  std::uint64_t decoded_bytes = 0;
  for (const Bytes image : images_) {
    const image::ImageKind kind = image::sniff_image(image);
    const bool is_decoded = image::is_decoded(kind);
    const image::ImageSize size = count_kind(kind, image);
    pixels_.push_back(std::uint64_t{size.width} * size.height);
    all_pixels += pixels_.back();
    decoded += is_decoded ? 1U : 0U;
    decoded_bytes += is_decoded ? image.size() : 0U;
  }
  mix_.mean_bytes = static_cast<double>(bytes_) / static_cast<double>(images_.size());
  if (all_pixels == 0) return;
  mix_.mean_megapixels = static_cast<double>(all_pixels) * 1e-6 / static_cast<double>(decoded);
  mix_.bytes_per_pixel = static_cast<double>(decoded_bytes) / static_cast<double>(all_pixels);
}

image::ImageSize JpegStore::count_kind(image::ImageKind kind, Bytes image) {
  mix_.jpeg += kind == image::ImageKind::jpeg ? 1U : 0U;
  mix_.png += kind == image::ImageKind::png ? 1U : 0U;
  mix_.webp += kind == image::ImageKind::webp ? 1U : 0U;
  mix_.other_format += image::is_decoded(kind) ? 0U : 1U;
  if (!image::is_decoded(kind)) return {};
  if (kind != image::ImageKind::jpeg) return image::image_size(image).value_or(image::ImageSize{});
  const image::JpegHeader header = image::read_jpeg_header(image).header;
  mix_.progressive += header.progressive ? 1U : 0U;
  mix_.gray += header.components == 1 ? 1U : 0U;
  mix_.cmyk += header.is_cmyk() ? 1U : 0U;
  mix_.rotated += header.orientation != 1 ? 1U : 0U;
  return {header.width, header.height};
}

image::ImageKind ImageMix::most() const {
  if (png > jpeg && png >= webp) return image::ImageKind::png;
  return webp > jpeg ? image::ImageKind::webp : image::ImageKind::jpeg;
}

std::optional<JpegRoute> route_jpeg(gpu::DeviceJpegDecoder& decoder, Bytes jpeg) {
  const auto [status, header] = image::read_jpeg_header(jpeg);
  if (status != image::JpegHeaderStatus::ok || header.width == 0 || header.height == 0) return std::nullopt;
  const bool marked_rgb = header.components == 3 && header.adobe && header.adobe_transform == 0;
  if (marked_rgb || header.named_rgb) return std::nullopt;
  const auto engine = decoder.engine_for(jpeg);
  if (!engine) return std::nullopt;
  return JpegRoute{*engine, header.width, header.height};
}

}  // namespace shardkit::bench
