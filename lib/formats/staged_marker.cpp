#include "formats/staged_marker.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "shardkit-staged";
constexpr std::uint64_t kVersion = 1;

}  // namespace

std::string write_staged_marker(const StagedMarker& marker) {
  Json root;
  root["format"] = kFormat;
  root["version"] = kVersion;
  root["source"] = marker.source;
  root["verified"] = marker.verified;
  root["manifest_xxh3_128"] = to_hex(marker.manifest);
  root["files"] = marker.files;
  root["bytes"] = marker.bytes;
  if (!marker.subsets.empty()) root["subsets"] = marker.subsets;
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StagedMarker read_staged_marker(std::string_view text, const std::string& path) {
  StagedMarker marker;
  try {
    const Json root = Json::parse(text);
    if (root.at("format") != kFormat || root.at("version") != kVersion) {
      throw Error(ErrorCode::corrupt, fmt::format("'{}' is no staged marker of version {}", path, kVersion), path);
    }
    root.at("source").get_to(marker.source);
    root.at("verified").get_to(marker.verified);
    root.at("files").get_to(marker.files);
    root.at("bytes").get_to(marker.bytes);
    if (root.contains("subsets")) root.at("subsets").get_to(marker.subsets);
    if (!parse_hex(root.at("manifest_xxh3_128").get<std::string>(), marker.manifest)) {
      throw Error(ErrorCode::corrupt, fmt::format("'{}': manifest_xxh3_128 is not 32 hexadecimal digits", path), path);
    }
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::corrupt, fmt::format("'{}' is damaged ({}); remove it", path, error.what()), path);
  }
  return marker;
}

}  // namespace shardkit
