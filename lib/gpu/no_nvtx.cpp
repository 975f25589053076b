#include "gpu/trace_range.hpp"

namespace shardkit {

TraceRange::TraceRange(const char* /*name*/) {}

TraceRange::~TraceRange() = default;

}  // namespace shardkit
