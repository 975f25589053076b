#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "io/object_source.hpp"
#include "net/http.hpp"
#include "net/retry.hpp"
#include "net/sigv4.hpp"

namespace shardkit::net {

/// How a store reaches its server.
struct StoreAccess {
  std::shared_ptr<Http> http;
  RetryOptions retry = {};
  std::stop_token stop = {};  ///< ends waits of calls without a token of their own
};

/// An ETag as a version: with quotes, also if a listing has none. A weak one is never sent as a condition and proves
/// nothing.
std::string version_of_etag(std::string_view etag);
/// Whether both may be of one object: one is unknown, or they differ at most in being weak.
bool is_same_version(std::string_view a, std::string_view b);

/// Identifies one version of an object: ObjectInfo::version of stores.
///
/// The ETag as received, with its quotes; without one "last-modified DATE"; without both nothing.
std::string object_version(const HttpHeaders& headers);

/// The checksum of the whole object among x-amz-checksum-* headers; empty without one, and for one of parts.
std::optional<Checksum> object_checksum(const HttpHeaders& headers);

/// The first checksum in base64 among those that `find` returns for a kind ("crc64nvme"), which is empty for others.
std::optional<Checksum> first_checksum(const std::function<std::string_view(std::string_view kind)>& find);
/// As the headers of S3 contain it.
std::string base64_of(const Checksum& checksum);

/// Requests only that version, if HTTP allows it: If-Match for a strong ETag, If-Unmodified-Since for a date. (A weak
/// ETag never matches: RFC 9110, 13.1.1. The version of the answer is compared in any case.)
void pin_version(HttpHeaders& headers, const std::string& version);

/// Objects behind HTTP: the common parts of stores, which are retries, redirects and ranges assembled from several
/// answers.
///
/// Every call retries temporary failures (retry.hpp) and ends with its result or a final Error{not_found, denied,
/// network, corrupt, unsupported} with the object; Error{cancelled} within 200 ms of a stop. Thread-safe: each call in
/// flight has its own connection.
class RemoteStore : public virtual io::ObjectSource {
 public:
  /// With as many requests as necessary: after a broken connection it continues where it ended.
  io::Fetched fetch(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                    const std::stop_token& stop) override;
  io::Fetched fetch_whole(const io::ObjectInfo& object, const std::function<BodyWriter()>& start,
                          const std::stop_token& stop) override;

 protected:
  explicit RemoteStore(StoreAccess access) : access_(std::move(access)) {}

  /// The key of an object in the store: bytes as stored, nothing encoded.
  virtual std::string key_of(const std::string& name) const = 0;

  /// A request to the store, before its host is chosen.
  struct Request : HttpRequest {
    explicit Request(std::string key_, const char* method_ = "GET", QueryParameters query_ = {},
                     HttpHeaders headers_ = {})
        : key(std::move(key_)), query(std::move(query_)) {
      method = method_;
      headers = std::move(headers_);
    }

    std::string key;
    QueryParameters query;
    unsigned* attempts = nullptr;  ///< counts how often it is sent
  };

  /// Outcome of one attempt. `error` is set unless the verdict is done.
  struct Answer {
    HttpResponse response;
    AnswerVerdict verdict;
    std::optional<Error> error;
  };

  /// Sends `request` once; again only if the host or region refers to another one. A 2xx is passed to `on_success`, the
  /// body of any other answer becomes the error.
  virtual Answer attempt(const Request& request, const HeadHandler& on_success, const std::stop_token& stop) = 0;

  /// The outcome of an attempt that failed with `error`: called by its handler, which rethrows other errors than those
  /// of a network.
  static Answer unanswered(const Error& error);

  /// Retries until there is an answer that a retry would not change, and returns it.
  Answer persist(const Request& request, const HeadHandler& on_success, const std::stop_token& stop);

  /// Signs or otherwise completes a request to `request.url`. `own_host`: the originally requested host, the only one
  /// that gets credentials.
  using Completion = std::function<void(HttpRequest& request, bool own_host)>;
  /// Sends `request` and follows redirects, up to five, never from https to http. `may_follow` checks an answer first;
  /// empty: always. Where a request was redirected to, the same request goes directly for a minute.
  HttpResponse send_following(HttpRequest request, const HeadHandler& on_head, const Completion& complete,
                              const std::function<bool(const HttpResponse&)>& may_follow, const std::stop_token& stop);

  /// Waits for the next attempt after one that failed; throws the error of the last one.
  void try_again(Attempts& attempts, const Answer& answer) const;

  /// Passes answers of 2xx to `on_success` and keeps the body of others in `error_body`. An endless one counts as no
  /// answer: Error{network}. Both outlive the handler.
  static HeadHandler by_status(const HeadHandler& on_success, std::string& error_body);

  const RetryOptions& retry() const { return access_.retry; }
  const std::stop_token& stop() const { return access_.stop; }

 private:
  std::optional<Url> redirected(const std::string& request);
  void remember_redirect(const std::string& request, const std::optional<Url>& url);

  struct Redirect {
    Url url;
    system::Seconds until;
  };

  StoreAccess access_;
  std::mutex mutex_;
  std::map<std::string, Redirect> redirects_;  ///< by method and URL
};

/// The store of one URL: files below it, from nginx or any web server. Names are paths below it, "" is the URL itself;
/// its query (a presigned or SAS signature) is sent with every request, its login only to its own host. So is `token`,
/// a bearer token, or without both the login in the user's netrc file.
std::unique_ptr<io::ObjectSource> http_store(Url base, StoreAccess access, Secret token = {});

}  // namespace shardkit::net
