#include "net/remote_store.hpp"

#include <fmt/format.h>

#include "net/object_version.hpp"
#include "net/range_reader.hpp"

namespace shardkit {
namespace {

constexpr int kMostRedirects = 5;
constexpr std::size_t kLongestErrorBody = 1UL << 20U;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// What an attempt that ended with `status` says about the object; empty when it says nothing.
std::optional<Fetched> meaning_of(int status) {
  if (status == 412 || status == 416 || status == 404) return Fetched::changed;
  return std::nullopt;
}

Url next_url(const Url& from, std::string_view location) {
  try {
    Url next = resolve_location(from, location);
    if (from.scheme != "https" || next.scheme == "https") return next;
  } catch (const Error&) {
    throw Error(ErrorCode::corrupt, fmt::format("'{}' redirects to what is no URL", from.display()), from.display());
  }
  throw Error(ErrorCode::denied, fmt::format("'{}' redirects to an address without TLS", from.display()),
              from.display());
}

}  // namespace

RemoteStore::Answer RemoteStore::persist(const Request& request, const HeadHandler& on_success,
                                         const std::stop_token& stop) {
  for (Attempts attempts(retry_, stop);;) {
    Answer answer = attempt(request, on_success, stop);
    if (answer.verdict.remedy == AnswerRemedy::done || answer.verdict.remedy == AnswerRemedy::fatal) return answer;
    attempts.failed(*answer.error, answer.verdict, retry_after(answer.response.headers, retry_.clock->now()));
  }
}

Fetched RemoteStore::get_range(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length,
                               const BodyWriter& write, const std::stop_token& stop) {
  RangeReader reader(object, offset, length, write);
  const std::string name = name_of(object.name);
  for (Attempts attempts(retry_, stop); !reader.done();) {
    const std::uint64_t before = reader.next();
    Answer answer = attempt(
        {object.name, "GET", {}, reader.headers()},
        [&](const HttpResponse& head) { return reader.take_head(head, name); }, stop);
    if (reader.outcome()) return *reader.outcome();
    if (reader.done()) break;
    if (const auto meaning = meaning_of(answer.response.status)) return *meaning;
    if (reader.next() > before) attempts.progressed();
    if (answer.verdict.remedy == AnswerRemedy::done) {
      answer.verdict = {AnswerRemedy::retry, ErrorCode::network, false};
      answer.error.emplace(ErrorCode::network, fmt::format("'{}': the answer ends early", name), name, reader.next());
    }
    attempts.failed(*answer.error, answer.verdict, retry_after(answer.response.headers, retry_.clock->now()));
  }
  return Fetched::whole;
}

Fetched RemoteStore::get_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                               const std::stop_token& stop) {
  const std::string name = name_of(object.name);
  Request request{object.name};
  pin_version(request.headers, object.version);
  std::uint64_t received = 0;
  bool is_other = false;
  const auto on_success = [&](const HttpResponse& head) -> BodyWriter {
    const std::string version = object_version(head.headers);
    is_other = head.content_length().value_or(object.size) != object.size ||
               (!version.empty() && !object.version.empty() && version != object.version);
    received = 0;
    if (is_other) return {};
    return [&, write = start()](Bytes bytes) {
      received += bytes.size();
      if (received > object.size)
        throw Error(ErrorCode::corrupt, fmt::format("'{}' is longer than it was", name), name);
      write(bytes);
    };
  };
  for (Attempts attempts(retry_, stop);;) {
    Answer answer = attempt(request, on_success, stop);
    if (is_other) return Fetched::changed;
    if (const auto meaning = meaning_of(answer.response.status)) return *meaning;
    if (answer.verdict.remedy == AnswerRemedy::done) {
      if (received == object.size) return Fetched::whole;
      answer.verdict = {AnswerRemedy::retry, ErrorCode::network, false};
      answer.error.emplace(ErrorCode::network, fmt::format("'{}': the answer ends early", name), name, received);
    }
    attempts.failed(*answer.error, answer.verdict, retry_after(answer.response.headers, retry_.clock->now()));
  }
}

HttpResponse RemoteStore::send_following(HttpRequest request, const HeadHandler& on_head, const Completion& complete,
                                         const std::function<bool(const HttpResponse&)>& may_follow,
                                         const std::stop_token& stop) {
  const Url first = request.url;
  const HttpHeaders plain = request.headers;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    const bool own_host = request.url.same_origin(first);
    request.headers = plain;
    complete(request, own_host);
    HttpResponse response = http_.send(request, on_head, stop);
    const auto location = response.headers.find("location");
    if (!is_redirect(response.status) || !location || (may_follow && !may_follow(response))) return response;
    request.url = next_url(request.url, *location);
  }
  throw Error(ErrorCode::corrupt, fmt::format("'{}' redirects in circles", first.display()), first.display());
}

HeadHandler RemoteStore::by_status(const HeadHandler& on_success, std::string& error_body) {
  return [&](const HttpResponse& head) -> BodyWriter {
    if (head.status >= 200 && head.status < 300) return on_success(head);
    error_body.clear();
    return [&error_body, status = head.status](Bytes bytes) {
      if (error_body.size() + bytes.size() > kLongestErrorBody) {
        throw Error(ErrorCode::network, fmt::format("an answer with status {} has a body without end", status));
      }
      error_body += as_text(bytes);
    };
  };
}

}  // namespace shardkit
