#include "formats/wids_index.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::json;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::corrupt, fmt::format("wids index '{}': {}", path, what), path);
}

WidsShard read_shard(const Json& json, std::size_t position, const std::string& path) {
  const auto where = [&](const char* field) { return fmt::format("shardlist[{}].{}", position, field); };
  if (!json.is_object()) damaged(path, fmt::format("shardlist[{}] is not an object", position));
  const auto url = json.find("url");
  if (url == json.end() || !url->is_string() || url->get_ref<const std::string&>().empty()) {
    damaged(path, where("url") + " is not a text");
  }
  const auto samples = json.find("nsamples");
  if (samples == json.end() || !samples->is_number_unsigned()) {
    damaged(path, where("nsamples") + " is not a whole number");
  }
  WidsShard shard{url->get<std::string>(), samples->get<std::uint64_t>(), std::nullopt};
  if (const auto bytes = json.find("filesize"); bytes != json.end() && bytes->is_number_unsigned()) {
    shard.bytes = bytes->get<std::uint64_t>();
  }
  return shard;
}

}  // namespace

bool is_wids_index(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.contains("shardlist");
}

WidsIndex read_wids_index(std::string_view text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) damaged(path, "it is not a JSON object");
  const auto version = json.find("wids_version");
  if (version == json.end() || !version->is_number_unsigned()) damaged(path, "wids_version is not a whole number");
  if (*version != 1U) {
    throw Error(ErrorCode::unsupported,
                fmt::format("wids index '{}' has version {}; this program reads version 1", path, version->dump()),
                path);
  }
  const auto list = json.find("shardlist");
  if (list == json.end() || !list->is_array()) damaged(path, "shardlist is not a list");
  WidsIndex index;
  if (const auto name = json.find("name"); name != json.end() && name->is_string()) index.name = *name;
  for (std::size_t i = 0; i < list->size(); ++i) index.shards.push_back(read_shard((*list)[i], i, path));
  return index;
}

}  // namespace shardkit
