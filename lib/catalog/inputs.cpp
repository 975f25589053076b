#include "catalog/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/file.hpp"
#include "sync/task_group.hpp"

namespace shardkit::catalog {
namespace {

constexpr unsigned kLookUps = 32;  // at a time

[[noreturn]] void refuse_absent(const std::string& address) {
  throw Error(ErrorCode::not_found, At{address}, "'{}' does not exist", address);
}

/// Directly in a folder, or in a hidden folder there, where indexes are: files that are opened by name later.
bool is_near(std::string_view name) { return name.starts_with('.') || name.find('/') == std::string_view::npos; }

}  // namespace

void StoreAccess::describe(FieldList& v) {
  v.topic(kTopic);
  v.field({"profile", "profile of the AWS configuration files for credentials and settings", "NAME"}, profile);
  v.field({"endpoint-url",
           "endpoint of s3:// objects if not AWS: MinIO, Ceph, R2, AIStore; default: AWS_ENDPOINT_URL_S3, "
           "AWS_ENDPOINT_URL or the profile's",
           "URL"},
          endpoint_url);
  v.field({"virtual-hosts",
           "at this endpoint each bucket has its own host, BUCKET.HOST; default: the profile's addressing_style"},
          virtual_hosts);
  v.field({"region", "region of the bucket; default: AWS_REGION or the profile's, corrected by the store", "NAME"},
          region);
  v.field({"requester-pays", "pay for requests to buckets whose owner does not"}, requester_pays);
  v.field({"anonymous", "send no credentials, for public buckets"}, anonymous);
}

net::StoreOptions StoreAccess::store_options(Context& context) const {
  net::StoreOptions options;
  options.s3 = *this;
  options.token = net::bearer_token(system::process_environment());
  options.retry.on_retry = [&context](const net::RetryEvent& event) {
    context.repeated({event.address, event.reason, event.failures, event.attempts, event.wait.count(),
                      event.retry_after.value_or(system::Seconds(0)) > system::Seconds(0), 0});
  };
  return options;
}

void refuse_special_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_other(path, ignored)) return;
  throw Error(ErrorCode::unsupported, At{path},
              "'{}' is a pipe, socket or device; inputs are read by offset: write it to a file first", path);
}

std::unique_ptr<ByteSource> Inputs::open(const std::string& path) {
  if (!is_address(path)) {
    refuse_special_file(path);
    return std::make_unique<io::FileSource>(path);
  }
  const Known known = look_up(path);
  if (!known.object) refuse_absent(path);
  return std::make_unique<io::ObjectReader>(known.source, *known.object, stop_);
}

bool Inputs::exists(const std::string& path) {
  std::error_code ignored;
  if (!is_address(path)) return std::filesystem::exists(path, ignored);
  try {
    return find(path).has_value();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::denied || error.code() == ErrorCode::unsupported) return false;
    throw;
  }
}

std::string Inputs::text(const std::string& path, std::uint64_t limit) {
  if (!is_address(path)) {
    refuse_special_file(path);
    return io::read_text_file(path, limit);
  }
  const Known known = look_up(path);
  if (!known.object) refuse_absent(path);
  return io::fetch_text(*known.source, *known.object, limit, stop_);
}

std::optional<io::ObjectInfo> Inputs::find(const std::string& address) { return look_up(address).object; }

std::vector<std::optional<io::ObjectInfo>> Inputs::find_all(const std::vector<std::string>& addresses) {
  std::vector<std::optional<io::ObjectInfo>> found(addresses.size());
  sync::for_each_index(addresses.size(), kLookUps, stop_,
                       [&](std::size_t at, std::size_t) { found[at] = find(addresses[at]); });
  return found;
}

Inputs::Known Inputs::look_up(const std::string& address) {
  OpenObject open;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = known_.find(address); known != known_.end()) return known->second;
    const auto is_listed = [&](const std::string& folder) {
      return address.starts_with(folder) && is_near(std::string_view(address).substr(folder.size()));
    };
    if (std::ranges::any_of(listed_, is_listed)) return {};
    open = object(location_of(address));
  }
  auto found = open.source->find(open.name);
  const std::scoped_lock lock(mutex_);
  return known_.try_emplace(address, Known{std::move(open.source), std::move(found)}).first->second;
}

/// Called with the lock held. Files beside an object are opened as the object is.
ObjectLocation Inputs::location_of(const std::string& address) const {
  if (const auto location = locations_.find(address); location != locations_.end()) return location->second;
  for (std::size_t slash = address.rfind('/'); slash != std::string::npos && slash > 0;
       slash = address.rfind('/', slash - 1)) {
    const auto folder = folders_.find(address.substr(0, slash));
    if (folder == folders_.end()) continue;
    ObjectLocation location = folder->second;
    const std::string_view below = std::string_view(address).substr(slash + 1);
    location.path += location.kind == ObjectLocation::Kind::web ? net::percent_encode_path(below) : below;
    return location;
  }
  return parse_location(address);
}

void Inputs::add(const ObjectLocation& location) {
  if (location.kind == ObjectLocation::Kind::local) return;
  const std::string address = location.display();
  const auto [known, is_new] = locations_.try_emplace(address, location);
  if (!is_new && known->second.access() != location.access()) {
    throw Error(ErrorCode::usage, At{address},
                "two URLs are '{}' and differ only in login or query; use separate commands for them", address);
  }
  ObjectLocation folder = location.folder();
  ObjectLocation shown = folder;
  shown.url.query.clear();
  std::string text = shown.display();
  text.pop_back();
  folders_.try_emplace(std::move(text), std::move(folder));
}

std::string Inputs::add_named(const std::string& text) {
  if (!is_address(text)) return text;
  const ObjectLocation location = parse_named(text);
  add(location);
  return location.display();
}

ObjectLocation Inputs::parse_named(const std::string& text) {
  ObjectLocation location = parse_location(text);
  if (location.kind == ObjectLocation::Kind::web) stores_.trust(location.url);
  return location;
}

std::vector<io::ObjectInfo> Inputs::list(const ObjectLocation& location, bool deep) {
  const std::shared_ptr<io::ObjectSource> source = folder(location);
  std::vector<io::ObjectInfo> objects = source->list();
  if (!deep) std::erase_if(objects, [](const io::ObjectInfo& object) { return !is_near(object.name); });
  for (const io::ObjectInfo& object : objects) {
    known_.insert_or_assign(source->address_of(object.name), Known{source, object});
  }
  listed_.push_back(location.display());
  if (!deep) std::erase_if(objects, [](const auto& object) { return object.name.find('/') != std::string::npos; });
  return objects;
}

std::unique_ptr<io::ObjectSource> Inputs::folder(const ObjectLocation& location) {
  if (location.kind == ObjectLocation::Kind::local) return io::open_object_source(location.display());
  if (location.kind == ObjectLocation::Kind::bucket) return stores_.open(location.display(), stop_);
  return stores_.open(location.full_url(), stop_);
}

OpenObject Inputs::object(const ObjectLocation& location) {
  ObjectLocation root = location.folder();
  if (root.kind != ObjectLocation::Kind::web) root.path.clear();  // the spelling of a URL may not survive decoding
  const std::string name = location.path.substr(root.path.size());
  if (encodes_again(location, name)) return {shared_source(root), decoded(location, name), ""};
  return {shared_source(location), "", ""};
}

OpenObject Inputs::known_object(const std::string& address) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = known_.find(address); known != known_.end() && known->second.object) {
    return {known->second.source, known->second.object->name, known->second.object->version};
  }
  return object(location_of(address));
}

std::shared_ptr<io::ObjectSource> Inputs::shared_source(const ObjectLocation& root) {
  auto& source = sources_[fmt::format("{}\n{}", root.access(), root.path)];
  if (!source) source = folder(root);
  return source;
}

}  // namespace shardkit::catalog
