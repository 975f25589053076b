#pragma once

#include <functional>
#include <optional>
#include <string>

#include "net/http.hpp"
#include "net/object_store.hpp"
#include "net/retry.hpp"

/// What tells one version of an object from another: ObjectInfo::version of stores.
namespace shardkit::net {

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

}  // namespace shardkit::net
