#include "bench/read/store_objects.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "catalog/object_place.hpp"
#include "formats/manifest.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kLargestManifest = 1ULL << 30U;
constexpr unsigned kLookups = 32;  // at a time

bool is_shard(const io::ObjectInfo& object) { return object.name.ends_with(".tar"); }

bool is_hidden(const io::ObjectInfo& object) {
  return object.name.starts_with('.') || object.name.find("/.") != std::string::npos;
}

std::vector<io::ObjectInfo> named_objects(const catalog::ObjectSet& set, Context& context) {
  std::vector<io::ObjectInfo> objects;
  auto found = catalog::find_all(*set.source, set.names, kLookups, context.stop_token());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) {
      objects.push_back(std::move(*found[i]));
      continue;
    }
    const std::string address = set.source->address_of(set.names[i]);
    throw Error(ErrorCode::not_found, fmt::format("'{}' is missing", address), address);
  }
  return objects;
}

/// The shards by the manifest, which costs one request however many there are. They are read in any version.
std::vector<io::ObjectInfo> manifest_objects(const catalog::ObjectSet& set, Context& context) {
  const std::string address = set.source->address_of(set.manifest);
  const auto manifest = set.source->find(set.manifest);
  if (!manifest) throw Error(ErrorCode::not_found, fmt::format("'{}' is missing", address), address);
  const std::string text = io::fetch_text(*set.source, *manifest, kLargestManifest, context.stop_token());
  std::vector<io::ObjectInfo> objects;
  for (const formats::ManifestShard& shard : formats::read_manifest(text, address).shards)
    objects.push_back({shard.name, shard.bytes, {}});
  return objects;
}

std::vector<io::ObjectInfo> folder_objects(const catalog::ObjectSet& set) {
  std::vector<io::ObjectInfo> objects = set.source->list();
  const bool has_shards = std::ranges::any_of(objects, is_shard);
  std::erase_if(objects,
                [&](const io::ObjectInfo& object) { return is_hidden(object) || (has_shards && !is_shard(object)); });
  return objects;
}

}  // namespace

std::vector<io::ObjectInfo> data_objects(const catalog::ObjectSet& set, Context& context) {
  context.progress().start("listing objects");
  std::vector<io::ObjectInfo> objects;
  if (set.listed) {
    objects = named_objects(set, context);
  } else {
    objects = set.manifest.empty() ? folder_objects(set) : manifest_objects(set, context);
  }
  if (std::ranges::any_of(objects, [](const io::ObjectInfo& object) { return object.size > 0; })) return objects;
  const std::string& location = set.source->location();
  throw Error(ErrorCode::not_found, fmt::format("there is nothing to read in '{}'", location), location);
}

namespace {

constexpr unsigned kMostUnanswered = 3;
constexpr system::Seconds kLeastWait{1};

/// The operand that the error is about, by the server that it names, else the first one; without login and query.
std::string concerned(const Error& error, const std::vector<std::string>& operands) {
  std::vector<catalog::ObjectPlace> places;
  for (const std::string& operand : operands) {
    if (catalog::is_address(operand)) places.push_back(catalog::parse_place(operand));
  }
  if (places.empty()) return operands.front();
  const auto of_store = [&](const catalog::ObjectPlace& place) { return error.path().starts_with(place.store()); };
  const auto found = std::ranges::find_if(places, of_store);
  return (found == places.end() ? places.front() : *found).display();
}

/// What happened, without the address in front: it may be of a file that only we look for.
std::string reason_of(const Error& error) {
  const std::string text = error.what();
  const std::string address = fmt::format("'{}': ", error.path());
  return text.starts_with(address) ? text.substr(address.size()) : text;
}

}  // namespace

StorePatience::StorePatience(double budget, system::Clock& clock)
    : clock_(clock), budget_(budget), end_(clock.monotonic() + budget_) {}

void StorePatience::apply(net::StoreOptions& options) {
  const system::Seconds most = std::max(budget_ / 4, kLeastWait);  // one silent server does not take the whole budget
  options.http.connect_timeout = std::min(options.http.connect_timeout, most);
  options.http.stall.window = std::min(options.http.stall.window, most);
  options.retry.may_retry = [this](const net::RetryEvent& event) { return may_retry(event); };
}

bool StorePatience::may_retry(const net::RetryEvent& event) const {
  if (!finding_) return true;
  if (!event.answered && event.failures >= kMostUnanswered) return false;
  return clock_.monotonic() + event.wait < end_;
}

Error unreachable(const Error& error, const std::vector<std::string>& operands) {
  const std::string address = concerned(error, operands);
  const std::string reason = catalog::is_address(address) ? reason_of(error) : error.what();
  return {error.code(),
          fmt::format("'{}' cannot be read: {}; check the address, and that its server runs and answers this machine",
                      address, reason),
          address};
}

}  // namespace shardkit::bench
