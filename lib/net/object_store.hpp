#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "io/object_source.hpp"
#include "net/http.hpp"
#include "net/retry.hpp"

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

  /// One object as it is now, in the version that pins it (object_version()); empty when it is not there.
  virtual std::optional<io::ObjectInfo> find(const std::string& key, const std::stop_token& stop) = 0;

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

/// What tells one version of an object from another: ObjectInfo::version of stores.
///
/// The ETag as it came, with its quotes; without one "last-modified DATE"; without both nothing.
std::string object_version(const HttpHeaders& headers);

/// Asks for that version only, where HTTP can: If-Match for a strong ETag, If-Unmodified-Since for a date. (A weak ETag
/// never matches: RFC 9110, 13.1.1. The answer's own version is compared in any case.)
void pin_version(HttpHeaders& headers, const std::string& version);

/// What stores over HTTP have in common: persisting, redirects, ranges put together from several answers.
class RemoteStore : public ObjectStore {
 public:
  io::Fetched get_range(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length,
                        const BodyWriter& write, const std::stop_token& stop) override;
  io::Fetched get_whole(const io::ObjectInfo& object, const std::function<BodyWriter()>& start,
                        const std::stop_token& stop) override;

 protected:
  RemoteStore(Http& http, RetryOptions retry) : http_(http), retry_(std::move(retry)) {}

  /// A request to the store, before it is made one to a host.
  struct Request {
    std::string key;
    std::string method = "GET";
    QueryParameters query = {};
    HttpHeaders headers = {};
  };

  /// What one attempt came to. `error` is set unless the verdict is done.
  struct Answer {
    HttpResponse response;
    AnswerVerdict verdict;
    std::optional<Error> error;
  };

  /// Sends `request` once; again only where that host or region says to ask another. A 2xx goes to `on_success`, the
  /// body of any other answer makes the error.
  virtual Answer attempt(const Request& request, const HeadHandler& on_success, const std::stop_token& stop) = 0;

  /// Attempts until there is an answer that no repetition would change, and returns it.
  Answer persist(const Request& request, const HeadHandler& on_success, const std::stop_token& stop);

  /// Signs or otherwise completes a request to `request.url`. `own_host`: it goes to the host that was asked at first,
  /// which alone may see credentials.
  using Completion = std::function<void(HttpRequest& request, bool own_host)>;
  /// Sends `request` and follows redirects by hand, up to five, never from https to http. `may_follow` looks at an
  /// answer before; empty: always.
  HttpResponse send_following(HttpRequest request, const HeadHandler& on_head, const Completion& complete,
                              const std::function<bool(const HttpResponse&)>& may_follow, const std::stop_token& stop);

  /// Hands answers of 2xx to `on_success` and keeps the body of others in `error_body`. One without end is as good as
  /// no answer: Error{network}. Both outlive the handler.
  static HeadHandler by_status(const HeadHandler& on_success, std::string& error_body);

  const RetryOptions& retry() const { return retry_; }

 private:
  Http& http_;
  RetryOptions retry_;
};

/// The store of one URL: files below it, as nginx or any web server gives them. Keys are paths below it, "" is the URL
/// itself; its query (a presigned or SAS signature) goes along with every request, its login to its own host only.
/// `http` outlives the store.
std::unique_ptr<ObjectStore> http_store(Url base, Http& http, RetryOptions retry = {});

}  // namespace shardkit::net
