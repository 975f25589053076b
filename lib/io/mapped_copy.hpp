#pragma once

#include <cstddef>

namespace shardkit {

/// Copies `length` bytes out of a mapped file and returns how many of them are the file's: fewer when a page could not
/// be had because the file was cut or its disk failed. The kernel says so by SIGBUS; this room's handler, which the
/// first call puts in place for the process, maps empty pages over the rest of the range, so that the copying ends as
/// if nothing were wrong and no stack is unwound by a jump. The mapping is not to be used any more then. A SIGBUS from
/// anywhere else ends the process as ever. Thread-safe.
std::size_t copy_mapped(const std::byte* from, std::byte* to, std::size_t length);

}  // namespace shardkit
