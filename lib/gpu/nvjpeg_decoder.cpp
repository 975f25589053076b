#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "gpu/cuda_queue.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "gpu/nvjpeg_library.hpp"
#include "image/image_header.hpp"
#include "sync/bounded_queue.hpp"
#include "sync/loan_pool.hpp"
#include "sync/task_group.hpp"

namespace shardkit::gpu {
namespace {

// The meaning of each status, in the header's order.
constexpr std::array kStatusTexts{"success",
                                  "it is not initialized",
                                  "invalid argument",
                                  "not a valid JPEG",
                                  "unsupported kind of JPEG",
                                  "not enough GPU or pinned memory; use smaller batches",
                                  "execution on the GPU failed",
                                  "not supported by this GPU",
                                  "internal error",
                                  "not supported by this engine",
                                  "the data is incomplete"};

/// "nvJPEG 13.0.1 (libnvjpeg.so.13)"
std::string nvjpeg_name(const NvjpegLibrary& nvjpeg) {
  std::array<int, 3> version{};
  for (int part = 0; part < 3; ++part) nvjpeg.get_property(part, &version[static_cast<std::size_t>(part)]);
  return fmt::format("nvJPEG {}.{}.{} ({})", version[0], version[1], version[2], nvjpeg.library.name());
}

/// "6: the GPU could not do it"
std::string nvjpeg_text(NvjpegStatus status) {
  const auto index = static_cast<std::size_t>(status);
  return fmt::format("{}: {}", index, index < kStatusTexts.size() ? kStatusTexts[index] : "unknown");
}

/// Throws for a status that has nothing to do with an image: Error{no_space} if memory is low, else Error{io}. `action`
/// as in "set up a decoder".
void check_nvjpeg(NvjpegStatus status, const char* action) {
  if (status == NvjpegStatus::success) return;
  const bool memory = status == NvjpegStatus::no_memory;
  throw Error(memory ? ErrorCode::no_space : ErrorCode::io,
              fmt::format("cannot {}: nvJPEG: {}", action, nvjpeg_text(status)));
}

/// Whether an image decoded: false when the image is at fault. Throws, as check_nvjpeg() does, for any other reason.
bool is_decoded(NvjpegStatus status) {
  switch (status) {
    case NvjpegStatus::success:
      return true;
    case NvjpegStatus::not_initialized:
    case NvjpegStatus::invalid:
    case NvjpegStatus::no_memory:
      check_nvjpeg(status, "decode on the GPU");
      return false;
    default:
      return false;
  }
}

/// An object of nvJPEG that a function of the library releases.
template <class T>
using NvjpegOwned = std::unique_ptr<std::remove_pointer_t<T>, NvjpegStatus (*)(T)>;

/// Makes one by `create(arguments..., &object)`.
template <class T, class Create, class... Arguments>
NvjpegOwned<T> make_nvjpeg(NvjpegStatus (*destroy)(T), Create* create, Arguments... arguments) {
  T object{};
  check_nvjpeg(create(arguments..., &object), "set up nvJPEG");
  return {object, destroy};
}

/// nvJPEG's buffers grow by this much, as in DALI: allocating waits for the GPU.
constexpr std::size_t kDevicePadding = std::size_t{16} << 20U;
constexpr std::size_t kPinnedPadding = std::size_t{8} << 20U;

const unsigned char* nvjpeg_bytes(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

/// Where nvJPEG writes an image's pixels.
NvjpegImage nvjpeg_target(const DeviceImage& image) {
  NvjpegImage target{};
  target.channel[0] = reinterpret_cast<unsigned char*>(image.pixels.data);
  target.pitch[0] = std::size_t{image.width} * 3;
  return target;
}

/// The hardware decoders: whole batches. For one thread at a time.
class NvjpegHardware {
 public:
  NvjpegHardware(const NvjpegLibrary& nvjpeg, NvjpegHandle handle, int device)
      : nvjpeg_(nvjpeg),
        handle_(handle),
        lanes_{Lane{CudaQueue(device), make_state()}, Lane{CudaQueue(device), make_state()}} {}

  /// Adds the indexes of those that did not decode to `failed`; `first` is that of the first job. Two halves are under
  /// way at once: nvJPEG parses one while the engines decode the other. It does not report which image of a batch
  /// failed, so a half that fails is decoded as two batches.
  void decode(std::span<const DeviceJpeg> jobs, std::size_t first, std::vector<std::size_t>& failed) {
    const std::array halves{jobs.first((jobs.size() + 1) / 2), jobs.subspan((jobs.size() + 1) / 2)};
    std::array<NvjpegStatus, 2> results{};
    for (std::size_t i = 0; i < halves.size(); ++i) prepare(lanes_[i], halves[i].size());
    for (std::size_t i = 0; i < halves.size(); ++i) results[i] = start(lanes_[i], halves[i]);
    for (Lane& lane : lanes_) lane.stream.synchronize();
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const std::size_t index = first + i * halves.front().size();
      if (is_decoded(results[i])) continue;
      if (halves[i].size() == 1) failed.push_back(index);
      if (halves[i].size() > 1) decode(halves[i], index, failed);
    }
  }

 private:
  struct Lane {
    CudaQueue stream;
    NvjpegOwned<NvjpegState> state;
  };

  NvjpegOwned<NvjpegState> make_state() const {
    return make_nvjpeg<NvjpegState>(nvjpeg_.state_destroy, nvjpeg_.state_create, handle_);
  }

  /// Each time, because it also clears the state of a failed batch. Threads have no effect on hardware.
  void prepare(Lane& lane, std::size_t count) {
    if (count == 0) return;
    check_nvjpeg(nvjpeg_.batched_initialize(handle_, lane.state.get(), static_cast<int>(count), 1, kNvjpegRgb),
                 "set up a batch for the GPU's decoders");
  }

  NvjpegStatus start(Lane& lane, std::span<const DeviceJpeg> jobs) {
    if (jobs.empty()) return NvjpegStatus::success;
    std::vector<const unsigned char*> bytes;
    std::vector<std::size_t> lengths;
    std::vector<NvjpegImage> targets;
    for (const DeviceJpeg& job : jobs) {
      bytes.push_back(nvjpeg_bytes(job.encoded));
      lengths.push_back(job.encoded.size());
      targets.push_back(nvjpeg_target(job.image));
    }
    return nvjpeg_.batched_decode(handle_, lane.state.get(), bytes.data(), lengths.data(), targets.data(),
                                  lane.stream.handle());
  }

  const NvjpegLibrary& nvjpeg_;
  NvjpegHandle handle_;
  std::array<Lane, 2> lanes_;
};

/// The state of one CPU thread to decode one image after the other with the hybrid engines: it undoes the entropy
/// coding of one, or prepares that, while the GPU works on the previous one. For one thread at a time.
class NvjpegWorker {
 public:
  NvjpegWorker(const NvjpegLibrary& nvjpeg, NvjpegHandle handle, int device)
      : nvjpeg_(nvjpeg),
        handle_(handle),
        stream_(device),
        device_buffer_(make_nvjpeg<NvjpegDevice>(nvjpeg.device_destroy, nvjpeg.device_create, handle, nullptr)),
        params_(make_nvjpeg<NvjpegParams>(nvjpeg.params_destroy, nvjpeg.params_create, handle)),
        pages_{make_page(), make_page()},
        hybrid_(make_decoder(NvjpegBackend::hybrid)),
        gpu_hybrid_(make_decoder(NvjpegBackend::gpu_hybrid)) {
    check_nvjpeg(nvjpeg.params_set_format(params_.get(), kNvjpegRgb), "set up nvJPEG");
  }

  /// False when the image did not decode. The pixels are there after finish().
  bool decode(JpegEngine engine, const DeviceJpeg& job) {
    const Page& page = pages_[turn_ % pages_.size()];
    NvjpegStream parsed = page.parsed.get();
    const Decoder& with = engine == JpegEngine::hybrid ? hybrid_ : gpu_hybrid_;
    NvjpegEngine decoder = with.decoder.get();
    NvjpegState state = with.state.get();
    if (nvjpeg_.stream_parse(handle_, nvjpeg_bytes(job.encoded), job.encoded.size(), 0, 0, parsed) !=
        NvjpegStatus::success) {
      return false;
    }
    check_nvjpeg(nvjpeg_.attach_pinned(state, page.pinned.get()), "allocate memory for nvJPEG");
    if (!is_decoded(nvjpeg_.decode_host(handle_, decoder, state, params_.get(), parsed))) return false;
    finish();  // the image before had the device buffer, and the other page, until here
    ++turn_;   // not for an image that failed before: the next one would write the page that the GPU still reads
    check_nvjpeg(nvjpeg_.attach_device(state, device_buffer_.get()), "allocate memory for nvJPEG");
    NvjpegImage target = nvjpeg_target(job.image);
    return is_decoded(nvjpeg_.decode_transfer(handle_, decoder, state, parsed, stream_.handle())) &&
           is_decoded(nvjpeg_.decode_device(handle_, decoder, state, &target, stream_.handle()));
  }

  void finish() { stream_.synchronize(); }

 private:
  struct Decoder {
    NvjpegOwned<NvjpegEngine> decoder;
    NvjpegOwned<NvjpegState> state;
  };
  /// The CPU writes one while the GPU reads the other.
  struct Page {
    NvjpegOwned<NvjpegStream> parsed;
    NvjpegOwned<NvjpegPinned> pinned;
  };

  Decoder make_decoder(NvjpegBackend backend) const {
    auto decoder = make_nvjpeg<NvjpegEngine>(nvjpeg_.decoder_destroy, nvjpeg_.decoder_create, handle_, backend);
    auto state = make_nvjpeg<NvjpegState>(nvjpeg_.state_destroy, nvjpeg_.decoder_state_create, handle_, decoder.get());
    return {std::move(decoder), std::move(state)};
  }

  Page make_page() const {
    return {make_nvjpeg<NvjpegStream>(nvjpeg_.stream_destroy, nvjpeg_.stream_create, handle_),
            make_nvjpeg<NvjpegPinned>(nvjpeg_.pinned_destroy, nvjpeg_.pinned_create, handle_, nullptr)};
  }

  const NvjpegLibrary& nvjpeg_;
  NvjpegHandle handle_;
  CudaQueue stream_;
  NvjpegOwned<NvjpegDevice> device_buffer_;
  NvjpegOwned<NvjpegParams> params_;
  std::array<Page, 2> pages_;
  Decoder hybrid_;
  Decoder gpu_hybrid_;
  std::size_t turn_ = 0;
};

/// nvJPEG reaches the hardware decoders through this library of the driver, and says nothing if it is missing.
bool has_video_library() {
  void* const library = ::dlopen("libnvcuvid.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

/// The library and what it was started with on a GPU.
struct NvjpegSession {
  NvjpegLibrary library;
  NvjpegOwned<NvjpegHandle> handle;
  bool hardware;  ///< batches go to the hardware decoders, which the device has
};

NvjpegSession start_nvjpeg(const std::vector<std::string>& names, int device) {
  NvjpegLibrary nvjpeg(names);
  select_cuda_device(device);  // nvJPEG's objects belong to the device that was current when they were made
  NvjpegHandle handle = nullptr;
  const auto create = [&](NvjpegBackend backend) { return nvjpeg.create(backend, nullptr, nullptr, 0, &handle); };
  const bool hardware = create(NvjpegBackend::hardware) == NvjpegStatus::success;
  const NvjpegStatus status = hardware ? NvjpegStatus::success : create(NvjpegBackend::usual);
  if (status == NvjpegStatus::success) return {nvjpeg, {handle, nvjpeg.destroy}, hardware};
  throw Error(ErrorCode::unsupported, fmt::format("no nvJPEG on GPU {}: nvjpegCreateEx of {} failed: {}", device,
                                                  nvjpeg.library.name(), nvjpeg_text(status)));
}

/// The newest library that starts: that of CUDA 13 needs a newer driver than a program that was built with CUDA 12. Not
/// libnvjpeg.so.11: under that name nvjpegImage_t has changed its layout.
NvjpegSession start_newest_nvjpeg(int device) {
  try {
    return start_nvjpeg({"libnvjpeg.so.13", "libnvjpeg.so.12"}, device);
  } catch (const Error& newest) {
    try {
      return start_nvjpeg({"libnvjpeg.so.12"}, device);
    } catch (const Error&) {
      throw Error(newest);
    }
  }
}

class NvjpegDecoder final : public DeviceJpegDecoder {
 public:
  NvjpegDecoder(int device, unsigned threads)
      : device_(device),
        threads_(std::max(threads, 1U)),
        nvjpeg_(start_newest_nvjpeg(device)),
        parsers_(threads_ + 1, [this] {
          return std::make_unique<Parser>(
              make_nvjpeg<NvjpegStream>(library_.stream_destroy, library_.stream_create, handle_));
        }) {
    check_nvjpeg(library_.device_padding(kDevicePadding, handle_), "set up nvJPEG");
    check_nvjpeg(library_.pinned_padding(kPinnedPadding, handle_), "set up nvJPEG");
    if (has_hardware_) hardware_ = std::make_unique<NvjpegHardware>(library_, handle_, device_);
  }
  ~NvjpegDecoder() override { cudaSetDevice(device_); }
  NvjpegDecoder(const NvjpegDecoder&) = delete;
  NvjpegDecoder& operator=(const NvjpegDecoder&) = delete;

  JpegDecoderFacts facts() const override {
    JpegDecoderFacts facts{nvjpeg_name(library_), has_hardware_, std::nullopt, has_hardware_ || has_video_library()};
    unsigned engines = 0;
    unsigned cores = 0;
    if (has_hardware_ && library_.hardware_info &&
        library_.hardware_info(handle_, &engines, &cores) == NvjpegStatus::success) {
      facts.hardware_engines = engines;
    }
    return facts;
  }

  std::optional<JpegEngine> engine_for(Bytes encoded) override {
    if (encoded.empty()) return std::nullopt;
    select_cuda_device(device_);
    const auto parser = parsers_.borrow();
    const NvjpegStream parsed = parser->get();
    // The whole image, not only the header: for some damaged files hardware only reports a failure.
    if (library_.stream_parse(handle_, nvjpeg_bytes(encoded), encoded.size(), 0, 0, parsed) != NvjpegStatus::success) {
      return std::nullopt;
    }
    const auto encoding = usual_encoding(parsed);
    unsigned width = 0;
    unsigned height = 0;
    if (!encoding || library_.stream_dimensions(parsed, &width, &height) != NvjpegStatus::success) return std::nullopt;
    // Memory is allocated for the size in the header that shardkit parsed: for another size the GPU would write past
    // its end.
    const image::JpegHeader header = image::read_jpeg_header(encoded).header;
    if (width != header.width || height != header.height) return std::nullopt;
    int refused = 1;
    if (has_hardware_ && library_.batched_supported(handle_, parsed, &refused) == NvjpegStatus::success &&
        refused == 0) {
      return JpegEngine::hardware;
    }
    return software_engine(std::uint64_t{width} * height, *encoding == kNvjpegBaseline);
  }

  std::vector<std::size_t> decode(JpegEngine engine, std::span<const DeviceJpeg> jobs) override {
    select_cuda_device(device_);
    if (engine != JpegEngine::hardware) return decode_hybrid(engine, jobs);
    if (!hardware_) throw Error(ErrorCode::unsupported, fmt::format("GPU {} has no hardware decoders", device_));
    std::vector<std::size_t> failed;
    hardware_->decode(jobs, 0, failed);
    return failed;
  }

 private:
  using Parser = NvjpegOwned<NvjpegStream>;
  using Share = std::packaged_task<void(NvjpegWorker&)>;  ///< of the images of a batch
  /// The encoding of an image, if some engine of nvJPEG decodes such images as libjpeg does.
  std::optional<int> usual_encoding(NvjpegStream parsed) const {
    unsigned components = 0;
    unsigned precision = 8;
    int encoding = 0;
    int subsampling = kNvjpegUnknownSubsampling;
    const bool known =
        library_.stream_components(parsed, &components) == NvjpegStatus::success &&
        library_.stream_encoding(parsed, &encoding) == NvjpegStatus::success &&
        library_.stream_subsampling(parsed, &subsampling) == NvjpegStatus::success &&
        (!library_.stream_precision || library_.stream_precision(parsed, &precision) == NvjpegStatus::success);
    const bool usual = known && (components == 1 || components == 3) && precision == 8 &&
                       subsampling != kNvjpegUnknownSubsampling &&
                       (encoding == kNvjpegBaseline || encoding == kNvjpegExtended || encoding == kNvjpegProgressive);
    return usual ? std::optional(encoding) : std::nullopt;
  }

  std::vector<std::size_t> decode_hybrid(JpegEngine engine, std::span<const DeviceJpeg> jobs) {
    const std::size_t wanted = std::min<std::size_t>(threads_, jobs.size());
    while (workers_.size() < wanted) add_worker();
    std::vector<char> decoded(jobs.size(), 0);
    std::atomic<std::size_t> next{0};
    std::vector<std::future<void>> shares;
    for (std::size_t i = 0; i < wanted; ++i) {
      Share share([&](NvjpegWorker& worker) {
        select_cuda_device(device_);
        for (std::size_t index = next++; index < jobs.size(); index = next++) {
          decoded[index] = worker.decode(engine, jobs[index]) ? 1 : 0;
        }
        worker.finish();
      });
      shares.push_back(share.get_future());
      shares_.push(std::move(share), 1, {});
    }
    for (const std::future<void>& share : shares) share.wait();  // all of them, because they use what is here
    for (std::future<void>& share : shares) share.get();
    std::vector<std::size_t> failed;
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      if (decoded[i] == 0) failed.push_back(i);
    }
    return failed;
  }

  /// Its thread stays for all batches: starting threads takes as long as decoding some images.
  void add_worker() {
    NvjpegWorker& worker = *workers_.emplace_back(std::make_unique<NvjpegWorker>(library_, handle_, device_));
    crew_.spawn([this, &worker](const std::stop_token& stop) {
      while (auto share = shares_.pop(stop)) (*share)(worker);
    });
  }

  int device_;
  unsigned threads_;
  const NvjpegSession nvjpeg_;
  const NvjpegLibrary& library_ = nvjpeg_.library;
  const NvjpegHandle handle_ = nvjpeg_.handle.get();
  const bool has_hardware_ = nvjpeg_.hardware;
  sync::LoanPool<Parser> parsers_;
  std::unique_ptr<NvjpegHardware> hardware_;
  std::vector<std::unique_ptr<NvjpegWorker>> workers_;  ///< made when they are first needed
  sync::BoundedQueue<Share> shares_{threads_};
  sync::TaskGroup crew_;
};

}  // namespace

std::unique_ptr<DeviceJpegDecoder> open_jpeg_decoder(const Device& device, unsigned threads) {
  return std::make_unique<NvjpegDecoder>(static_cast<int>(device.facts().index), threads);
}

}  // namespace shardkit::gpu
