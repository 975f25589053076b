#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/fields.hpp"
#include "io/object_source.hpp"
#include "net/store_source.hpp"
#include "net/url.hpp"

namespace shardkit::catalog {

/// Where a file or folder is: on this machine, in a bucket, or at a web server.
struct ObjectPlace {
  enum class Kind { local, s3, http };

  Kind kind = Kind::local;
  /// In the store, parted by '/', without one in front; a folder's is empty or ends with one. As the store is asked for
  /// it: an absolute path, a key, the percent-encoded path of a URL.
  std::string path;
  std::string bucket = {};  ///< s3
  net::Url url = {};        ///< http: all but the path

  /// What tells one store from another: "/", "s3://bucket", "https://host:port".
  std::string store() const;
  /// The same, and what opens it: login and query. Holds secrets: never for a message.
  std::string access() const;
  /// For messages, with no secret in it.
  std::string display() const;

  bool is_folder() const { return path.empty() || path.ends_with('/'); }
  /// The folder that it lies in; that of a folder is itself.
  ObjectPlace folder() const;
  /// The URL of an http place, in full.
  net::Url full_url() const;
};

/// True for what is written like a URL, of any kind, and for WebDataset's "pipe:COMMAND".
bool is_address(std::string_view text);

/// Reads s3://bucket/key, an http(s) URL, or a path, which is taken from the working folder. Throws Error{usage} for a
/// broken address, Error{unsupported} for one of another kind; no text shows a login or a query.
ObjectPlace parse_place(const std::string& text);

/// What `entry` means in a list that lies at `list`: an address of its own, or a path from the list's folder; of a list
/// behind HTTP a relative URL, which goes with the list's login and, unless it has its own, query. Never a local file
/// for a remote list. Throws as parse_place(), and Error{usage} for a path that leads out of the store.
ObjectPlace place_in_list(const ObjectPlace& list, const std::string& entry);

/// `path` of a place, or a part of it, as names of objects have it: of a URL percent-decoded.
std::string decoded(const ObjectPlace& place, std::string_view path);
/// Whether the decoded part, encoded again, is what it was: if not, its object must be asked for by its very URL.
bool encodes_again(const ObjectPlace& place, std::string_view path);

/// An object of a source.
struct OpenObject {
  std::shared_ptr<io::ObjectSource> source;
  std::string name;  ///< in the source
};

/// Opens what lies at places. Sources of stores share connections and credentials. One thread at a time.
class ObjectOpener {
 public:
  ObjectOpener(const net::StoreOptions& options, std::stop_token stop) : stores_(options), stop_(std::move(stop)) {}

  /// The source of what is below a folder. Throws Error{not_found} for a local one that is not there.
  std::unique_ptr<io::ObjectSource> folder(const ObjectPlace& place);
  /// A source that has the object. Nothing is asked yet.
  OpenObject object(const ObjectPlace& place);
  /// The whole of a small object. Throws Error{not_found} when it is not there, Error{corrupt} past 1 GiB.
  std::string text(const ObjectPlace& place);
  bool exists(const ObjectPlace& place);

  const std::stop_token& stop() const { return stop_; }

 private:
  net::StoreOpener stores_;
  std::stop_token stop_;
};

/// How a verb gets at object stores: part of its options. Secrets are never options, which other users can see.
struct StoreAccess {
  std::string profile;
  std::string endpoint_url;
  std::string region;
  bool anonymous = false;

  void describe(FieldVisitor& v);

  net::StoreOptions store_options() const;
};

}  // namespace shardkit::catalog
