#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "gpu/direct_storage.hpp"
#include "gpu/gpu_monitor.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {

/// The GPUs that a verb uses, and how to open what belongs to them. Borrowed: OpenGpus owns those of this machine.
struct GpuMachine {
  const system::Probe& probe;  ///< the rest of the machine
  std::vector<gpu::Device*> devices{};
  std::function<std::unique_ptr<gpu::DeviceJpegDecoder>(const gpu::Device&, unsigned threads)> open_jpegs{};
  std::function<std::unique_ptr<gpu::DirectStorage>(const gpu::Device&)> open_storage{};
  const gpu::GpuMonitor* monitor = nullptr;  ///< of the driver, if opened and available
  std::string missing{};                     ///< why there are no devices
};

/// Whether a verb uses the GPUs of this machine.
enum class GpuUse {
  none,
  if_available,  ///< without one, GpuMachine::missing says why
  needed,        ///< without one, Error{unsupported}
};

/// Opens the GPUs of this machine.
class OpenGpus {
 public:
  explicit OpenGpus(GpuUse use);
  const GpuMachine& machine() const { return machine_; }
  /// The same after opening the driver's monitor, which takes time that only verbs that measure copies need to spend.
  const GpuMachine& with_monitor();

 private:
  std::vector<std::unique_ptr<gpu::Device>> devices_;
  std::unique_ptr<gpu::GpuMonitor> monitor_;
  GpuMachine machine_;
};

/// Warns if the hardware decoders that a GPU may have cannot be used, because a library of the driver is missing.
void warn_of_lost_hardware(const gpu::JpegDecoderFacts& facts, Context& context);

}  // namespace shardkit::bench
