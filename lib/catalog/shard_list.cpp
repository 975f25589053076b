#include "catalog/shard_list.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/wids_index.hpp"

namespace shardkit {

std::vector<std::string> listed_shards(std::string_view text, const std::string& path) {
  std::vector<std::string> shards;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) shards.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!shards.empty()) return shards;
  throw Error(ErrorCode::not_found, fmt::format("list '{}' names no shard", path), path);
}

std::vector<std::string> wids_shards(std::string_view text, const std::string& path) {
  if (!is_wids_index(text)) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no \"shardlist\", so it is no wids index; for a set with a manifest name its "
                            "folder",
                            path),
                path);
  }
  std::vector<std::string> shards;
  for (WidsShard& shard : read_wids_index(text, path).shards) shards.push_back(std::move(shard.url));
  if (!shards.empty()) return shards;
  throw Error(ErrorCode::not_found, fmt::format("wids index '{}' names no shard", path), path);
}

}  // namespace shardkit
