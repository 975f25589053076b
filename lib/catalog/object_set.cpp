#include "catalog/object_set.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "catalog/merged_source.hpp"
#include "catalog/object_names.hpp"
#include "catalog/object_opener.hpp"
#include "catalog/operand_places.hpp"
#include "core/error.hpp"
#include "formats/manifest.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kLargestManifest = 1ULL << 30U;

using Places = std::vector<ObjectPlace>;

/// The deepest folder that holds all objects; empty when they are of several stores, or have "/" alone in common.
std::optional<ObjectPlace> common_folder(const Places& objects) {
  ObjectPlace folder = objects.front().folder();
  const std::string store = folder.store();
  for (const ObjectPlace& object : objects) {
    if (object.store() != store) return std::nullopt;
    while (!object.path.starts_with(folder.path)) {
      folder.path.pop_back();
      folder.path.resize(folder.path.rfind('/') + 1);
    }
  }
  if (folder.kind == ObjectPlace::Kind::local && folder.path.empty()) return std::nullopt;
  return folder;
}

std::string name_of(const ObjectPlace& object, const std::optional<ObjectPlace>& common) {
  const std::size_t begin = common ? common->path.size() : object.folder().path.size();
  return decoded(object, std::string_view(object.path).substr(begin));
}

/// Whether one source, opened at `folder`, can be asked for all objects by their names.
bool are_of_one_source(const Places& objects, const ObjectPlace& folder) {
  const std::string access = folder.access();
  return std::ranges::all_of(objects, [&](const ObjectPlace& object) {
    return object.access() == access && encodes_again(object, std::string_view(object.path).substr(folder.path.size()));
  });
}

/// Whether `text` is of a manifest of ours that has all of `names`. Throws Error{corrupt} when it is damaged.
bool is_manifest_of(const std::vector<std::string>& names, const std::string& text, const std::string& path) {
  if (text.find("\"shardkit-manifest\"") == std::string::npos) return false;  // others use that name too
  const Manifest manifest = read_manifest(text, path);
  std::unordered_set<std::string_view> known;
  for (const ManifestShard& shard : manifest.shards) known.insert(shard.name);
  return std::ranges::all_of(names, [&](const std::string& name) { return known.contains(name); });
}

/// The manifest of the folder that `source` is, when it has all of `names`. That it cannot be had is no error: who may
/// read objects by name is often refused for those that are not there.
std::string manifest_of(ObjectSource& source, const std::vector<std::string>& names, const std::stop_token& stop) {
  if (std::ranges::any_of(names, [](const auto& name) { return name.find('/') != std::string::npos; })) return {};
  std::string text;
  try {
    const auto object = source.find(kManifestName);
    if (!object) return {};
    text = fetch_text(source, *object, kLargestManifest, stop);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::denied || error.code() == ErrorCode::unsupported) return {};
    throw;
  }
  return is_manifest_of(names, text, source.address_of(kManifestName)) ? kManifestName : "";
}

/// Adds `objects` under their names. A store is opened once, at its root; a web server once for each folder, as the
/// folder's spelling may not survive decoding, and for each URL whose own would not.
void add_objects(MergedSource& merged, const Places& objects, const std::vector<std::string>& names,
                 ObjectOpener& opener) {
  std::map<std::string, std::shared_ptr<ObjectSource>> roots;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const ObjectPlace& object = objects[i];
    ObjectPlace root = object.folder();
    if (root.kind != ObjectPlace::Kind::http) root.path.clear();
    const std::string_view inner = std::string_view(object.path).substr(root.path.size());
    if (!encodes_again(object, inner)) {
      merged.add_object(names[i], opener.folder(object), "");
      continue;
    }
    auto& source = roots[fmt::format("{}\n{}", root.access(), root.path)];
    if (!source) source = opener.folder(root);
    merged.add_object(names[i], source, decoded(object, inner));
  }
}

ObjectSet listed_objects(const Places& objects, ObjectOpener& opener) {
  ObjectSet set;
  set.listed = true;
  const auto common = common_folder(objects);
  for (const ObjectPlace& object : objects) set.names.push_back(name_of(object, common));
  if (common && are_of_one_source(objects, *common)) {
    set.source = opener.folder(*common);
    check_names(set.names, set.source->location());
    set.manifest = manifest_of(*set.source, set.names, opener.stop());
    return set;
  }
  auto merged = std::make_unique<MergedSource>(opener.stop());
  add_objects(*merged, objects, set.names, opener);
  check_names(set.names, merged->location());
  set.source = std::move(merged);
  return set;
}

ObjectSet one_folder(const ObjectPlace& folder, ObjectOpener& opener) {
  ObjectSet set;
  set.source = opener.folder(folder);
  if (set.source->find(kManifestName)) set.manifest = kManifestName;
  return set;
}

ObjectSet merged_set(const OperandPlaces& places, ObjectOpener& opener) {
  auto merged = std::make_unique<MergedSource>(opener.stop());
  for (const ObjectPlace& folder : places.folders) {
    if (folder.kind == ObjectPlace::Kind::http) {
      const std::string address = folder.display();
      throw Error(ErrorCode::unsupported,
                  fmt::format("'{}' is a folder behind HTTP, which has no listing, so it cannot be taken together with "
                              "others; take it alone, or name its files by a pattern, a list or a wids index",
                              address),
                  address);
    }
    merged->add_folder(opener.folder(folder));
  }
  if (!places.objects.empty()) {
    const auto common = common_folder(places.objects);
    std::vector<std::string> names;
    for (const ObjectPlace& object : places.objects) names.push_back(name_of(object, common));
    add_objects(*merged, places.objects, names, opener);
  }
  ObjectSet set;
  set.source = std::move(merged);
  return set;
}

}  // namespace

ObjectSet open_objects(const std::vector<std::string>& operands, const StoreOptions& options,
                       const std::stop_token& stop) {
  ObjectOpener opener(options, stop);
  const OperandPlaces places = resolve_operands(operands, opener);
  if (places.folders.empty()) return listed_objects(places.objects, opener);
  if (places.folders.size() == 1 && places.objects.empty()) return one_folder(places.folders.front(), opener);
  return merged_set(places, opener);
}

}  // namespace shardkit
