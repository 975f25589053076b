#include "net/remote_store.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"

namespace shardkit::net {
namespace {

/// One range of an object, assembled from as many responses as needed. Trusts no server: bytes count only if status,
/// Content-Range, total size and version match the request. For one thread.
class RangeReader {
 public:
  /// The references outlive the reader.
  RangeReader(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write)
      : object_(object), next_(offset), end_(offset + length), write_(write) {}

  bool done() const { return next_ == end_; }
  /// The next byte that is wanted.
  std::uint64_t next() const { return next_; }

  /// The headers of a request for the missing bytes.
  HttpHeaders headers() const {
    HttpHeaders headers{{"Range", range_header(next_, end_ - next_)}};
    pin_version(headers, object_.version);
    return headers;
  }

  /// Takes the head of a response with a status of 2xx and returns the target of its body; empty if outcome() is
  /// decided. Throws Error{network} for a response that contradicts the request. `url` is for messages.
  BodyWriter take_head(const HttpResponse& head, const std::string& url) {
    const std::string text(head.headers.get("content-range"));
    const auto range = parse_content_range(text);
    if (head.status != 206 && !(range && head.content_length() == range->last - range->first + 1)) {
      outcome_ = io::Fetched::no_ranges;
      return {};
    }
    if (range && is_other_version(head, *range)) {
      outcome_ = io::Fetched::changed;
      return {};
    }
    if (!range || range->first != next_ || range->last >= end_) {  // a server may send less than it is asked for
      throw Error(
          ErrorCode::network,  // a faulty answer says nothing about the object
          fmt::format("'{}': the server was asked for bytes {}-{} and answered with '{}'", url, next_, end_ - 1, text),
          url, next_);
    }
    answer_end_ = range->last + 1;
    return [this, url](Bytes bytes) { take(bytes, url); };
  }

  /// Fetched::no_ranges or changed, when an answer said so.
  std::optional<io::Fetched> outcome() const { return outcome_; }

 private:
  bool is_other_version(const HttpResponse& head, const ContentRange& range) const {
    const std::string version = object_version(head.headers);
    return (range.total && *range.total != object_.size) || !is_same_version(version, object_.version);
  }

  void take(Bytes bytes, const std::string& url) {
    if (bytes.size() > answer_end_ - next_) {
      throw Error(ErrorCode::network, fmt::format("'{}': the server sends more bytes than it says", url), url,
                  answer_end_);
    }
    write_(bytes);
    next_ += bytes.size();
  }

  const io::ObjectInfo& object_;
  std::uint64_t next_;
  const std::uint64_t end_;
  std::uint64_t answer_end_ = 0;
  const BodyWriter& write_;
  std::optional<io::Fetched> outcome_;
};

constexpr std::string_view kByDate = "last-modified ";

}  // namespace

std::string version_of_etag(std::string_view etag) {
  const bool is_complete = etag.empty() || etag.starts_with('"') || etag.starts_with("W/");
  return is_complete ? std::string(etag) : fmt::format("\"{}\"", etag);
}

bool is_same_version(std::string_view a, std::string_view b) {
  const auto strong = [](std::string_view version) { return version.substr(version.starts_with("W/") ? 2 : 0); };
  return a.empty() || b.empty() || strong(a) == strong(b);
}

std::string object_version(const HttpHeaders& headers) {
  if (const auto etag = headers.find("etag"); etag && !etag->empty()) return version_of_etag(*etag);
  const std::string_view date = headers.get("last-modified");
  return date.empty() ? "" : std::string(kByDate) + std::string(date);
}

namespace {

struct ChecksumSize {
  ChecksumKind kind;
  std::size_t bytes;
};
/// The fastest first.
constexpr std::array<ChecksumSize, 10> kChecksumSizes{{{ChecksumKind::xxhash128, 16},
                                                       {ChecksumKind::xxhash3, 8},
                                                       {ChecksumKind::xxhash64, 8},
                                                       {ChecksumKind::crc64nvme, 8},
                                                       {ChecksumKind::crc32c, 4},
                                                       {ChecksumKind::crc32, 4},
                                                       {ChecksumKind::sha256, 32},
                                                       {ChecksumKind::sha512, 64},
                                                       {ChecksumKind::sha1, 20},
                                                       {ChecksumKind::md5, 16}}};

/// Empty for anything but `size` bytes in base64.
std::string hex_of_base64(std::string_view text, std::size_t size) {
  std::vector<unsigned char> bytes(text.size() / 4 * 3);
  const int length = static_cast<int>(text.size());
  const std::size_t padding = text.size() - std::min(text.size(), text.find_last_not_of('=') + 1);
  if (EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), length) < 0) return {};
  if (bytes.size() < padding || bytes.size() - padding != size) return {};
  return fmt::format("{:02x}", fmt::join(std::span(bytes).first(size), ""));
}

}  // namespace

std::string base64_of(const Checksum& checksum) {
  const std::vector<std::byte> bytes = bytes_of_hex(checksum.digits);
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::optional<Checksum> first_checksum(const std::function<std::string_view(std::string_view kind)>& find) {
  for (const auto& [kind, size] : kChecksumSizes) {
    if (std::string digits = hex_of_base64(find(enum_name(kind)), size); !digits.empty())
      return Checksum{kind, std::move(digits)};
  }
  return std::nullopt;
}

std::optional<Checksum> object_checksum(const HttpHeaders& headers) {
  if (headers.get("x-amz-checksum-type") == "COMPOSITE") return std::nullopt;
  return first_checksum([&](std::string_view kind) { return headers.get(fmt::format("x-amz-checksum-{}", kind)); });
}

void pin_version(HttpHeaders& headers, const std::string& version) {
  if (version.starts_with('"')) headers.set("If-Match", version);
  if (version.starts_with(kByDate)) headers.set("If-Unmodified-Since", version.substr(kByDate.size()));
}

namespace {

constexpr int kMostRedirects = 5;
constexpr system::Seconds kRemembered{60};
constexpr std::size_t kMostRemembered = 1024;
constexpr std::size_t kLongestErrorBody = 1UL << 20U;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// What an attempt with final `status` shows about the object; empty if nothing.
std::optional<io::Fetched> meaning_of(int status) {
  if (status == 412 || status == 416 || status == 404) return io::Fetched::changed;
  return std::nullopt;
}

Url next_url(const Url& from, std::string_view location) {
  try {
    Url next = resolve_location(from, location);
    if (from.scheme != "https" || next.scheme == "https") return next;
  } catch (const Error&) {
    throw Error(ErrorCode::corrupt, At{from.display()}, Fault{"redirects to an invalid URL"});
  }
  throw Error(ErrorCode::denied, At{from.display()}, Fault{"redirects to an address without TLS"});
}

}  // namespace

RemoteStore::Answer RemoteStore::unanswered(const Error& error) {
  if (error.code() != ErrorCode::network) throw;
  AnswerVerdict verdict{RetryDecision::retry, ErrorCode::network, false, false};
  if (dynamic_cast<const UnknownHost*>(&error) != nullptr) verdict.attempts = 2;
  return {{}, verdict, error};
}

void RemoteStore::try_again(Attempts& attempts, const Answer& answer) const {
  attempts.failed(*answer.error, answer.verdict, retry_after(answer.response.headers, retry().clock->now()));
}

RemoteStore::Answer RemoteStore::persist(const Request& request, const HeadHandler& on_success,
                                         const std::stop_token& stop) {
  for (Attempts attempts(retry(), stop);;) {
    Answer answer = attempt(request, on_success, stop);
    if (answer.verdict.remedy == RetryDecision::done || answer.verdict.remedy == RetryDecision::fatal) return answer;
    try_again(attempts, answer);
  }
}

io::Fetched RemoteStore::fetch(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length,
                               const BodyWriter& write, const std::stop_token& stop) {
  RangeReader reader(object, offset, length, write);
  const std::string name = address_of(object.name);
  bool is_patient = false;  // a connection that delivered nothing is given another chance to be slow
  for (Attempts attempts(retry(), stop); !reader.done();) {
    const std::uint64_t before = reader.next();
    Request request(key_of(object.name), "GET", {}, reader.headers());
    request.may_be_given_up = !is_patient;
    Answer answer = attempt(
        request, [&](const HttpResponse& head) { return reader.take_head(head, name); }, stop);
    if (reader.outcome()) return *reader.outcome();
    if (reader.done()) break;
    if (const auto meaning = meaning_of(answer.response.status)) return *meaning;
    is_patient = reader.next() == before;
    const bool goes_on = attempts.progressed(reader.next() - before, length);
    if (answer.verdict.remedy == RetryDecision::done && goes_on) continue;
    if (answer.verdict.remedy == RetryDecision::done) {
      answer.verdict = {RetryDecision::retry, ErrorCode::network, false};
      answer.error.emplace(ErrorCode::network, fmt::format("'{}': the answer is incomplete", name), name,
                           reader.next());
    }
    try_again(attempts, answer);
  }
  return io::Fetched::whole;
}

io::Fetched RemoteStore::fetch_whole(const io::ObjectInfo& object, const std::function<BodyWriter()>& start,
                                     const std::stop_token& stop) {
  const std::string name = address_of(object.name);
  Request request(key_of(object.name));
  pin_version(request.headers, object.version);
  std::uint64_t received = 0;
  bool is_other = false;
  const auto on_success = [&](const HttpResponse& head) -> BodyWriter {
    const std::string version = object_version(head.headers);
    is_other = head.content_length().value_or(object.size) != object.size || !is_same_version(version, object.version);
    received = 0;
    if (is_other) return {};
    return [&, write = start()](Bytes bytes) {
      received += bytes.size();
      if (received > object.size) throw Error(ErrorCode::network, At{name}, Fault{"is longer than before"});
      write(bytes);
    };
  };
  for (Attempts attempts(retry(), stop);;) {
    Answer answer = attempt(request, on_success, stop);
    if (is_other) return io::Fetched::changed;
    if (const auto meaning = meaning_of(answer.response.status)) return *meaning;
    if (answer.verdict.remedy == RetryDecision::done) {
      if (received == object.size) return io::Fetched::whole;
      answer.verdict = {RetryDecision::retry, ErrorCode::network, false};
      answer.error.emplace(ErrorCode::network, fmt::format("'{}': the answer is incomplete", name), name, received);
    }
    try_again(attempts, answer);
  }
}

HttpResponse RemoteStore::send_following(HttpRequest request, const HeadHandler& on_head, const Completion& complete,
                                         const std::function<bool(const HttpResponse&)>& may_follow,
                                         const std::stop_token& stop) {
  const Url first = request.url;
  const HttpHeaders plain = request.headers;
  const std::string key = request.method + " " + first.text();
  std::optional<Url> known = redirected(key);
  Url next = known.value_or(first);
  bool is_moved = false;
  std::map<std::string, std::string> cookies;  // by the address of their server
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    request.url = next;
    request.headers = plain;
    complete(request, next.same_origin(first));
    const std::string server = fmt::format("{}://{}", next.scheme, next.authority());
    if (const auto set = cookies.find(server); set != cookies.end()) request.headers.add("Cookie", set->second);
    HttpResponse response;
    try {
      response = access_.http->send(request, on_head, stop);
    } catch (const Error&) {
      if (known) remember_redirect(key, {});
      throw;
    }
    if (known && response.status >= 400) {
      remember_redirect(key, known = {});
      next = first;
      continue;
    }
    const auto location = response.headers.find("location");
    if (!is_redirect(response.status) || !location || (may_follow && !may_follow(response))) {
      if (is_moved && response.status < 300) remember_redirect(key, next);
      return response;
    }
    for (const auto& [name, value] : response.headers.fields()) {
      if (lower_case(name) != "set-cookie") continue;
      std::string& set = cookies[server];
      set += fmt::format("{}{}", set.empty() ? "" : "; ", value.substr(0, value.find(';')));
    }
    next = next_url(request.url, *location);
    is_moved = true;
  }
  throw Error(ErrorCode::corrupt, At{first.display()}, Fault{"redirects in circles"});
}

std::optional<Url> RemoteStore::redirected(const std::string& request) {
  const std::scoped_lock lock(mutex_);
  const auto found = redirects_.find(request);
  if (found == redirects_.end() || found->second.until < retry().clock->monotonic()) return std::nullopt;
  return found->second.url;
}

void RemoteStore::remember_redirect(const std::string& request, const std::optional<Url>& url) {
  const std::scoped_lock lock(mutex_);
  if (redirects_.size() >= kMostRemembered) redirects_.clear();
  if (url) {
    redirects_.insert_or_assign(request, Redirect{*url, retry().clock->monotonic() + kRemembered});
  } else {
    redirects_.erase(request);
  }
}

HeadHandler RemoteStore::by_status(const HeadHandler& on_success, std::string& error_body) {
  return [&](const HttpResponse& head) -> BodyWriter {
    if (head.status >= 200 && head.status < 300) return on_success(head);
    error_body.clear();
    return [&error_body, status = head.status](Bytes bytes) {
      if (error_body.size() + bytes.size() > kLongestErrorBody) {
        throw Error(ErrorCode::network, fmt::format("an answer with status {} has an endless body", status));
      }
      error_body += as_text(bytes);
    };
  };
}

}  // namespace shardkit::net
