#pragma once

#include <cstdint>
#include <functional>

#include "core/context.hpp"
#include "formats/tar_scanner.hpp"

/// Reading one shard file, whole or by its headers.
namespace shardkit::catalog {

/// Reads every byte of a tar once, in order: passes them to `hash`, and members, content and faults to `handler`.
/// Updates the progress's bytes. Returns the number of bytes. Throws Error{not_found, denied, io} if the file cannot be
/// read, Error{cancelled} if `context` is stopped, and the errors of the handler.
std::uint64_t read_shard(ByteSource& shard, formats::TarHandler& handler, const std::function<void(Bytes)>& hash,
                         Context& context);

/// Like read_shard(), but reads only headers and the content that the handler requests. Progress gets the shard's size
/// at the end.
void scan_shard(ByteSource& shard, formats::TarHandler& handler, Context& context);

}  // namespace shardkit::catalog
