#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "net/store_source.hpp"

namespace shardkit_test {

/// A store of a kind that the library does not know: one class and one row make "mem://bucket/key" readable
/// everywhere. Its objects are those of the process; the version of an object is its content.
class MemoryStore final : public shardkit::net::ObjectStore {
 public:
  using Objects = std::map<std::string, std::string>;  ///< by "bucket/key"

  static Objects& objects() {
    static Objects objects;
    return objects;
  }

  /// The row.
  static void register_scheme() {
    shardkit::net::register_store_scheme(
        {"mem", false, nullptr, [](shardkit::net::StoreOpener& opener, const std::string& address) {
           const std::string path = address.substr(6);
           const std::size_t slash = std::min(path.find('/'), path.size());
           auto store = std::make_unique<MemoryStore>(path.substr(0, slash));
           return shardkit::net::OpenStore{opener.http(), nullptr, std::move(store),
                                           path.substr(std::min(slash + 1, path.size()))};
         }});
  }

  explicit MemoryStore(std::string bucket) : bucket_(std::move(bucket)), location_("mem://" + bucket_) {}

  const std::string& location() const override { return location_; }
  std::string name_of(const std::string& key) const override { return fmt::format("{}/{}", location_, key); }

  void list(const std::string& prefix, const std::string& delimiter,
            const std::function<void(const shardkit::net::ObjectPage&)>& each, const std::stop_token&) override {
    shardkit::net::ObjectPage page;
    for (const auto& [path, content] : objects()) {
      if (!path.starts_with(fmt::format("{}/{}", bucket_, prefix))) continue;
      const std::string key = path.substr(bucket_.size() + 1);
      const std::size_t end = delimiter.empty() ? std::string::npos : key.find(delimiter, prefix.size());
      if (end == std::string::npos) {
        page.objects.push_back({key, content.size(), content});
      } else {
        const std::string below = key.substr(0, end + 1);
        if (page.prefixes.empty() || page.prefixes.back() != below) page.prefixes.push_back(below);
      }
    }
    each(page);
  }

  std::optional<shardkit::io::ObjectInfo> find(const std::string& key, const std::stop_token&) override {
    const auto object = objects().find(fmt::format("{}/{}", bucket_, key));
    if (object == objects().end()) return std::nullopt;
    return shardkit::io::ObjectInfo{key, object->second.size(), object->second};
  }

  shardkit::io::Fetched get_range(const shardkit::io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length,
                                  const shardkit::BodyWriter& write, const std::stop_token& stop) override {
    const auto now = find(object.name, stop);
    if (!now || now->version != object.version) return shardkit::io::Fetched::changed;
    write(shardkit::as_bytes(std::string_view(object.version).substr(offset, length)));
    return shardkit::io::Fetched::whole;
  }

  shardkit::io::Fetched get_whole(const shardkit::io::ObjectInfo& object,
                                  const std::function<shardkit::BodyWriter()>& start,
                                  const std::stop_token& stop) override {
    return get_range(object, 0, object.size, start(), stop);
  }

 private:
  std::string bucket_;
  std::string location_;
};

}  // namespace shardkit_test
