#include "catalog/object_place.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/publish.hpp"

namespace fs = std::filesystem;

namespace shardkit::catalog {
namespace {

/// An absolute path without "." and "..". Where a ".." stands, links count as they do when it is opened.
std::string absolute_path(const std::string& text) {
  fs::path path = fs::absolute(text);
  if (text.find("..") != std::string::npos) {
    std::error_code ignored;  // a folder that is not there is found missing later
    const fs::path folder = fs::weakly_canonical(path.parent_path(), ignored);
    if (!ignored) path = folder / path.filename();
  }
  return path.lexically_normal().string();
}

ObjectPlace local_place(const std::string& text) { return {ObjectPlace::Kind::local, absolute_path(text).substr(1)}; }

ObjectPlace http_place(net::Url url) {
  ObjectPlace place{ObjectPlace::Kind::http, url.path.substr(1)};
  url.path.resize(1);  // its first slash
  place.url = std::move(url);
  return place;
}

ObjectPlace s3_place(net::S3Location location) {
  return {ObjectPlace::Kind::s3, std::move(location.key), std::move(location.bucket)};
}

/// `relative` seen from `folder`, which is empty or ends with a slash.
std::string joined(std::string folder, std::string_view relative, const ObjectPlace& list) {
  while (true) {
    const std::size_t slash = relative.find('/');
    const std::string_view component = relative.substr(0, slash);
    if (component == "..") {
      if (folder.empty()) {
        throw Error(ErrorCode::usage, fmt::format("list '{}' names a path that leads out of its store", list.display()),
                    list.display());
      }
      folder.pop_back();
      folder.resize(folder.rfind('/') + 1);
    } else if (component != ".") {
      folder += relative.substr(0, slash == std::string_view::npos ? slash : slash + 1);
    }
    if (slash == std::string_view::npos) return folder;
    relative.remove_prefix(slash + 1);
  }
}

ObjectPlace place_in_s3_list(const ObjectPlace& list, const std::string& entry) {
  if (entry.starts_with('/')) {
    throw Error(ErrorCode::usage,
                fmt::format("list '{}' names the local path '{}'; in a bucket name objects from the list's folder, or "
                            "as s3://bucket/key",
                            list.display(), entry),
                list.display());
  }
  ObjectPlace place = list;
  place.path = joined(list.folder().path, entry, list);
  return place;
}

ObjectPlace place_in_http_list(const ObjectPlace& list, const std::string& entry) {
  net::Url url = list.url;
  url.user.clear();
  url.password.clear();
  url.query.clear();
  const bool from_root = entry.starts_with('/');
  const net::Url read = net::parse_url(io::join_path(url.text(), std::string_view(entry).substr(from_root ? 1 : 0)));
  ObjectPlace place = list;
  place.path = joined(from_root ? "" : list.folder().path, std::string_view(read.path).substr(1), list);
  if (!read.query.empty()) place.url.query = read.query;
  return place;
}

}  // namespace

std::string ObjectPlace::store() const {
  if (kind == Kind::local) return "/";
  if (kind == Kind::s3) return fmt::format("s3://{}", bucket);
  return fmt::format("{}://{}", url.scheme, url.authority());
}

std::string ObjectPlace::access() const {
  return kind == Kind::http ? fmt::format("{}\n{}\n{}\n{}", store(), url.user, url.password, url.query) : store();
}

std::string ObjectPlace::display() const {
  if (kind == Kind::local) return io::join_path("/", path);
  if (kind == Kind::s3) return net::S3Location{bucket, path}.text();
  return full_url().display();
}

ObjectPlace ObjectPlace::folder() const {
  ObjectPlace folder = *this;
  folder.path.resize(path.rfind('/') + 1);
  return folder;
}

net::Url ObjectPlace::full_url() const {
  net::Url full = url;
  full.path = io::join_path("/", path);
  return full;
}

bool is_address(std::string_view text) {
  return text.find("://") != std::string_view::npos || text.starts_with("pipe:");
}

ObjectPlace parse_place(const std::string& text) {
  if (!is_address(text)) return local_place(text);
  const std::string scheme = lower_case(std::string_view(text).substr(0, text.find(':')));
  if (scheme == "s3") return s3_place(net::parse_s3_location(text));
  if (scheme == "http" || scheme == "https") return http_place(net::parse_url(text));
  throw Error(ErrorCode::unsupported,
              fmt::format("addresses of the kind '{}:' cannot be read; there are s3://bucket/key, http(s)://host/path "
                          "and local paths. Google's buckets are read by s3:// with their S3 endpoint",
                          scheme));
}

ObjectPlace place_in_list(const ObjectPlace& list, const std::string& entry) {
  if (is_address(entry)) return parse_place(entry);
  if (list.kind == ObjectPlace::Kind::s3) return place_in_s3_list(list, entry);
  if (list.kind == ObjectPlace::Kind::http) return place_in_http_list(list, entry);
  return local_place(entry.starts_with('/') ? entry : io::join_path(list.folder().display(), entry));
}

std::string decoded(const ObjectPlace& place, std::string_view path) {
  return place.kind == ObjectPlace::Kind::http ? net::percent_decode(path) : std::string(path);
}

bool encodes_again(const ObjectPlace& place, std::string_view path) {
  return place.kind != ObjectPlace::Kind::http || net::percent_encode_path(net::percent_decode(path)) == path;
}

namespace {

constexpr std::uint64_t kLargestText = 1ULL << 30U;

}  // namespace

std::unique_ptr<io::ObjectSource> ObjectOpener::folder(const ObjectPlace& place) {
  if (place.kind == ObjectPlace::Kind::local) return io::open_object_source(place.display());
  if (place.kind == ObjectPlace::Kind::s3) return net::store_source(stores_.open(place.display()), stop_);
  return net::store_source(stores_.open(place.full_url()), stop_);
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
  if (found) return io::fetch_text(*open.source, *found, kLargestText, stop_);
  throw Error(ErrorCode::not_found, fmt::format("'{}' is not there", place.display()), place.display());
}

bool ObjectOpener::exists(const ObjectPlace& place) {
  const OpenObject open = object(place);
  return open.source->find(open.name).has_value();
}

void StoreAccess::describe(FieldVisitor& v) {
  v.field({"profile", Unit::none, "take credentials and settings from this profile of the AWS configuration files",
           Role::option, "NAME"},
          profile);
  v.field({"endpoint-url", Unit::none,
           "where s3:// objects are when not at AWS: MinIO, Ceph, R2, GCS, AIStore; default: AWS_ENDPOINT_URL_S3, "
           "AWS_ENDPOINT_URL or the profile's",
           Role::option, "URL"},
          endpoint_url);
  v.field({"region", Unit::none, "region of the bucket; default: AWS_REGION or the profile's, put right by the store",
           Role::option, "NAME"},
          region);
  v.field({"anonymous", Unit::none, "send no credentials: public buckets"}, anonymous);
}

net::StoreOptions StoreAccess::store_options() const {
  net::StoreOptions options;
  options.s3 = {profile, endpoint_url, region, anonymous};
  return options;
}

}  // namespace shardkit::catalog
