#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/context.hpp"
#include "formats/tar_parser.hpp"

namespace shardkit {

/// Where the content lies that a hard link in a tar stands for.
struct LinkedContent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// The contents of a tar's hard links, by the offset of the link's header. GNU tar writes such links for files that
/// share an inode; readers of shards see nothing there. Reads the tar's headers twice; memory grows with the links
/// alone. Throws Error{corrupt} with the place of a link that leads to no file of the tar, or back to itself.
std::map<std::uint64_t, LinkedContent> resolve_hard_links(const std::string& tar, const std::string& name,
                                                          Context& ctx);

}  // namespace shardkit
