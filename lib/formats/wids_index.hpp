#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The shard list of wids, WebDataset's indexed reader: "shardindex.json" (wids_index.py, version 1).
namespace shardkit {

struct WidsShard {
  std::string url;  ///< absolute, or relative to the index
  std::uint64_t samples = 0;
  std::optional<std::uint64_t> bytes;  ///< "filesize"
};

struct WidsIndex {
  std::string name;  ///< may be empty
  std::vector<WidsShard> shards;
};

/// True when `text` is a JSON object with a "shardlist".
bool is_wids_index(std::string_view text);

/// Reads what wids itself needs: wids_version and each shard's url and nsamples; other fields may be absent.
/// Throws Error{corrupt} that names the field, Error{unsupported} for another version. `path` is for messages.
WidsIndex read_wids_index(std::string_view text, const std::string& path);

}  // namespace shardkit
