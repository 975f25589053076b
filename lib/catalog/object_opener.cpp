#include "catalog/object_opener.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kLargestText = 1ULL << 30U;

}  // namespace

std::unique_ptr<ObjectSource> ObjectOpener::folder(const ObjectPlace& place) {
  if (place.kind == ObjectPlace::Kind::local) return open_object_source(place.display());
  if (place.kind == ObjectPlace::Kind::s3) return store_source(stores_.open(place.display()), stop_);
  return store_source(stores_.open(place.full_url()), stop_);
}

OpenObject ObjectOpener::object(const ObjectPlace& place) {
  const ObjectPlace folder = place.folder();
  const std::string name = place.path.substr(folder.path.size());
  if (encodes_again(place, name)) return {this->folder(folder), decoded(place, name)};
  return {this->folder(place), ""};
}

std::string ObjectOpener::text(const ObjectPlace& place) {
  const OpenObject open = object(place);
  const auto found = open.source->find(open.name);
  if (found) return fetch_text(*open.source, *found, kLargestText, stop_);
  throw Error(ErrorCode::not_found, fmt::format("'{}' is not there", place.display()), place.display());
}

bool ObjectOpener::exists(const ObjectPlace& place) {
  const OpenObject open = object(place);
  return open.source->find(open.name).has_value();
}

}  // namespace shardkit
