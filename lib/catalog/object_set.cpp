#include "catalog/object_set.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "sync/task_group.hpp"

namespace shardkit::catalog {
namespace {

constexpr std::string_view kBeforeMore = " and ";
constexpr std::string_view kAfterMore = " more";

/// Whether `name` is directly in `folder`.
bool is_right_below(const std::string& folder, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? folder.empty() : name.compare(0, slash, folder) == 0;
}

/// Objects and whole folders of several sources, as one source. An object has the name it was added by, the content of
/// a folder the names there. First one thread adds all; from then on it is thread-safe.
class MergedSource final : public io::ObjectSource {
 public:
  /// A request of `stop` ends waits in list().
  explicit MergedSource(std::stop_token stop) : stop_(std::move(stop)) {}

  void add_folder(std::shared_ptr<io::ObjectSource> folder) {
    order_.emplace_back();
    folders_.push_back(std::move(folder));
    name_location();
  }

  /// Throws Error{usage} with both addresses when there is another object of that name.
  void add_object(const std::string& name, const OpenObject& object) {
    const auto [there, is_new] = objects_.try_emplace(name, object);
    if (!is_new) refuse_pair(name, there->second, object);
    order_.push_back(name);
    names_.push_back(name);
    name_location();
  }

  /// "s3://bucket/train and 2 more".
  const std::string& location() const override { return location_; }

  std::string address_of(const std::string& name) const override {
    const auto owner = owner_of(name);
    return owner ? owner->source->address_of(owner->name) : name;
  }

  /// All folders' objects, and the single ones, in the order added. Throws Error{usage} with both addresses if two have
  /// one name, Error{not_found} for a single one that does not exist, and the errors of the sources.
  std::vector<io::ObjectInfo> list(const std::string& folder) override {
    const auto singles = find_all(*this, names_, stop_);
    std::vector<io::ObjectInfo> found;
    std::unordered_map<std::string, std::shared_ptr<io::ObjectSource>> seen;
    auto single = singles.begin();
    auto source = folders_.begin();
    for (const std::string& name : order_) {
      if (name.empty()) {
        add_listing(*source++, seen, found);
      } else if (*single) {
        found.push_back(**single++);
      } else {
        const std::string address = address_of(name);
        throw Error(ErrorCode::not_found, At{address}, "'{}' does not exist", address);
      }
    }
    const std::scoped_lock lock(mutex_);
    in_folders_ = std::move(seen);
    if (!folder.empty())
      std::erase_if(found, [&](const auto& object) { return !object.name.starts_with(folder + '/'); });
    return found;
  }

  std::vector<std::string> names_in(const std::string& folder) override {
    std::vector<std::string> names;
    for (const std::string& name : names_) {
      if (is_right_below(folder, name)) names.push_back(name);
    }
    for (const auto& source : folders_) {
      std::ranges::move(source->names_in(folder), std::back_inserter(names));
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

  /// If two folders contain the name, the first one added is used.
  std::optional<io::ObjectInfo> find(const std::string& name) override {
    if (const auto owner = owner_of(name)) {
      auto object = owner->source->find(owner->name);
      if (object) object->name = name;
      return object;
    }
    for (const auto& folder : folders_) {
      auto object = folder->find(name);
      if (!object) continue;
      remember(name, folder);
      return object;
    }
    return std::nullopt;
  }

  void bypass_caches(const std::string& name) override {
    if (const auto owner = owner_of(name)) owner->source->bypass_caches(owner->name);
  }

  io::Fetched fetch(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                    const std::stop_token& stop) override {
    const auto owner = owner_of(object.name);
    if (!owner) return io::Fetched::changed;
    return owner->source->fetch({owner->name, object.size, object.version}, offset, length, write, stop);
  }

  io::Fetched fetch_whole(const io::ObjectInfo& object, const std::function<BodyWriter()>& start,
                          const std::stop_token& stop) override {
    const auto owner = owner_of(object.name);
    if (!owner) return io::Fetched::changed;
    return owner->source->fetch_whole({owner->name, object.size, object.version}, start, stop);
  }

 private:
  void add_listing(const std::shared_ptr<io::ObjectSource>& source,
                   std::unordered_map<std::string, std::shared_ptr<io::ObjectSource>>& seen,
                   std::vector<io::ObjectInfo>& found) const {
    for (io::ObjectInfo& object : source->list()) {
      const OpenObject owner{source, object.name, {}};
      if (const auto single = objects_.find(object.name); single != objects_.end()) {
        refuse_pair(object.name, single->second, owner);
      }
      const auto [there, is_new] = seen.try_emplace(object.name, source);
      if (!is_new) refuse_pair(object.name, {there->second, object.name, {}}, owner);
      found.push_back(std::move(object));
    }
  }

  std::optional<OpenObject> owner_of(const std::string& name) const {
    if (const auto single = objects_.find(name); single != objects_.end()) return single->second;
    const std::scoped_lock lock(mutex_);
    const auto known = in_folders_.find(name);
    if (known == in_folders_.end()) return std::nullopt;
    return OpenObject{known->second, name, {}};
  }

  void remember(const std::string& name, const std::shared_ptr<io::ObjectSource>& folder) {
    const std::scoped_lock lock(mutex_);
    in_folders_.try_emplace(name, folder);
  }

  void name_location() {
    const std::size_t more = folders_.size() + names_.size() - 1;
    location_ = folders_.empty() ? address_of(names_.front()) : folders_.front()->location();
    if (more > 0) location_ = location_of_several(location_, more);
  }

  [[noreturn]] static void refuse_pair(const std::string& name, const OpenObject& one, const OpenObject& other) {
    const std::string second = other.source->address_of(other.name);
    throw Error(ErrorCode::usage, At{second},
                "'{}' and '{}' would both get the name '{}'; process them separately, into one folder each",
                one.source->address_of(one.name), second, name);
  }

  std::stop_token stop_;
  std::string location_;
  std::vector<std::shared_ptr<io::ObjectSource>> folders_;
  std::vector<std::string> order_;  ///< name of each single object, or empty for the next folder
  std::vector<std::string> names_;  ///< of the single objects, in the order added
  std::unordered_map<std::string, OpenObject> objects_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<io::ObjectSource>>
      in_folders_;  ///< whose the names are, as far as known
};

constexpr std::uint64_t kLargestManifest = 1ULL << 30U;

using Locations = std::vector<ObjectLocation>;

/// The deepest folder that contains all objects; empty if they are in several stores, or have only "/" in common.
std::optional<ObjectLocation> common_folder(const Locations& objects) {
  ObjectLocation folder = objects.front().folder();
  const std::string store = folder.store();
  for (const ObjectLocation& object : objects) {
    if (object.store() != store) return std::nullopt;
    while (!object.path.starts_with(folder.path)) {
      folder.path.pop_back();
      folder.path.resize(folder.path.rfind('/') + 1);
    }
  }
  if (folder.kind == ObjectLocation::Kind::local && folder.path.empty()) return std::nullopt;
  return folder;
}

std::string name_of(const ObjectLocation& object, const std::optional<ObjectLocation>& common) {
  const std::size_t begin = common ? common->path.size() : object.folder().path.size();
  return decoded(object, std::string_view(object.path).substr(begin));
}

/// Whether one source, opened at `folder`, can find all objects by their names.
bool are_of_one_source(const Locations& objects, const ObjectLocation& folder) {
  const std::string access = folder.access();
  return std::ranges::all_of(objects, [&](const ObjectLocation& object) {
    return object.access() == access && encodes_again(object, std::string_view(object.path).substr(folder.path.size()));
  });
}

/// Whether `text` is of a manifest of ours that lists any of `names`. Throws Error{corrupt} when it is damaged.
bool is_manifest_of(const std::vector<std::string>& names, const std::string& text, const std::string& path) {
  if (formats::is_foreign_manifest(text)) return false;
  const formats::Manifest manifest = formats::read_manifest(text, path);
  std::unordered_set<std::string_view> known;
  for (const formats::ManifestShard& shard : manifest.shards) known.insert(shard.name);
  return std::ranges::any_of(names, [&](const std::string& name) { return known.contains(name); });
}

/// Calls `look`; an answer that does not say whether there is a manifest is a problem of the set, not an error: its
/// files may still be readable.
void look_for_manifest(ObjectSet& set, const std::function<bool()>& look) {
  try {
    if (look()) set.manifest = formats::kManifestName;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    set.manifest_problem = error.what();
  }
}

/// Finds the manifest of the folder that the source is, when it lists some of the names.
void find_manifest(ObjectSet& set, const std::stop_token& stop) {
  if (std::ranges::any_of(set.names, [](const auto& name) { return name.find('/') != std::string::npos; })) return;
  look_for_manifest(set, [&] {
    const auto object = set.source->find(formats::kManifestName);
    if (!object) return false;
    const std::string text = io::fetch_text(*set.source, *object, kLargestManifest, stop);
    return is_manifest_of(set.names, text, set.source->address_of(formats::kManifestName));
  });
}

ObjectSet listed_objects(const Locations& objects, Inputs& inputs) {
  ObjectSet set;
  set.listed = true;
  const auto common = common_folder(objects);
  for (const ObjectLocation& object : objects) set.names.push_back(name_of(object, common));
  if (common && are_of_one_source(objects, *common)) {
    set.source = inputs.folder(*common);
    check_names(set.names, set.source->location());
    find_manifest(set, inputs.stop());
    return set;
  }
  auto merged = std::make_unique<MergedSource>(inputs.stop());
  for (std::size_t i = 0; i < objects.size(); ++i) merged->add_object(set.names[i], inputs.object(objects[i]));
  check_names(set.names, merged->location());
  set.source = std::move(merged);
  return set;
}

ObjectSet one_folder(const ObjectLocation& folder, Inputs& inputs) {
  ObjectSet set;
  set.source = inputs.folder(folder);
  const auto look = [&] { return set.source->find(formats::kManifestName).has_value(); };
  if (folder.kind != ObjectLocation::Kind::web) {
    look_for_manifest(set, look);
  } else if (look()) {  // what it lists is all that is known
    set.manifest = formats::kManifestName;
  }
  return set;
}

[[noreturn]] void refuse_web_folder(const ObjectLocation& folder) {
  const std::string address = folder.display();
  throw Error(ErrorCode::unsupported, At{address},
              "'{}' is a folder behind HTTP, which has no listing, so it cannot be combined with others; use it on its "
              "own, or give its files as a pattern, a list or a wids index",
              address);
}

ObjectSet merged_set(const Locations& locations, const Locations& objects, Inputs& inputs) {
  auto merged = std::make_unique<MergedSource>(inputs.stop());
  const auto common = objects.empty() ? std::nullopt : common_folder(objects);
  for (const ObjectLocation& location : locations) {
    if (!location.is_folder()) {
      merged->add_object(name_of(location, common), inputs.object(location));
    } else if (location.kind == ObjectLocation::Kind::web) {
      refuse_web_folder(location);
    } else {
      merged->add_folder(inputs.folder(location));
    }
  }
  ObjectSet set;
  set.source = std::move(merged);
  return set;
}

}  // namespace

std::vector<std::optional<io::ObjectInfo>> find_all(io::ObjectSource& source, const std::vector<std::string>& names,
                                                    const std::stop_token& stop, unsigned concurrency) {
  std::vector<std::optional<io::ObjectInfo>> found(names.size());
  sync::for_each_index(names.size(), concurrency, stop,
                       [&](std::size_t at, std::size_t) { found[at] = source.find(names[at]); });
  return found;
}

std::string location_of_several(std::string_view first, std::uint64_t more) {
  return fmt::format("{}{}{}{}", first, kBeforeMore, more, kAfterMore);
}

bool is_location_of_several(std::string_view location) {
  const std::size_t before = location.rfind(kBeforeMore);
  if (before == std::string_view::npos || !location.ends_with(kAfterMore)) return false;
  const std::size_t number = before + kBeforeMore.size();
  return parse_count(location.substr(number, location.size() - kAfterMore.size() - number)).has_value();
}

ObjectSet open_objects(const std::vector<std::string>& operands, const net::StoreOptions& options,
                       const std::stop_token& stop) {
  Inputs inputs(options, stop);
  Locations locations;
  Locations folders;
  for (NamedInput& named : resolve_operands(operands, inputs)) {
    if (named.location.is_folder()) folders.push_back(named.location);
    locations.push_back(std::move(named.location));
  }
  // A source that is named as a whole has its objects already.
  std::erase_if(locations, [&](const ObjectLocation& location) {
    return !location.is_folder() && std::ranges::any_of(folders, [&](const ObjectLocation& folder) {
      return location.path.starts_with(folder.path) && location.access() == folder.access();
    });
  });
  Locations objects;
  std::ranges::copy_if(locations, std::back_inserter(objects), std::not_fn(&ObjectLocation::is_folder));
  if (folders.empty()) return listed_objects(objects, inputs);
  if (folders.size() == 1 && objects.empty()) return one_folder(folders.front(), inputs);
  return merged_set(locations, objects, inputs);
}

}  // namespace shardkit::catalog
