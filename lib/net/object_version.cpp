#include "net/object_version.hpp"

namespace shardkit {
namespace {

constexpr std::string_view kByDate = "last-modified ";

}  // namespace

std::string object_version(const HttpHeaders& headers) {
  if (const auto etag = headers.find("etag"); etag && !etag->empty()) return std::string(*etag);
  const std::string_view date = headers.get("last-modified");
  return date.empty() ? "" : std::string(kByDate) + std::string(date);
}

void pin_version(HttpHeaders& headers, const std::string& version) {
  if (version.starts_with('"')) headers.set("If-Match", version);
  if (version.starts_with(kByDate)) headers.set("If-Unmodified-Since", version.substr(kByDate.size()));
}

}  // namespace shardkit
