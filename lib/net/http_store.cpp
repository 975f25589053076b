#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "net/aws_xml.hpp"
#include "net/remote_store.hpp"
#include "system/probe.hpp"

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
  constexpr std::array<std::string_view, 6> compressions{"gzip", "x-gzip", "compress", "deflate", "br", "zstd"};
  const std::string encodings = lower_case(headers.get("content-encoding"));  // others, as aws-chunked, change no bytes
  const bool is_compressed = std::ranges::any_of(system::split(encodings, ','), [&](std::string_view encoding) {
    return std::ranges::find(compressions, system::trimmed(encoding)) != compressions.end();
  });
  if (!is_compressed) return false;
  constexpr std::array<std::string_view, 8> packed{".gz", ".tgz", ".zst", ".br", ".xz", ".bz2", ".Z", ".tzst"};
  return std::ranges::none_of(packed, [&](std::string_view ending) { return path.ends_with(ending); });
}

bool is_html(const HttpHeaders& headers) { return lower_case(headers.get("content-type")).starts_with("text/html"); }

/// Whether the name is that of a page, which is a file then.
bool names_page(std::string_view path) {
  constexpr std::array<std::string_view, 3> pages{".html", ".htm", ".xhtml"};
  return std::ranges::any_of(pages, [&](std::string_view ending) { return path.ends_with(ending); });
}

constexpr std::size_t kPageStart = 64;

/// Looks at the first bytes of a file for the page that a server or gateway answers with instead: a login, an error.
class PageWatch {
 public:
  /// A new body begins. `is_html`: the server calls it a page.
  void start(bool is_html) {
    text_.clear();
    starts_ = is_html ? std::span<const std::string_view>(kStarts) : std::span(kStarts).first(2);
  }
  /// Whether the body is a page, as far as it is known.
  bool add(Bytes bytes) {
    if (text_.size() >= kPageStart) return false;
    text_ += as_text(bytes.first(std::min(bytes.size(), kPageStart)));
    std::string_view text = text_;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const std::string start = lower_case(text);
    return std::ranges::any_of(starts_, [&](std::string_view known) { return start.starts_with(known); });
  }

 private:
  static constexpr std::array<std::string_view, 6> kStarts{"<!doctype html", "<html",   "<head",
                                                           "<body",          "<script", "<!--"};
  std::string text_;
  std::span<const std::string_view> starts_;
};

/// Ends a body of which enough is known.
struct Enough {};

/// Whether the body of an answer begins with the first byte of the file.
bool begins_at_start(const HttpHeaders& request) {
  const std::string_view range = request.get("range");
  return range.empty() || range.starts_with("bytes=0-");
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
  /// Error{unsupported} if the size cannot be known: a body without length, or one compressed for transport;
  /// Error{denied} for a page instead of a file.
  std::optional<io::ObjectInfo> find(const std::string& key) override {
    Request request(key);
    request.headers.add("Range", range_header(0, 1));
    // The one byte is read, so that the connection can be used again; a whole file is not.
    const auto on_success = [](const HttpResponse& head) {
      return head.status == 206 && head.content_length() == 1 ? [](Bytes) {} : BodyWriter();
    };
    Answer answer = persist(request, on_success, stop());
    if (answer.response.status == 416 && !size_in(answer.response)) {
      // Perhaps it is empty: stores answer so to presigned URLs.
      answer = persist(
          Request(key), [](const HttpResponse&) { return BodyWriter(); }, stop());
    }
    const int status = answer.response.status;
    if (status == 404 || status == 410) return std::nullopt;
    if (status != 416 && answer.error) throw Error(*answer.error);
    if (is_html(answer.response.headers) && !names_page(url_of(key).path)) refuse_page(key);
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
    PageWatch watch;
    const bool may_be_page = !names_page(message.url.path) && begins_at_start(message.headers);
    const auto on_file = [&](const HttpResponse& head) -> BodyWriter {
      BodyWriter write = on_success(head);
      if (!write || !may_be_page) return write;
      watch.start(is_html(head.headers));
      return [&, write = std::move(write)](Bytes bytes) {
        if (watch.add(bytes)) throw_page(name);
        write(bytes);
      };
    };
    try {
      answer.response = send_following(message, by_status(on_file, body), complete, {}, stop);
    } catch (const Error& error) {
      return unanswered(error);
    }
    answer.verdict = judge(answer.response.status, "");
    if (wants_tls(message.url, answer.response.status, body)) {
      answer.error.emplace(ErrorCode::unsupported,
                           fmt::format("'{}': this port of the server uses TLS; use https://", name), name);
    } else if (answer.verdict.remedy != RetryDecision::done) {
      const S3ErrorBody reason = read_error_body(body);  // of a store, to a presigned URL
      answer.error.emplace(
          answer.verdict.code,
          fmt::format("'{}': the server answered with status {}{}{}{}{}{}", name, answer.response.status,
                      reason.code.empty() ? "" : " ", reason.code, reason.message.empty() ? "" : ": ", reason.message,
                      remedy_for(answer.response.status, !token_.empty() || !base_.user.empty())),
          name);
    }
    return answer;
  }

  [[noreturn]] static void throw_page(const std::string& name) {
    throw Error(ErrorCode::denied, At{name},
                "'{}': the server answers with a web page instead of the file, such as that of a login or an error{}",
                name, kLoginRemedy);
  }

  /// Throws Error{denied} if the body of what the server calls a page is one.
  void refuse_page(const std::string& key) {
    Request request(key);
    request.headers.add("Range", range_header(0, kPageStart));
    const auto take_start = [](const HttpResponse&) -> BodyWriter {
      return [size = std::size_t{0}](Bytes bytes) mutable {
        if ((size += bytes.size()) >= kPageStart) throw Enough();
      };
    };
    try {
      persist(request, take_start, stop());
    } catch (const Enough&) {  // it is none
    }
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
    const auto range = parse_content_range(content_range);  // some send it with a status of 200
    if (range || response.status == 206) return range ? range->total : std::nullopt;
    return response.content_length();
  }

  io::ObjectInfo found_by(const std::string& key, const HttpResponse& response) const {
    const std::string name = address_of(key);
    const bool is_packed = is_packed_for_the_way(response.headers, url_of(key).path);
    const auto size = size_in(response);
    if (size && !is_packed) return {key, *size, object_version(response.headers)};
    throw Error(ErrorCode::unsupported, At{name},
                "'{}': the server does not report the size of the file{}, so an incomplete copy would go unnoticed; {}",
                name, is_packed ? ", because it compresses it on the way" : "",
                is_packed ? "turn off compression (gzip) on the server"
                          : "use a server that sends Content-Length, or download the file with another program");
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
