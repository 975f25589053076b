#include "bench/machine/gpu_machine.hpp"

namespace shardkit::bench {

void warn_of_lost_hardware(const gpu::JpegDecoderFacts& facts, Context& context) {
  if (facts.hardware || facts.video_library) return;
  context.warn("no_video_library",
               "libnvcuvid.so.1 is missing, so nvJPEG cannot use hardware decoders if this GPU has some; a container "
               "needs NVIDIA_DRIVER_CAPABILITIES=compute,utility,video, a host the driver's package with this library "
               "(libnvcuvid1, libnvidia-decode)");
}

}  // namespace shardkit::bench
