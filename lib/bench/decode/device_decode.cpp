#include "bench/decode/device_decode.hpp"

#include "bench/decode/decode_measurement.hpp"
#include "bench/decode/decode_options.hpp"
#include "bench/decode/device_decode_work.hpp"
#include "gpu/devices.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kUsualBatch = 256;

DeviceDecodeResult describe_device(const Device& device, const DeviceJpegDecoder& decoder) {
  const JpegDecoderFacts facts = decoder.facts();
  DeviceDecodeResult result;
  result.device = device.facts().index;
  result.name = device.facts().name;
  result.library = facts.library;
  result.hardware = facts.hardware;
  result.hardware_engines = facts.hardware_engines;
  return result;
}

std::vector<DecodeShare> shares(std::span<const DecodeTally> by_path, std::uint64_t decoded) {
  std::vector<DecodeShare> rows;
  for (std::size_t path = 0; path < by_path.size(); ++path) {
    const double share = decoded == 0 ? 0 : static_cast<double>(by_path[path].images) / static_cast<double>(decoded);
    rows.push_back({static_cast<DecodePath>(path), by_path[path].images, share});
  }
  return rows;
}

}  // namespace

DecodeResult decode_on_device(const DecodeBenchOptions& options, const InputSet& input, const DecodeMachine& machine,
                              Context& context) {
  const auto threads = static_cast<unsigned>(decode_threads(options));
  check_decode_options(options, threads);
  Device& device = numbered_device(machine.devices, options.device.value_or(0));
  const auto decoder = machine.open_decoder(device, threads);
  DeviceDecodeResult on_device = describe_device(device, *decoder);
  on_device.batch = options.batch.value_or(kUsualBatch);

  const JpegStore store(input, options.samples, usable_memory() / 4, context);
  BatchDecoder batches(store, device, *decoder, on_device.batch, context);
  on_device.memory = batches.memory();
  const auto name_of = [&](std::size_t index) { return sample_names(input, {&store.sample(index), 1}).front(); };
  PixelCheck check(store, device, threads, name_of, context);
  compare_sample(store, batches, check, context);

  DeviceDecodeWork work(store, batches, options, threads, on_device.batch, context);
  const Timing timing = work.run();
  context.throw_if_stopped();
  check.compare(work.last_batch());  // of these no pattern had filled the memory, but all engines were busy
  on_device.pixels = check.result();

  DecodeResult result = result_of(store);
  result.backend = DecodeBackend::nvjpeg;
  result.threads = threads;
  const auto by_path = work.by_path();
  add_measurement(timing, by_path, result);
  add_failures(work.failures(), store.size(), input, result);
  on_device.paths = shares(by_path, result.decoded);
  on_device.refused = work.refused();
  on_device.returned = work.returned();
  result.nvjpeg = on_device;
  return result;
}

}  // namespace shardkit
