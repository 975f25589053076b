#include "support/fake_jpeg_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace shardkit_test {
namespace {

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit::image;

bool is_chosen(const FakeJpegDecoder::Chosen& chosen, Bytes jpeg) { return chosen && chosen(jpeg); }

void check_memory(std::span<const DeviceJpeg> jobs) {
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const auto& [encoded, image] : jobs) {
    const std::size_t bytes = std::size_t{image.width} * image.height * 3;
    if (bytes == 0 || image.pixels.size < bytes) throw std::logic_error("an image has too little memory");
    ranges.emplace_back(image.pixels.data, image.pixels.data + bytes);
  }
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) throw std::logic_error("two images have the same memory");
  }
}

class LentDecoder final : public DeviceJpegDecoder {
 public:
  explicit LentDecoder(FakeJpegDecoder& decoder) : decoder_(decoder) {}
  JpegDecoderFacts facts() const override { return decoder_.facts(); }
  std::optional<JpegEngine> engine_for(Bytes encoded) override { return decoder_.engine_for(encoded); }
  std::vector<std::size_t> decode(JpegEngine engine, std::span<const DeviceJpeg> jobs) override {
    return decoder_.decode(engine, jobs);
  }

 private:
  FakeJpegDecoder& decoder_;
};

}  // namespace

JpegDecoderFacts FakeJpegDecoder::facts() const {
  JpegDecoderFacts facts{"fake nvJPEG", settings_.hardware, std::nullopt, settings_.video_library};
  if (settings_.hardware) facts.hardware_engines = 7;
  return facts;
}

std::optional<JpegEngine> FakeJpegDecoder::engine_for(Bytes encoded) {
  const auto [status, header] = read_jpeg_header(encoded);
  if (status != JpegHeaderStatus::ok || header.is_cmyk() || is_chosen(settings_.refused, encoded)) return std::nullopt;
  const bool usual = header.subsampling != Subsampling::s411 && header.subsampling != Subsampling::other;
  if (settings_.hardware && usual && !header.progressive) return JpegEngine::hardware;
  return software_engine(std::uint64_t{header.width} * header.height, !header.progressive);
}

bool FakeJpegDecoder::decode_one(const DeviceJpeg& job) {
  if (is_chosen(settings_.failing, job.encoded)) return false;
  const Decoded decoded = decoder_.decode(job.encoded);
  if (!decoded.has_pixels()) return false;
  if (decoded.pixels.width != job.image.width || decoded.pixels.height != job.image.height) {
    throw std::logic_error("an image has other sides than its header says");
  }
  if (is_chosen(settings_.skipped, job.encoded)) return true;
  const auto pixels = decoded.pixels.bytes;
  std::memcpy(job.image.pixels.data, pixels.data(), pixels.size());
  if (!is_chosen(settings_.inverted, job.encoded)) return true;
  for (std::size_t i = 0; i < pixels.size(); ++i) job.image.pixels.data[i] ^= std::byte{0xff};
  return true;
}

std::vector<std::size_t> FakeJpegDecoder::decode(JpegEngine engine, std::span<const DeviceJpeg> jobs) {
  if (busy_.exchange(true)) throw std::logic_error("two threads decode at once");
  check_memory(jobs);
  largest_batch_ = std::max(largest_batch_, jobs.size());
  given_[engine] += jobs.size();
  std::vector<std::size_t> failed;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (engine_for(jobs[i].encoded) != engine) throw std::logic_error("an engine is given an image of another's");
    if (!decode_one(jobs[i])) failed.push_back(i);
  }
  busy_ = false;
  return failed;
}

std::size_t FakeJpegDecoder::given(JpegEngine engine) const {
  const auto found = given_.find(engine);
  return found == given_.end() ? 0 : found->second;
}

std::unique_ptr<DeviceJpegDecoder> lend(FakeJpegDecoder& decoder) { return std::make_unique<LentDecoder>(decoder); }

}  // namespace shardkit_test
