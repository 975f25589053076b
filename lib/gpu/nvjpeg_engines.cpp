#include "gpu/nvjpeg_engines.hpp"

#include "gpu/cuda_call.hpp"

namespace shardkit {

nvjpegImage_t nvjpeg_target(const DeviceImage& image) {
  nvjpegImage_t target{};
  target.channel[0] = reinterpret_cast<unsigned char*>(image.pixels.data);
  target.pitch[0] = std::size_t{image.width} * 3;
  return target;
}

NvjpegHardware::NvjpegHardware(const NvjpegLibrary& nvjpeg, nvjpegHandle_t handle, int device)
    : nvjpeg_(nvjpeg),
      handle_(handle),
      stream_(device),
      state_(make_nvjpeg<nvjpegJpegState_t>(nvjpeg.state_destroy, nvjpeg.state_create, handle)) {}

bool NvjpegHardware::decode_batch(std::span<const DeviceJpeg> jobs) {
  std::vector<const unsigned char*> bytes;
  std::vector<std::size_t> lengths;
  std::vector<nvjpegImage_t> targets;
  for (const DeviceJpeg& job : jobs) {
    bytes.push_back(nvjpeg_bytes(job.encoded));
    lengths.push_back(job.encoded.size());
    targets.push_back(nvjpeg_target(job.image));
  }
  // Each time: it also clears what a batch that failed left behind. Threads are of no use to hardware.
  check_nvjpeg(nvjpeg_.batched_initialize(handle_, state_.get(), static_cast<int>(jobs.size()), 1, NVJPEG_OUTPUT_RGBI),
               "set up a batch for the GPU's decoders");
  const nvjpegStatus_t status =
      nvjpeg_.batched_decode(handle_, state_.get(), bytes.data(), lengths.data(), targets.data(), stream_.handle());
  stream_.synchronize();
  return is_decoded(status);
}

/// nvJPEG does not tell which image of a batch it was.
void NvjpegHardware::decode_halves(std::span<const DeviceJpeg> jobs, std::size_t first,
                                   std::vector<std::size_t>& failed) {
  if (decode_batch(jobs)) return;
  if (jobs.size() == 1) {
    failed.push_back(first);
    return;
  }
  const std::size_t half = jobs.size() / 2;
  decode_halves(jobs.first(half), first, failed);
  decode_halves(jobs.subspan(half), first + half, failed);
}

std::vector<std::size_t> NvjpegHardware::decode(std::span<const DeviceJpeg> jobs) {
  std::vector<std::size_t> failed;
  if (!jobs.empty()) decode_halves(jobs, 0, failed);
  return failed;
}

NvjpegWorker::NvjpegWorker(const NvjpegLibrary& nvjpeg, nvjpegHandle_t handle, int device)
    : nvjpeg_(nvjpeg),
      handle_(handle),
      stream_(device),
      device_buffer_(make_nvjpeg<nvjpegBufferDevice_t>(nvjpeg.device_destroy, nvjpeg.device_create, handle, nullptr)),
      params_(make_nvjpeg<nvjpegDecodeParams_t>(nvjpeg.params_destroy, nvjpeg.params_create, handle)),
      pages_{make_page(), make_page()},
      hybrid_(make_decoder(NVJPEG_BACKEND_HYBRID)),
      gpu_hybrid_(make_decoder(NVJPEG_BACKEND_GPU_HYBRID)) {
  check_nvjpeg(nvjpeg.params_set_format(params_.get(), NVJPEG_OUTPUT_RGBI), "set up nvJPEG");
}

NvjpegWorker::Decoder NvjpegWorker::make_decoder(nvjpegBackend_t backend) const {
  Decoder made;
  made.decoder = make_nvjpeg<nvjpegJpegDecoder_t>(nvjpeg_.decoder_destroy, nvjpeg_.decoder_create, handle_, backend);
  made.state =
      make_nvjpeg<nvjpegJpegState_t>(nvjpeg_.state_destroy, nvjpeg_.decoder_state_create, handle_, made.decoder.get());
  return made;
}

NvjpegWorker::Page NvjpegWorker::make_page() const {
  return {make_nvjpeg<nvjpegJpegStream_t>(nvjpeg_.stream_destroy, nvjpeg_.stream_create, handle_),
          make_nvjpeg<nvjpegBufferPinned_t>(nvjpeg_.pinned_destroy, nvjpeg_.pinned_create, handle_, nullptr)};
}

bool NvjpegWorker::decode(JpegEngine engine, const DeviceJpeg& job) {
  const Page& page = pages_[turn_ % pages_.size()];
  const Decoder& with = engine == JpegEngine::hybrid ? hybrid_ : gpu_hybrid_;
  if (nvjpeg_.stream_parse(handle_, nvjpeg_bytes(job.encoded), job.encoded.size(), 0, 0, page.parsed.get()) !=
      NVJPEG_STATUS_SUCCESS) {
    return false;
  }
  check_nvjpeg(nvjpeg_.attach_pinned(with.state.get(), page.pinned.get()), "give nvJPEG memory");
  if (!is_decoded(
          nvjpeg_.decode_host(handle_, with.decoder.get(), with.state.get(), params_.get(), page.parsed.get()))) {
    return false;
  }
  finish();  // the image before had the device buffer, and the other page, until here
  ++turn_;   // not for an image that failed before: the next one would write the page that the GPU still reads
  check_nvjpeg(nvjpeg_.attach_device(with.state.get(), device_buffer_.get()), "give nvJPEG memory");
  nvjpegImage_t target = nvjpeg_target(job.image);
  return is_decoded(nvjpeg_.decode_transfer(handle_, with.decoder.get(), with.state.get(), page.parsed.get(),
                                            stream_.handle())) &&
         is_decoded(nvjpeg_.decode_device(handle_, with.decoder.get(), with.state.get(), &target, stream_.handle()));
}

}  // namespace shardkit
