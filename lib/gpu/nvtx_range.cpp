#include <nvtx3/nvToolsExt.h>

#include "gpu/trace_range.hpp"

namespace shardkit {

TraceRange::TraceRange(const char* name) { nvtxRangePushA(name); }

TraceRange::~TraceRange() { nvtxRangePop(); }

}  // namespace shardkit
