#pragma once

#include <cstdint>
#include <string>

namespace shardkit {

/// Bytes that this user may still write to the file system of `folder`. Throws Error{not_found, denied, io}.
std::uint64_t free_bytes(const std::string& folder);

}  // namespace shardkit
