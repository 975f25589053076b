#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "net/remote_store.hpp"

namespace shardkit::net {
namespace {

constexpr const char* kLoginRemedy =
    "; give a bearer token in SHARDKIT_TOKEN (sent only over https, or to this machine), or a "
    "login in ~/.netrc";

const char* remedy_for(int status, bool has_login) {
  if (status == 401 && has_login) return "; the server refuses the login or token that was sent: correct it";
  if (status == 403) return "; the server denies it: check the token or login, and who may read this file there";
  return status == 401 ? kLoginRemedy : "";
}

/// N of a 416's "bytes */N".
std::optional<std::uint64_t> size_of_unsatisfied(std::string_view content_range) {
  constexpr std::string_view unit = "bytes */";
  return content_range.starts_with(unit) ? parse_count(content_range.substr(unit.size())) : std::nullopt;
}

/// Whether the body is compressed for transport only. A name like x.gz means a file that is stored compressed.
bool is_packed_for_the_way(const HttpHeaders& headers, std::string_view path) {
  const std::string_view encoding = headers.get("content-encoding");
  if (encoding.empty() || encoding == "identity") return false;
  constexpr std::array<std::string_view, 8> packed{".gz", ".tgz", ".zst", ".br", ".xz", ".bz2", ".Z", ".tzst"};
  return std::ranges::none_of(packed, [&](std::string_view ending) { return path.ends_with(ending); });
}

/// Pages that servers and gateways answer with instead of a file: a login, an error, an application.
bool is_page_for_data(const HttpResponse& response, std::string_view path) {
  constexpr std::array<std::string_view, 6> data{".tar", ".tgz", ".tzst", ".index", ".idx", ".parquet"};
  const bool is_data = path.find(".tar.") != std::string_view::npos ||
                       std::ranges::any_of(data, [&](std::string_view ending) { return path.ends_with(ending); });
  return is_data && response.status < 300 && lower_case(response.headers.get("content-type")).starts_with("text/html");
}

/// Servers with TLS answer plain HTTP with status 400 and such a text.
bool wants_tls(const Url& url, int status, std::string_view body) {
  return url.scheme == "http" && status == 400 &&
         (body.find("HTTPS") != std::string_view::npos || body.find("SSL-enabled") != std::string_view::npos);
}

class HttpStore final : public RemoteStore {
 public:
  HttpStore(Url base, StoreAccess access, Secret token)
      : RemoteStore(std::move(access)), base_(std::move(base)), location_(base_.display()), token_(std::move(token)) {
    while (location_.ends_with('/')) location_.pop_back();
  }

  const std::string& location() const override { return location_; }
  std::string address_of(const std::string& name) const override { return url_of(name).display(); }

  std::vector<io::ObjectInfo> list(const std::string& /*folder*/) override {
    const std::string address = base_.display();
    throw Error(ErrorCode::unsupported, At{address},
                "'{}': HTTP has no listing. Put a manifest.json next to the shards (`shardctl index` creates one) "
                "or give the files as a pattern x-{{000..146}}.tar, a list (*.txt) or a wids index (*.json)",
                address);
  }
  std::vector<std::string> names_in(const std::string& /*folder*/) override { return {}; }

  void bypass_caches(const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    uncached_.insert(key);
  }

  /// By a request for the first byte: not every server supports HEAD, and a presigned URL is only valid for GET. Throws
  /// Error{unsupported} if the size cannot be known: a body without length, or one compressed for transport.
  std::optional<io::ObjectInfo> find(const std::string& key) override {
    Request request(key);
    request.headers.add("Range", range_header(0, 1));
    // The one byte is read, so that the connection can be used again; a whole file is not.
    const auto on_success = [](const HttpResponse& head) {
      return head.status == 206 && head.content_length() == 1 ? [](Bytes) {} : BodyWriter();
    };
    const Answer answer = persist(request, on_success, stop());
    const int status = answer.response.status;
    if (status == 404 || status == 410) return std::nullopt;
    if (status != 416 && answer.error) throw Error(*answer.error);
    return found_by(key, answer.response);
  }

 private:
  std::string key_of(const std::string& name) const override { return name; }

  RemoteStore::Answer attempt(const Request& request, const HeadHandler& on_success,
                              const std::stop_token& stop) override {
    HttpRequest message = request;
    message.url = url_of(request.key);
    if (is_uncached(request.key)) message.headers.add("Cache-Control", "no-cache");
    std::string body;
    const auto complete = [&](HttpRequest& next, bool own_host) {
      next.url.user = own_host ? base_.user : "";
      next.url.password = own_host ? base_.password : "";
      next.may_use_netrc = own_host && token_.empty();
      if (own_host && !token_.empty()) next.headers.add("Authorization", fmt::format("Bearer {}", token_.reveal()));
    };
    Answer answer;
    const std::string name = address_of(request.key);
    const auto on_file = [&](const HttpResponse& head) {
      return is_page_for_data(head, message.url.path) ? BodyWriter() : on_success(head);
    };
    try {
      answer.response = send_following(message, by_status(on_file, body), complete, {}, stop);
    } catch (const Error& error) {
      return unanswered(error);
    }
    answer.verdict = judge(answer.response.status, "");
    if (is_page_for_data(answer.response, message.url.path)) {
      answer.verdict = {RetryDecision::fatal, ErrorCode::denied, false};
      answer.error.emplace(
          ErrorCode::denied,
          fmt::format("'{}': the server answers with a web page (text/html) instead of the file, such as that of a "
                      "login or an error{}",
                      name, kLoginRemedy),
          name);
    } else if (wants_tls(message.url, answer.response.status, body)) {
      answer.error.emplace(ErrorCode::unsupported,
                           fmt::format("'{}': this port of the server uses TLS; use https://", name), name);
    } else if (answer.verdict.remedy != RetryDecision::done) {
      answer.error.emplace(answer.verdict.code,
                           fmt::format("'{}': the server answered with status {}{}", name, answer.response.status,
                                       remedy_for(answer.response.status, !token_.empty() || !base_.user.empty())),
                           name);
    }
    return answer;
  }

  Url url_of(const std::string& key) const {
    Url url = base_;
    if (key.empty()) return url;
    if (!url.path.ends_with('/')) url.path += '/';
    url.path += percent_encode_path(key);
    return url;
  }

  /// Of the whole object, if the response has it.
  static std::optional<std::uint64_t> size_in(const HttpResponse& response) {
    const std::string_view content_range = response.headers.get("content-range");
    if (response.status == 416) return size_of_unsatisfied(content_range);
    if (response.status != 206) return response.content_length();
    const auto range = parse_content_range(content_range);
    return range ? range->total : std::nullopt;
  }

  io::ObjectInfo found_by(const std::string& key, const HttpResponse& response) const {
    const std::string name = address_of(key);
    if (!is_packed_for_the_way(response.headers, url_of(key).path)) {
      if (const auto size = size_in(response)) return {key, *size, object_version(response.headers)};
    }
    throw Error(ErrorCode::unsupported, At{name},
                "'{}': the server does not report the size of the file, so an incomplete copy would go "
                "unnoticed; turn off compression (gzip) on the server",
                name);
  }

  /// A manifest from before, with shards of now, would make all of them damaged.
  bool is_uncached(const std::string& key) {
    if (url_of(key).path.ends_with("/manifest.json")) return true;
    const std::scoped_lock lock(mutex_);
    return uncached_.contains(key);
  }

  Url base_;
  std::string location_;
  Secret token_;
  std::mutex mutex_;
  std::set<std::string> uncached_;  ///< keys whose answers no cache is to give
};

}  // namespace

std::unique_ptr<io::ObjectSource> http_store(Url base, StoreAccess access, Secret token) {
  return std::make_unique<HttpStore>(std::move(base), std::move(access), std::move(token));
}

}  // namespace shardkit::net
