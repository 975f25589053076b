#include <algorithm>
#include <atomic>
#include <memory>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "gpu/cuda_call.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "gpu/nvjpeg_engines.hpp"
#include "image/jpeg_header.hpp"
#include "sync/loan_pool.hpp"
#include "sync/task_group.hpp"

namespace shardkit {
namespace {

/// One whose batches go to decoders in silicon, where the device has them.
NvjpegOwned<nvjpegHandle_t> make_handle(const NvjpegLibrary& nvjpeg, int device, bool& hardware) {
  select_cuda_device(device);  // nvJPEG's objects belong to the device that was current when they were made
  nvjpegHandle_t handle = nullptr;
  hardware = nvjpeg.create(NVJPEG_BACKEND_HARDWARE, nullptr, nullptr, 0, &handle) == NVJPEG_STATUS_SUCCESS;
  if (hardware) return {handle, nvjpeg.destroy};
  const nvjpegStatus_t status = nvjpeg.create(NVJPEG_BACKEND_DEFAULT, nullptr, nullptr, 0, &handle);
  if (status == NVJPEG_STATUS_SUCCESS) return {handle, nvjpeg.destroy};
  throw Error(ErrorCode::unsupported, fmt::format("no nvJPEG on GPU {}: nvjpegCreateEx of {} says {}", device,
                                                  nvjpeg.library.name(), nvjpeg_text(status)));
}

class NvjpegDecoder final : public DeviceJpegDecoder {
 public:
  NvjpegDecoder(int device, unsigned threads)
      : device_(device),
        threads_(std::max(threads, 1U)),
        handle_(make_handle(nvjpeg_, device, has_hardware_)),
        parsers_(threads_ + 1, [this] { return std::make_unique<Parser>(make_parser()); }) {
    if (has_hardware_) hardware_ = std::make_unique<NvjpegHardware>(nvjpeg_, handle_.get(), device_);
  }
  ~NvjpegDecoder() override { cudaSetDevice(device_); }
  NvjpegDecoder(const NvjpegDecoder&) = delete;
  NvjpegDecoder& operator=(const NvjpegDecoder&) = delete;

  JpegDecoderFacts facts() const override;
  std::optional<JpegEngine> engine_for(Bytes encoded) override;
  std::vector<std::size_t> decode(JpegEngine engine, std::span<const DeviceJpeg> jobs) override;

 private:
  using Parser = NvjpegOwned<nvjpegJpegStream_t>;
  Parser make_parser() const {
    return make_nvjpeg<nvjpegJpegStream_t>(nvjpeg_.stream_destroy, nvjpeg_.stream_create, handle_.get());
  }
  /// How an image is coded, where nvJPEG decodes such images as libjpeg does, by some engine.
  std::optional<nvjpegJpegEncoding_t> usual_encoding(nvjpegJpegStream_t parsed) const;
  std::vector<std::size_t> decode_hybrid(JpegEngine engine, std::span<const DeviceJpeg> jobs);

  const NvjpegLibrary nvjpeg_;
  int device_;
  unsigned threads_;
  bool has_hardware_ = false;
  NvjpegOwned<nvjpegHandle_t> handle_;
  LoanPool<Parser> parsers_;
  std::unique_ptr<NvjpegHardware> hardware_;
  std::vector<std::unique_ptr<NvjpegWorker>> workers_;  ///< made when they are first needed
};

JpegDecoderFacts NvjpegDecoder::facts() const {
  JpegDecoderFacts facts{nvjpeg_.name(), has_hardware_, std::nullopt};
  unsigned engines = 0;
  unsigned cores = 0;
  if (has_hardware_ && nvjpeg_.hardware_info &&
      nvjpeg_.hardware_info(handle_.get(), &engines, &cores) == NVJPEG_STATUS_SUCCESS) {
    facts.hardware_engines = engines;
  }
  return facts;
}

std::optional<nvjpegJpegEncoding_t> NvjpegDecoder::usual_encoding(nvjpegJpegStream_t parsed) const {
  unsigned components = 0;
  unsigned precision = 8;
  nvjpegJpegEncoding_t encoding{};
  nvjpegChromaSubsampling_t subsampling = NVJPEG_CSS_UNKNOWN;
  const bool told =
      nvjpeg_.stream_components(parsed, &components) == NVJPEG_STATUS_SUCCESS &&
      nvjpeg_.stream_encoding(parsed, &encoding) == NVJPEG_STATUS_SUCCESS &&
      nvjpeg_.stream_subsampling(parsed, &subsampling) == NVJPEG_STATUS_SUCCESS &&
      (!nvjpeg_.stream_precision || nvjpeg_.stream_precision(parsed, &precision) == NVJPEG_STATUS_SUCCESS);
  const bool usual =
      told && (components == 1 || components == 3) && precision == 8 && subsampling != NVJPEG_CSS_UNKNOWN &&
      (encoding == NVJPEG_ENCODING_BASELINE_DCT || encoding == NVJPEG_ENCODING_EXTENDED_SEQUENTIAL_DCT_HUFFMAN ||
       encoding == NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN);
  return usual ? std::optional(encoding) : std::nullopt;
}

std::optional<JpegEngine> NvjpegDecoder::engine_for(Bytes encoded) {
  if (encoded.empty()) return std::nullopt;
  select_cuda_device(device_);
  const auto parser = parsers_.borrow();
  const nvjpegJpegStream_t parsed = parser->get();
  // All of it, not the header alone: of some damaged files hardware says only that it failed.
  if (nvjpeg_.stream_parse(handle_.get(), nvjpeg_bytes(encoded), encoded.size(), 0, 0, parsed) !=
      NVJPEG_STATUS_SUCCESS) {
    return std::nullopt;
  }
  const auto encoding = usual_encoding(parsed);
  unsigned width = 0;
  unsigned height = 0;
  if (!encoding || nvjpeg_.stream_dimensions(parsed, &width, &height) != NVJPEG_STATUS_SUCCESS) return std::nullopt;
  // Memory is had for the sides that the header tells shardkit: of others the GPU would write past its end.
  const JpegHeader header = read_jpeg_header(encoded).header;
  if (width != header.width || height != header.height) return std::nullopt;
  int refused = 1;
  if (has_hardware_ && nvjpeg_.batched_supported(handle_.get(), parsed, &refused) == NVJPEG_STATUS_SUCCESS &&
      refused == 0) {
    return JpegEngine::hardware;
  }
  return software_engine(std::uint64_t{width} * height, *encoding == NVJPEG_ENCODING_BASELINE_DCT);
}

std::vector<std::size_t> NvjpegDecoder::decode(JpegEngine engine, std::span<const DeviceJpeg> jobs) {
  select_cuda_device(device_);
  if (engine != JpegEngine::hardware) return decode_hybrid(engine, jobs);
  if (!hardware_) throw Error(ErrorCode::unsupported, fmt::format("GPU {} has no decoders in silicon", device_));
  return hardware_->decode(jobs);
}

std::vector<std::size_t> NvjpegDecoder::decode_hybrid(JpegEngine engine, std::span<const DeviceJpeg> jobs) {
  const std::size_t wanted = std::min<std::size_t>(threads_, jobs.size());
  while (workers_.size() < wanted) {
    workers_.push_back(std::make_unique<NvjpegWorker>(nvjpeg_, handle_.get(), device_));
  }
  std::vector<char> decoded(jobs.size(), 0);
  std::atomic<std::size_t> next{0};
  TaskGroup group;
  for (std::size_t i = 0; i < wanted; ++i) {
    group.spawn([&, worker = workers_[i].get()](const std::stop_token& stop) {
      select_cuda_device(device_);
      while (!stop.stop_requested()) {
        const std::size_t turn = next.fetch_add(1, std::memory_order_relaxed);
        if (turn >= jobs.size()) break;
        decoded[turn] = worker->decode(engine, jobs[turn]) ? 1 : 0;
      }
      worker->finish();
    });
  }
  group.wait();
  std::vector<std::size_t> failed;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    if (decoded[i] == 0) failed.push_back(i);
  }
  return failed;
}

}  // namespace

std::unique_ptr<DeviceJpegDecoder> open_jpeg_decoder(const Device& device, unsigned threads) {
  return std::make_unique<NvjpegDecoder>(static_cast<int>(device.facts().index), threads);
}

}  // namespace shardkit
