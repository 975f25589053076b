#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "net/store_opener.hpp"
#include "net/url.hpp"
#include "support/fault_server.hpp"

namespace shardkit_test {

/// A server of files: a web server of what lies at "/path", and a store with S3's listing whose buckets are the first
/// parts of the paths: "/bucket/key". Ranges and If-Match work. A test can have any request answered otherwise, and
/// change files meanwhile.
class StoreServer {
 public:
  /// By path, without the slash in front.
  using Files = std::map<std::string, std::string>;

  StoreServer(std::initializer_list<Files::value_type> files) : files_(files) {}
  explicit StoreServer(Files files) : files_(std::move(files)) {}

  /// Answers requests for that path, whether it is there or not, with a status and nothing else.
  void refuse(const std::string& path, int status) {
    const std::scoped_lock lock(mutex_);
    refused_[path] = status;
  }

  /// Looks at each request before the server does; true when it has answered. Empty: at none.
  using Hook = std::function<bool(const ServedRequest&, ServerConnection&)>;
  void set_hook(Hook hook) {
    const std::scoped_lock lock(mutex_);
    hook_ = std::make_shared<const Hook>(std::move(hook));
  }

  /// Another object at that path from now on, with an ETag of its own.
  void replace(const std::string& path, std::string content) {
    const std::scoped_lock lock(mutex_);
    files_[path] = std::move(content);
    ++versions_[path];
  }
  void erase(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    files_.erase(path);
  }

  Files files() const {
    const std::scoped_lock lock(mutex_);
    return files_;
  }

  struct Reply {
    int status = 0;
    std::string headers;  ///< but Content-Length
    std::string body;
  };
  /// What a request for a file is answered with.
  Reply reply_to(const ServedRequest& request) const {
    const std::scoped_lock lock(mutex_);
    const std::string path = path_of(request);
    const auto file = files_.find(path);
    if (file == files_.end()) return {404, "", ""};
    const std::string& content = file->second;
    const std::string etag = etag_of(path);
    const std::string headers = fmt::format("ETag: {}\r\n", etag);
    const std::string match = request.header("if-match");
    if (!match.empty() && match != etag) return {412, headers, ""};
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (std::sscanf(request.header("range").c_str(), "bytes=%lu-%lu", &first, &last) != 2) {
      return {200, headers, content};
    }
    if (first >= content.size()) return {416, fmt::format("Content-Range: bytes */{}\r\n", content.size()), ""};
    last = std::min<std::uint64_t>(last, content.size() - 1);
    return {206, fmt::format("{}Content-Range: bytes {}-{}/{}\r\n", headers, first, last, content.size()),
            content.substr(first, last - first + 1)};
  }

  std::string url(std::string_view target = "") const { return server_.url(target); }
  /// The same with a login before the host.
  std::string url_with_login(std::string_view login, std::string_view target) const {
    return fmt::format("http://{}@{}", login, url(target).substr(7));
  }
  std::vector<ServedRequest> requests() const { return server_.requests(); }

  /// As which the server is read by s3:// without keys.
  shardkit::net::StoreOptions options() const {
    shardkit::net::StoreOptions options;
    options.s3.endpoint_url = url();
    options.s3.anonymous = true;
    return options;
  }

 private:
  static std::string query_value(const std::string& target, const std::string& name) {
    std::string_view query(target);
    query.remove_prefix(std::min(query.find('?'), query.size()));
    while (!query.empty()) {
      query.remove_prefix(1);
      const std::string_view pair = query.substr(0, query.find('&'));
      if (pair.starts_with(name + "=")) return shardkit::net::percent_decode(pair.substr(name.size() + 1));
      query.remove_prefix(pair.size());
    }
    return "";
  }

  /// A page of all keys of the bucket that begin with the prefix.
  void list(const std::string& bucket, const ServedRequest& request, ServerConnection& connection) const {
    const std::string prefix = query_value(request.target, "prefix");
    const std::string delimiter = query_value(request.target, "delimiter");
    std::set<std::string> rolled_up;
    std::string body;
    bool is_bucket = false;
    const std::scoped_lock lock(mutex_);
    for (const auto& [path, content] : files_) {
      if (!path.starts_with(bucket + "/")) continue;
      is_bucket = true;
      const std::string key = path.substr(bucket.size() + 1);
      if (!key.starts_with(prefix)) continue;
      const std::size_t end = delimiter.empty() ? std::string::npos : key.find(delimiter, prefix.size());
      if (end != std::string::npos) {
        rolled_up.insert(key.substr(0, end + 1));
        continue;
      }
      body += fmt::format("<Contents><Key>{}</Key><Size>{}</Size><ETag>{}</ETag></Contents>",
                          shardkit::net::percent_encode(key), content.size(), etag_of(path));
    }
    if (!is_bucket) return connection.answer(404, "", "<Error><Code>NoSuchBucket</Code></Error>");
    for (const std::string& folder : rolled_up) {
      body +=
          fmt::format("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", shardkit::net::percent_encode(folder));
    }
    connection.answer(200, "",
                      fmt::format("<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
                                  "{}</ListBucketResult>",
                                  body));
  }

  void handle(const ServedRequest& request, ServerConnection& connection) const {
    if (const auto hook = this->hook(); hook && *hook && (*hook)(request, connection)) return;
    const std::string path = path_of(request);
    if (const int refusal = refusal_of(path); refusal != 0) return connection.answer_head(refusal, "", 0);
    if (request.target.find("list-type=2") != std::string::npos) {
      return list(path.substr(0, path.find('/')), request, connection);
    }
    const Reply reply = reply_to(request);
    connection.answer_head(reply.status, reply.headers, reply.body.size());
    if (request.method != "HEAD") connection.send(reply.body);
  }

  static std::string path_of(const ServedRequest& request) {
    return shardkit::net::percent_decode(request.path()).substr(1);
  }

  /// Called with the lock held.
  std::string etag_of(const std::string& path) const {
    const auto version = versions_.find(path);
    return fmt::format("\"v{}\"", version == versions_.end() ? 1 : version->second + 1);
  }

  std::shared_ptr<const Hook> hook() const {
    const std::scoped_lock lock(mutex_);
    return hook_;
  }

  int refusal_of(const std::string& path) const {
    const std::scoped_lock lock(mutex_);
    const auto found = refused_.find(path);
    return found == refused_.end() ? 0 : found->second;
  }

  mutable std::mutex mutex_;
  Files files_;
  std::map<std::string, int> versions_;
  std::shared_ptr<const Hook> hook_;
  std::map<std::string, int> refused_;
  FaultServer server_{
      [this](const ServedRequest& request, ServerConnection& connection) { handle(request, connection); }};
};

}  // namespace shardkit_test
