#include "catalog/object_location.hpp"

#include <filesystem>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "net/store_opener.hpp"

namespace fs = std::filesystem;

namespace shardkit::catalog {
namespace {

/// An absolute path without "." and "..". Links before a ".." count as they do on opening.
std::string absolute_path(const std::string& text) {
  fs::path path = fs::absolute(text);
  if (text.find("..") != std::string::npos) {
    std::error_code ignored;  // a missing folder is reported later
    const fs::path folder = fs::weakly_canonical(path.parent_path(), ignored);
    if (!ignored) path = folder / path.filename();
  }
  return path.lexically_normal().string();
}

ObjectLocation local_location(const std::string& text) {
  return {ObjectLocation::Kind::local, absolute_path(text).substr(1)};
}

ObjectLocation web_location(net::Url url) {
  ObjectLocation location{ObjectLocation::Kind::web, url.path.substr(1)};
  url.path.resize(1);  // its first slash
  location.url = std::move(url);
  return location;
}

ObjectLocation bucket_location(const net::StoreScheme& scheme, std::string_view address) {
  const auto [bucket, key] = scheme.parse(address);
  return {ObjectLocation::Kind::bucket, key, fmt::format("{}://{}", scheme.name, bucket)};
}

/// `relative` seen from `folder`, which is empty or ends with a slash.
std::string joined(std::string folder, std::string_view relative, const ObjectLocation& list) {
  while (true) {
    const std::size_t slash = relative.find('/');
    const std::string_view component = relative.substr(0, slash);
    if (component == "..") {
      if (folder.empty()) {
        throw Error(ErrorCode::usage, At{list.display()}, "list '{}' contains a path that leaves its store",
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

ObjectLocation location_in_bucket_list(const ObjectLocation& list, const std::string& entry) {
  if (entry.starts_with('/')) {
    throw Error(
        ErrorCode::usage, At{list.display()},
        "list '{}' contains the local path '{}'; in a bucket, name objects relative to the list's folder, or as {}/key",
        list.display(), entry, list.bucket);
  }
  ObjectLocation location = list;
  location.path = joined(list.folder().path, entry, list);
  return location;
}

ObjectLocation location_in_web_list(const ObjectLocation& list, const std::string& entry) {
  net::Url url = list.url;
  url.user.clear();
  url.password.clear();
  url.query.clear();
  const bool from_root = entry.starts_with('/');
  const net::Url read = net::parse_url(io::join_path(url.text(), std::string_view(entry).substr(from_root ? 1 : 0)));
  ObjectLocation location = list;
  location.path = joined(from_root ? "" : list.folder().path, std::string_view(read.path).substr(1), list);
  if (!read.query.empty()) location.url.query = read.query;
  return location;
}

std::string_view trouble_of_component(std::string_view component) {
  if (component.empty()) return "a part between its slashes is empty";
  if (component == "." || component == "..") return "a part of it is '.' or '..'";
  if (component.find('\0') != std::string_view::npos) return "it contains a NUL";
  if (component.size() > io::kLongestComponent) return "a part of it is longer than 255 bytes";
  return {};
}

/// Why `name` can be no file; empty when it can.
std::string_view trouble_of(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view trouble = trouble_of_component(name.substr(0, slash));
    if (!trouble.empty() || slash == std::string_view::npos) return trouble;
    name.remove_prefix(slash + 1);
  }
}

/// For a message, whose text ends at a NUL.
std::string readable(std::string_view name) {
  std::string text;
  formats::append_escaped(text, name.substr(0, name.find('\0')));
  return name.find('\0') == std::string_view::npos ? text : text + "\\0...";
}

std::unordered_set<std::string_view> folders_of(const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> folders;
  for (const std::string_view name : names) {
    for (std::size_t slash = name.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = name.rfind('/', slash - 1)) {
      if (!folders.insert(name.substr(0, slash)).second) break;  // those above it are in as well
    }
  }
  return folders;
}

}  // namespace

std::string ObjectLocation::store() const {
  if (kind == Kind::local) return "/";
  if (kind == Kind::bucket) return bucket;
  return fmt::format("{}://{}", url.scheme, url.authority());
}

std::string ObjectLocation::access() const {
  return kind == Kind::web ? fmt::format("{}\n{}\n{}\n{}", store(), url.user, url.password, url.query) : store();
}

std::string ObjectLocation::display() const {
  if (kind == Kind::local) return io::join_path("/", path);
  if (kind == Kind::bucket) return fmt::format("{}/{}", bucket, path);
  return full_url().display();
}

ObjectLocation ObjectLocation::folder() const {
  ObjectLocation folder = *this;
  folder.path.resize(path.rfind('/') + 1);
  return folder;
}

net::Url ObjectLocation::full_url() const {
  net::Url full = url;
  full.path = io::join_path("/", path);
  return full;
}

bool is_address(std::string_view text) {
  return text.find("://") != std::string_view::npos || text.starts_with("pipe:");
}

ObjectLocation parse_location(const std::string& text) {
  if (!is_address(text)) return local_location(text);
  if (const net::StoreScheme* scheme = net::find_store_scheme(text)) {
    return scheme->is_web ? web_location(net::parse_url(text)) : bucket_location(*scheme, text);
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("addresses of the kind '{}:' are not supported; use s3://bucket/key, gs://bucket/key, "
                          "http(s)://host/path or local paths",
                          lower_case(std::string_view(text).substr(0, text.find(':')))));
}

ObjectLocation location_in_list(const ObjectLocation& list, const std::string& entry) {
  if (is_address(entry)) return parse_location(entry);
  if (list.kind == ObjectLocation::Kind::bucket) return location_in_bucket_list(list, entry);
  if (list.kind == ObjectLocation::Kind::web) return location_in_web_list(list, entry);
  return local_location(entry.starts_with('/') ? entry : io::join_path(list.folder().display(), entry));
}

std::string decoded(const ObjectLocation& location, std::string_view path) {
  return location.kind == ObjectLocation::Kind::web ? net::percent_decode(path) : std::string(path);
}

bool encodes_again(const ObjectLocation& location, std::string_view path) {
  return location.kind != ObjectLocation::Kind::web || net::percent_encode_path(net::percent_decode(path)) == path;
}

void check_names(const std::vector<std::string>& names, const std::string& location) {
  const auto folders = folders_of(names);
  std::size_t bad = 0;
  std::string first;
  for (const std::string& name : names) {
    std::string_view trouble = trouble_of(name);
    if (trouble.empty() && folders.contains(name)) trouble = "other names use it as their folder";
    if (trouble.empty()) continue;
    if (bad++ == 0) first = fmt::format("'{}' ({})", readable(name), trouble);
  }
  if (bad == 0) return;
  throw Error(ErrorCode::unsupported, At{location},
              "'{}' contains {} that cannot be files of a folder, first {}; rename them there, or give the objects you "
              "need as a pattern x-{{000..146}}.tar, a list (*.txt) or a wids index",
              location, format_count(bad, "name"), first);
}

}  // namespace shardkit::catalog
