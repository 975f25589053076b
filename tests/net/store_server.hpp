#pragma once

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "net/store_source.hpp"
#include "net/url.hpp"
#include "support/fault_server.hpp"

namespace shardkit_test {

/// A server of files: a web server of what lies at "/path", and a store with S3's listing whose buckets are the first
/// parts of the paths: "/bucket/key". Ranges work.
class StoreServer {
 public:
  /// By path, without the slash in front.
  using Files = std::map<std::string, std::string>;

  StoreServer(std::initializer_list<Files::value_type> files) : files_(files) {}

  /// Answers requests for that path, whether it is there or not, with a status and nothing else.
  void refuse(const std::string& path, int status) {
    const std::scoped_lock lock(mutex_);
    refused_[path] = status;
  }

  const Files& files() const { return files_; }
  std::string url(std::string_view target = "") const { return server_.url(target); }
  /// The same with a login before the host.
  std::string url_with_login(std::string_view login, std::string_view target) const {
    return fmt::format("http://{}@{}", login, url(target).substr(7));
  }
  std::vector<ServedRequest> requests() const { return server_.requests(); }

  /// As which the server is read by s3:// without keys.
  shardkit::StoreOptions options() const {
    shardkit::StoreOptions options;
    options.s3.endpoint_url = url();
    options.s3.anonymous = true;
    return options;
  }

 private:
  static std::string query_value(const std::string& target, const std::string& name) {
    std::string_view rest(target);
    rest.remove_prefix(std::min(rest.find('?'), rest.size()));
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view pair = rest.substr(0, rest.find('&'));
      if (pair.starts_with(name + "=")) return shardkit::percent_decode(pair.substr(name.size() + 1));
      rest.remove_prefix(pair.size());
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
      body += fmt::format("<Contents><Key>{}</Key><Size>{}</Size><ETag>\"v1\"</ETag></Contents>",
                          shardkit::percent_encode(key), content.size());
    }
    if (!is_bucket) return connection.answer(404, "", "<Error><Code>NoSuchBucket</Code></Error>");
    for (const std::string& folder : rolled_up) {
      body += fmt::format("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", shardkit::percent_encode(folder));
    }
    connection.answer(200, "",
                      fmt::format("<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
                                  "{}</ListBucketResult>",
                                  body));
  }

  static void give(const std::string& content, const ServedRequest& request, ServerConnection& connection) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (std::sscanf(request.header("range").c_str(), "bytes=%lu-%lu", &first, &last) != 2) {
      connection.answer_head(200, "ETag: \"v1\"\r\n", content.size());
      if (request.method != "HEAD") connection.send(content);
      return;
    }
    if (first >= content.size()) {
      return connection.answer(416, fmt::format("Content-Range: bytes */{}\r\n", content.size()), "");
    }
    last = std::min<std::uint64_t>(last, content.size() - 1);
    connection.answer(206,
                      fmt::format("ETag: \"v1\"\r\nContent-Range: bytes {}-{}/{}\r\n", first, last, content.size()),
                      content.substr(first, last - first + 1));
  }

  void handle(const ServedRequest& request, ServerConnection& connection) const {
    const std::string path = shardkit::percent_decode(request.path()).substr(1);
    const int refusal = refusal_of(path);
    const auto file = files_.find(path);
    if (refusal != 0) {
      connection.answer_head(refusal, "", 0);
    } else if (request.target.find("list-type=2") != std::string::npos) {
      list(path.substr(0, path.find('/')), request, connection);
    } else if (file == files_.end()) {
      connection.answer_head(404, "", 0);
    } else {
      give(file->second, request, connection);
    }
  }

  int refusal_of(const std::string& path) const {
    const std::scoped_lock lock(mutex_);
    const auto found = refused_.find(path);
    return found == refused_.end() ? 0 : found->second;
  }

  const Files files_;
  mutable std::mutex mutex_;
  std::map<std::string, int> refused_;
  FaultServer server_{
      [this](const ServedRequest& request, ServerConnection& connection) { handle(request, connection); }};
};

}  // namespace shardkit_test
