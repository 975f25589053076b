#include "catalog/merged_source.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/object_lookup.hpp"
#include "core/error.hpp"

namespace shardkit {
namespace {

constexpr unsigned kLookUps = 32;  // at a time

/// Whether `name` lies right below `folder`.
bool is_right_below(const std::string& folder, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? folder.empty() : name.compare(0, slash, folder) == 0;
}

}  // namespace

void MergedSource::add_folder(std::shared_ptr<ObjectSource> folder) {
  folders_.push_back(std::move(folder));
  name_location();
}

void MergedSource::add_object(const std::string& name, std::shared_ptr<ObjectSource> source, std::string inner) {
  Owner owner{std::move(source), std::move(inner)};
  const auto [there, is_new] = objects_.try_emplace(name, owner);
  if (!is_new) refuse_pair(name, there->second, owner);
  names_.push_back(name);
  name_location();
}

void MergedSource::name_location() {
  const std::size_t more = folders_.size() + names_.size() - 1;
  location_ = folders_.empty() ? address_of(names_.front()) : folders_.front()->location();
  if (more > 0) location_ += fmt::format(" and {} more", more);
}

std::string MergedSource::address_of(const std::string& name) const {
  const auto owner = owner_of(name);
  return owner ? owner->source->address_of(owner->inner) : name;
}

std::vector<ObjectInfo> MergedSource::list() {
  const auto singles = find_all(*this, names_, kLookUps, stop_);
  std::vector<ObjectInfo> found;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (singles[i]) {
      found.push_back(*singles[i]);
      continue;
    }
    const std::string address = address_of(names_[i]);
    throw Error(ErrorCode::not_found, fmt::format("'{}' is not there", address), address);
  }
  std::unordered_map<std::string, std::shared_ptr<ObjectSource>> seen;
  for (const auto& folder : folders_) {
    for (ObjectInfo& object : folder->list()) {
      const Owner owner{folder, object.name};
      if (const auto single = objects_.find(object.name); single != objects_.end()) {
        refuse_pair(object.name, single->second, owner);
      }
      const auto [there, is_new] = seen.try_emplace(object.name, folder);
      if (!is_new) refuse_pair(object.name, {there->second, object.name}, owner);
      found.push_back(std::move(object));
    }
  }
  std::ranges::sort(found, {}, &ObjectInfo::name);
  const std::scoped_lock lock(mutex_);
  in_folders_ = std::move(seen);
  return found;
}

std::vector<std::string> MergedSource::names_in(const std::string& folder) {
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

std::optional<ObjectInfo> MergedSource::find(const std::string& name) {
  if (const auto owner = owner_of(name)) {
    auto object = owner->source->find(owner->inner);
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

Fetched MergedSource::fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length,
                            const BodyWriter& write, const std::stop_token& stop) {
  const auto owner = owner_of(object.name);
  if (!owner) return Fetched::changed;
  return owner->source->fetch({owner->inner, object.size, object.version}, offset, length, write, stop);
}

Fetched MergedSource::fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                                  const std::stop_token& stop) {
  const auto owner = owner_of(object.name);
  if (!owner) return Fetched::changed;
  return owner->source->fetch_whole({owner->inner, object.size, object.version}, start, stop);
}

std::optional<MergedSource::Owner> MergedSource::owner_of(const std::string& name) const {
  if (const auto single = objects_.find(name); single != objects_.end()) return single->second;
  const std::scoped_lock lock(mutex_);
  const auto known = in_folders_.find(name);
  if (known == in_folders_.end()) return std::nullopt;
  return Owner{known->second, name};
}

void MergedSource::remember(const std::string& name, const std::shared_ptr<ObjectSource>& folder) {
  const std::scoped_lock lock(mutex_);
  in_folders_.try_emplace(name, folder);
}

void MergedSource::refuse_pair(const std::string& name, const Owner& one, const Owner& other) {
  const std::string second = other.source->address_of(other.inner);
  throw Error(ErrorCode::usage,
              fmt::format("'{}' and '{}' would both have the name '{}'; take them one after the other, into a folder "
                          "each",
                          one.source->address_of(one.inner), second, name),
              second);
}

}  // namespace shardkit
