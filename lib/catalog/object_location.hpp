#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/url.hpp"

namespace shardkit::catalog {

/// Where a file or folder is: on this machine, in a bucket, or at a web server.
struct ObjectLocation {
  enum class Kind {
    local,
    bucket,  ///< of an object store: keys are bytes as they are
    web,     ///< percent-encoded, perhaps with login and query
  };

  Kind kind = Kind::local;
  /// In the store, parted by '/', without one in front; a folder's is empty or ends with one. As the store is asked for
  /// it: an absolute path, a key, the percent-encoded path of a URL.
  std::string path;
  std::string bucket = {};  ///< with its scheme: "s3://bucket"
  net::Url url = {};        ///< of the web: all but the path

  /// What tells one store from another: "/", "s3://bucket", "https://host:port".
  std::string store() const;
  /// The same, and what opens it: login and query. Holds secrets: never for a message.
  std::string access() const;
  /// For messages, with no secret in it.
  std::string display() const;

  bool is_folder() const { return path.empty() || path.ends_with('/'); }
  /// The folder that it lies in; that of a folder is itself.
  ObjectLocation folder() const;
  /// The URL of a place in the web, in full.
  net::Url full_url() const;
};

/// True for what is written like a URL of any kind, and for WebDataset's "pipe:COMMAND".
bool is_address(std::string_view text);

/// Reads an address of a registered scheme (net/store_source.hpp) or a path, which is taken from the working folder.
/// Throws Error{usage} for a broken address, Error{unsupported} for one of another kind; no text shows a login or a
/// query.
ObjectLocation parse_location(const std::string& text);

/// What `entry` means in a list that lies at `list`: an address of its own, or a path from the list's folder; of a list
/// behind HTTP a relative URL, which goes with the list's login and, unless it has its own, query. Never a local file
/// for a remote list. Throws as parse_location(), and Error{usage} for a path that leads out of the store.
ObjectLocation place_in_list(const ObjectLocation& list, const std::string& entry);

/// `path` of a place, or a part of it, as names of objects have it: of a URL percent-decoded.
std::string decoded(const ObjectLocation& place, std::string_view path);
/// Whether the decoded part, encoded again, is what it was: if not, its object must be asked for by its very URL.
bool encodes_again(const ObjectLocation& place, std::string_view path);

/// Refuses names that cannot be files below one folder, as keys of a bucket may be: one with an empty component (a
/// slash in front or behind, two in a row), with "." or "..", with a NUL, with a component over 255 bytes, or one that
/// is also the folder of another name ("a" beside "a/b"). Throws Error{unsupported} with the first such name, how many
/// there are and what to do; `location` is theirs, for the message.
void check_names(const std::vector<std::string>& names, const std::string& location);

}  // namespace shardkit::catalog
