#include "bench/machine/gpu_machine.hpp"

#include "core/error.hpp"
#include "system/host.hpp"

namespace shardkit::bench {

OpenGpus::OpenGpus(GpuUse use)
    : machine_{.probe = system::live_probe(),
               .open_jpegs = gpu::open_jpeg_decoder,
               .open_storage = [](const gpu::Device& device) {
                 return gpu::open_direct_storage(device, system::live_probe());
               }} {
  if (use == GpuUse::none) return;
  try {
    devices_ = gpu::open_devices();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || use == GpuUse::needed) throw;
    machine_.missing = system::find_gpus().devices == 0 ? "no GPU here" : error.what();  // in full if one is there
    return;
  }
  machine_.devices = gpu::lent(devices_);
}

const GpuMachine& OpenGpus::with_monitor() {
  monitor_ = gpu::find_gpu_monitor().monitor;
  machine_.monitor = monitor_.get();
  return machine_;
}

void warn_of_lost_hardware(const gpu::JpegDecoderFacts& facts, Context& context) {
  if (facts.hardware || facts.video_library) return;
  context.warn("no_video_library",
               "libnvcuvid.so.1 is missing, so nvJPEG cannot use hardware decoders if this GPU has some; a container "
               "needs NVIDIA_DRIVER_CAPABILITIES=compute,utility,video, a host the driver's package with this library "
               "(libnvcuvid1, libnvidia-decode)");
}

}  // namespace shardkit::bench
