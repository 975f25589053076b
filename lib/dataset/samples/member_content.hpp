#pragma once

#include <functional>
#include <string>

#include "core/context.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "io/file.hpp"

namespace shardkit {

/// Hands the content of `member` to `take` in order, in pieces of at most 1 MiB. Throws Error{unsupported} for a sparse
/// member before anything is handed out; Error{corrupt} when the shard ends within it or, at the end, when the content
/// has another checksum than the index says; Error{io, cancelled}.
void read_member(const File& shard, const ListedMember& member, const Context& ctx,
                 const std::function<void(Bytes)>& take);

}  // namespace shardkit
