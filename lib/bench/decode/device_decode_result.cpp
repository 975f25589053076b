#include "bench/decode/device_decode_result.hpp"

namespace shardkit {

void DecodeShare::describe(FieldVisitor& v) {
  v.field({"path", Unit::none, "engine of the GPU, or the CPU"}, path);
  v.field({"samples", Unit::count, "images that it decoded"}, samples);
  v.field({"share", Unit::ratio, "of all that were decoded"}, share);
}

void DeviceDecodeResult::describe(FieldVisitor& v) {
  v.field({"device", Unit::count, "number of the GPU, as CUDA counts"}, device);
  v.field({"name", Unit::none, "its model"}, name);
  v.field({"library", Unit::none, "what was loaded to decode"}, library);
  v.field({"hardware", Unit::none, "whether the GPU has decoders in silicon that the library uses"}, hardware);
  v.field({"hardware_engines", Unit::count, "how many, where the library tells"}, hardware_engines);
  v.field({"batch", Unit::count, "images given to an engine at once, at most"}, batch);
  v.field({"memory", Unit::bytes, "memory of the GPU for the pixels of a batch"}, memory);
  v.field({"paths", Unit::none, "who decoded how many"}, paths);
  v.field({"refused", Unit::count, "images that no engine takes, or that need more than this memory: the CPU's"},
          refused);
  v.field({"returned", Unit::count, "images that an engine took and could not decode: the CPU's too"}, returned);
  v.field({"pixels", Unit::none, "the GPU's pixels held against libjpeg-turbo's, before any rate is told"}, pixels);
}

}  // namespace shardkit
