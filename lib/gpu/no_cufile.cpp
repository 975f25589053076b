#include "core/error.hpp"
#include "gpu/direct_storage.hpp"

namespace shardkit::gpu {

std::unique_ptr<DirectStorage> open_direct_storage(const Device&) {
  throw Error(
      ErrorCode::unsupported,
      "no GPUDirect Storage: this program was built without cuFile's header (scripts/install-deps --cuda installs it)");
}

}  // namespace shardkit::gpu
