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

/// Reads every byte of a tar once, in order: hashes them and passes members, content and faults to `handler`. Updates
/// the progress's bytes. Throws Error{not_found, denied, io} if the file cannot be read, Error{cancelled} if `context`
/// is stopped, and the errors of the handler. `md5`, if given, gets all bytes.
ShardContent read_shard(ByteSource& shard, formats::TarHandler& handler, Context& context, Md5Stream* md5 = nullptr);

/// Like read_shard(), but reads only headers and the content that the handler requests, and hashes nothing. Progress
/// gets the shard's size at the end.
void scan_shard(ByteSource& shard, formats::TarHandler& handler, Context& context);

}  // namespace shardkit::catalog
