#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/url.hpp"

namespace shardkit::catalog {

/// Location of a file or folder: on this machine, in a bucket, or on a web server.
struct ObjectLocation {
  enum class Kind {
    local,
    bucket,  ///< of an object store: keys are bytes as they are
    web,     ///< percent-encoded, perhaps with login and query
  };

  Kind kind = Kind::local;
  /// In the store, separated by '/', without one in front; a folder's is empty or ends with one. As used in requests:
  /// an absolute path, a key, the percent-encoded path of a URL.
  std::string path;
  std::string bucket = {};  ///< with its scheme: "s3://bucket"
  net::Url url = {};        ///< of a URL: all except the path

  /// Identity of a store: "/", "s3://bucket", "https://host:port".
  std::string store() const;
  /// The same with login and query. Contains secrets: never use it in a message.
  std::string access() const;
  /// For messages, without secrets.
  std::string display() const;

  bool is_folder() const { return path.empty() || path.ends_with('/'); }
  /// The folder that contains it; a folder is its own.
  ObjectLocation folder() const;
  /// The complete URL of a web location.
  net::Url full_url() const;
};

/// True for any kind of URL, and for WebDataset's "pipe:COMMAND".
bool is_address(std::string_view text);

/// Parses an address of a registered scheme (net/store_opener.hpp) or a path, which is relative to the working folder.
/// Throws Error{usage} for an invalid address, Error{unsupported} for another scheme; no message contains a login or a
/// query.
ObjectLocation parse_location(const std::string& text);

/// Meaning of `entry` in a list at `list`: a separate address, or a path relative to the list's folder. In a list
/// behind HTTP a relative URL gets the list's login and, unless it has its own, query. Never a local file for a remote
/// list. Throws like parse_location(), and Error{usage} for a path that leaves the store.
ObjectLocation location_in_list(const ObjectLocation& list, const std::string& entry);

/// `path` of a location, or a part of it, as a name of objects: for a URL percent-decoded.
std::string decoded(const ObjectLocation& location, std::string_view path);
/// Whether the decoded part, encoded again, is unchanged: if not, its object must be requested by its original URL.
bool encodes_again(const ObjectLocation& location, std::string_view path);

/// Refuses names that cannot be files below one folder, although they can be keys of a bucket: names with an empty
/// component (a leading or trailing slash, two in a row), with "." or "..", with a NUL, with a component of more than
/// 255 bytes, or one that is also the folder of another name ("a" and "a/b"). Throws Error{unsupported} with the first
/// such name, their number and what to do; `location` is used in the message.
void check_names(const std::vector<std::string>& names, const std::string& location);

}  // namespace shardkit::catalog
