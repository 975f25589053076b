#pragma once

#include <cstdint>
#include <string>

#include "core/context.hpp"
#include "core/hash.hpp"
#include "formats/tar_scanner.hpp"

/// Reading one shard file, whole or by its headers.
namespace shardkit::catalog {

struct ShardContent {
  std::uint64_t bytes = 0;
  Hash128 xxh3_128;
};

/// Reads every byte of a tar once, in order: hashes them and hands members, content and faults to
/// `handler`. Raises the progress's bytes as it goes. Throws Error{not_found, denied, io} when the file cannot be
/// read, Error{cancelled} when `context` is stopped, and what the handler throws. Where `md5` is given it takes all
/// bytes.
ShardContent read_shard(ByteSource& shard, formats::TarHandler& handler, Context& context, Md5Stream* md5 = nullptr);

/// As read_shard(), but reads only headers and the content that the handler asks for, and hashes nothing. Progress
/// takes the shard's whole size at the end.
void scan_shard(ByteSource& shard, formats::TarHandler& handler, Context& context);

}  // namespace shardkit::catalog
