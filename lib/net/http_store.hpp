#pragma once

#include <string>

#include "net/remote_store.hpp"

namespace shardkit::net {

/// Files below an http(s) URL, as nginx or any web server gives them. Keys are paths below it, "" is the URL itself;
/// its query (a presigned or SAS signature) goes along with every request, its login to its own host only.
class HttpStore final : public RemoteStore {
 public:
  /// `http` outlives the store.
  HttpStore(Url base, Http& http, RetryOptions retry = {});

  const std::string& location() const override { return location_; }
  std::string name_of(const std::string& key) const override { return url_of(key).display(); }
  void list(const std::string& prefix, const std::string& delimiter, const std::function<void(const ObjectPage&)>& each,
            const std::stop_token& stop) override;
  /// By a request for the first byte: not every server answers HEAD, and a presigned URL is good for GET alone. Throws
  /// Error{unsupported} where the size cannot be known: a body without length, or one compressed on the way.
  std::optional<Found> find(const std::string& key, const std::stop_token& stop) override;

 private:
  Answer attempt(const Request& request, const HeadHandler& on_success, const std::stop_token& stop) override;
  Url url_of(const std::string& key) const;
  Found found_by(const std::string& key, const HttpResponse& response) const;

  Url base_;
  std::string location_;
};

}  // namespace shardkit::net
