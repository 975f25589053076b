#include <algorithm>

#include <fmt/format.h>

#include "bench/pipeline/pipeline_setup.hpp"
#include "core/error.hpp"
#include "gpu/device.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

void warn_of_sharing(std::uint64_t gpus, std::size_t devices, Context& context) {
  context.warn("gpus_share_devices",
               fmt::format("{} GPUs step together and {} here: batches go there in turn, and links and memory "
                           "carry what several GPUs would take",
                           gpus, devices == 1 ? "one is" : fmt::format("{} are", devices)));
}

}  // namespace

std::optional<std::string_view> option_for_gpu(const PipelineOptions& options) {
  if (options.sink == SinkKind::gpu) return "--sink gpu";
  if (options.ladder) return "--ladder";
  if (!options.device.empty()) return "--device";
  if (options.pinned != PinnedChoice::automatic) return "--pinned";
  if (options.decode == DecodeKind::nvjpeg) return "--decode nvjpeg";
  if (options.normalize == NormalizeKind::gpu) return "--normalize gpu";
  if (options.step == StepKind::spin) return "--step spin";
  return std::nullopt;
}

std::vector<std::uint64_t> listed_devices(const PipelineOptions& options) {
  std::vector<std::uint64_t> numbers;
  if (options.device.empty()) return numbers;
  const auto refuse = [&] {
    throw Error(ErrorCode::usage, fmt::format("--device: expected different numbers of GPUs with commas between them, "
                                              "such as 0,1; got '{}'",
                                              options.device));
  };
  const auto words = system::split(options.device, ',');
  for (const std::string_view word : words) {
    const auto number = system::parse_number(word);
    if (!number || std::ranges::find(numbers, *number) != numbers.end()) refuse();
    numbers.push_back(*number);
  }
  if (words.empty()) refuse();
  return numbers;
}

std::vector<gpu::Device*> choose_gpus(const PipelineOptions& options, const PipelineSetup& setup,
                                      const PipelineMachine& machine, Context& context) {
  if (options.sink == SinkKind::host) return {};
  if (machine.devices.empty()) {
    if (const auto option = option_for_gpu(options)) {
      throw Error(ErrorCode::unsupported, fmt::format("{}: no GPU can be used here", *option));
    }
    return {};
  }
  std::vector<gpu::Device*> gpus;
  for (const std::uint64_t number : listed_devices(options)) {
    gpus.push_back(&gpu::numbered_device(machine.devices, number));
  }
  if (gpus.empty()) gpus = machine.devices;
  if (gpus.size() > setup.loader.gpus) gpus.resize(setup.loader.gpus);
  if (gpus.size() < setup.loader.gpus) warn_of_sharing(setup.loader.gpus, gpus.size(), context);
  return gpus;
}

std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> open_decoders(const PipelineSetup& setup,
                                                                   const std::vector<gpu::Device*>& gpus,
                                                                   const PipelineMachine& machine) {
  std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> decoders;
  if (setup.loader.decode != DecodeKind::nvjpeg) return decoders;
  for (const gpu::Device* gpu : gpus) {
    if (gpu->facts().name != gpus.front()->facts().name) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("--decode nvjpeg: GPUs of one model are needed, and GPU {} is '{}', GPU {} '{}'",
                      gpus.front()->facts().index, gpus.front()->facts().name, gpu->facts().index, gpu->facts().name));
    }
    decoders.push_back(machine.open_jpegs(*gpu, setup.loader.workers));
  }
  return decoders;
}

std::uint64_t jpeg_memory(const PipelineSetup& setup, const gpu::Device& gpu) {
  constexpr std::uint64_t kSample = 1U << 20U;
  constexpr std::uint64_t kLeast = 64U << 20U;
  constexpr std::uint64_t kMost = 1U << 30U;
  return std::min(std::clamp(setup.loader.batch * kSample, kLeast, kMost), gpu.free_memory() / 4);
}

std::unique_ptr<BatchSink> make_sink(const PipelineSetup& setup, const std::vector<gpu::Device*>& gpus,
                                     const std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>>& decoders,
                                     const PipelineMachine& machine, Context& context) {
  if (gpus.empty()) return host_sink();
  LoaderSettings settings = setup.loader;
  settings.prefetch = *std::ranges::max_element(setup.prefetches);
  std::vector<gpu::DeviceJpegDecoder*> lent;
  for (const auto& decoder : decoders) lent.push_back(decoder.get());
  return std::make_unique<GpuSink>(settings, gpus, lent, machine.probe, context);
}

void CopyReport::describe(FieldVisitor& v) {
  v.field({"devices", "GPUs that batches were copied to", kCondition}, devices);
  v.field({"pinned", "from pinned memory"}, pinned);
  v.field({"copies", Unit::count, "one for each batch"}, copies);
  v.field({"bytes", Unit::bytes, "in all of them"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over the time that copies took"}, bytes_per_second);
}

void JpegReport::describe(FieldVisitor& v) {
  v.field({"decoder", "library"}, decoder);
  v.field({"hardware", Unit::count, "samples decoded by the GPU's decoders in silicon"}, hardware);
  v.field({"hybrid", Unit::count, "samples decoded by CPU and GPU together"}, hybrid);
  v.field({"gpu_hybrid", Unit::count, "samples decoded by the GPU's multiprocessors"}, gpu_hybrid);
  v.field({"cpu", Unit::count, "samples of images that no engine takes, decoded by workers"}, cpu);
  v.field({"returned", Unit::count, "samples that an engine took and failed at, decoded on the CPU after that"},
          returned);
  v.field({"gpu_ratio", Unit::ratio, "share of the samples that a GPU decoded"}, gpu_ratio);
  v.field({"busy", Unit::ratio, "share of its time that the thread which hands over spent decoding"}, busy_ratio);
}

}  // namespace shardkit::bench
