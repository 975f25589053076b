#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "io/object_source.hpp"

namespace shardkit::net {

/// A part of a listing.
struct ObjectPage {
  std::vector<io::ObjectInfo> objects;
  std::vector<std::string> prefixes;  ///< of what lies below a delimiter, each with it at its end
};

/// Objects behind HTTP: an S3 bucket, or the files below a URL. Keys are bytes as the store has them, nothing encoded.
/// Every call persists through what passes (retry.hpp) and ends with its result or a final Error{not_found, denied,
/// network, corrupt, unsupported} that names the object; Error{cancelled} within 200 ms of a stop. Thread-safe: each
/// call under way has a connection of its own.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// For messages and records, with no secret in it: "s3://bucket", "https://host/folder".
  virtual const std::string& location() const = 0;

  /// The same of one object.
  virtual std::string name_of(const std::string& key) const = 0;

  /// Calls `each` for one page after the other of the objects whose keys begin with `prefix`, in the store's order.
  /// With a `delimiter`, keys that hold it behind the prefix are rolled up into prefixes. Throws Error{unsupported}
  /// where there is no listing: plain HTTP.
  virtual void list(const std::string& prefix, const std::string& delimiter,
                    const std::function<void(const ObjectPage&)>& each, const std::stop_token& stop) = 0;

  struct Found {
    io::ObjectInfo object;  ///< `version`: what pins it (object_version.hpp)
    bool ranges = true;     ///< parts of it can be had
  };
  /// One object as it is now; empty when it is not there.
  virtual std::optional<Found> find(const std::string& key, const std::stop_token& stop) = 0;

  /// Hands the bytes [offset, offset + length) of that very version to `write`, in order and each once, over as many
  /// requests as it takes: after a broken connection it goes on where it stood. An empty version pins nothing. The
  /// range lies within object.size.
  virtual io::Fetched get_range(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length,
                                const BodyWriter& write, const std::stop_token& stop) = 0;

  /// All bytes of that version in one stream. `start` is called for each attempt, also when an earlier one had
  /// delivered bytes, and returns what takes them from the first on.
  virtual io::Fetched get_whole(const io::ObjectInfo& object, const std::function<BodyWriter()>& start,
                                const std::stop_token& stop) = 0;
};

}  // namespace shardkit::net
