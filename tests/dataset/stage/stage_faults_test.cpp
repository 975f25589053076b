// What servers and networks do wrong while a set is staged, one by one: each stage ends with the right bytes or the
// right error, never with a wrong file under its name, and the next one, once all is well, makes it whole.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dataset/stage/stage_remote_support.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::system;
using namespace shardkit_test;

namespace {

using Answer = std::function<void(RemoteSet&, const ServedRequest&, ServerConnection&)>;

constexpr int kForEver = 1 << 30;

/// Requests `first` to `last` for bytes of one shard are answered like this.
struct SourceFault {
  const char* what;
  int first;
  int last;
  Answer answer;
  std::optional<ErrorCode> ends = {};  ///< empty: with the right bytes
  /// The same without a manifest.
  std::optional<ErrorCode> ends_without_manifest = ends;
};

Answer status(int status, const std::string& headers = "") {
  return
      [=](RemoteSet&, const ServedRequest&, ServerConnection& connection) { connection.answer(status, headers, ""); };
}

/// A right head, and so much of the body.
Answer cut_after(std::size_t bytes, std::function<void(ServerConnection&, std::string_view tail)> then) {
  return [=](RemoteSet& set, const ServedRequest& request, ServerConnection& connection) {
    const auto reply = set.server.reply_to(request);
    connection.answer_head(reply.status, reply.headers, reply.body.size());
    const std::string_view body = reply.body;
    connection.send(body.substr(0, bytes));
    then(connection, body.substr(std::min(bytes, body.size())));
  };
}

Answer cut_after(std::size_t bytes) {
  return cut_after(bytes, [](ServerConnection& connection, std::string_view) { connection.close(); });
}

/// A right answer that is changed before it goes out.
Answer changed(std::function<void(StoreServer::Reply&)> change) {
  return [=](RemoteSet& set, const ServedRequest& request, ServerConnection& connection) {
    auto reply = set.server.reply_to(request);
    change(reply);
    connection.answer(reply.status, reply.headers, reply.body);
  };
}

/// Every answer has another wrong byte, so that two reads of a file never agree.
Answer flips_differently() {
  const auto answers = std::make_shared<std::atomic<unsigned char>>();
  return changed([=](auto& reply) { reply.body[77] = static_cast<char>(++*answers); });
}

/// The whole object, whatever was asked for.
Answer whole(std::size_t cut = std::string::npos) {
  return [=](RemoteSet& set, const ServedRequest& request, ServerConnection& connection) {
    ServedRequest plain = request;
    plain.headers.erase("range");
    const auto reply = set.server.reply_to(plain);
    connection.answer_head(reply.status, reply.headers, reply.body.size());
    connection.send(std::string_view(reply.body).substr(0, cut));
    if (cut < reply.body.size()) connection.close();
  };
}

void as_stored(RemoteSet& set, const ServedRequest& request, ServerConnection& connection) {
  const auto reply = set.server.reply_to(request);
  connection.answer(reply.status, reply.headers, reply.body);
}

/// From now on the object is another one.
Answer becomes(std::function<std::string(std::string)> change) {
  return [=](RemoteSet& set, const ServedRequest& request, ServerConnection& connection) {
    set.server.replace(RemoteSet::kShard, change(set.server.files().at(RemoteSet::kShard)));
    as_stored(set, request, connection);
  };
}

/// Before its first byte is read, the object becomes one with another last byte. Requests wait until it has.
Answer becomes_another() {
  return [](RemoteSet& set, const ServedRequest& request, ServerConnection& connection) {
    std::call_once(set.replaced, [&] {
      std::string content = set.server.files().at(RemoteSet::kShard);
      content.back() ^= 1;
      set.server.replace(RemoteSet::kShard, content);
    });
    as_stored(set, request, connection);
  };
}

void trickle(ServerConnection& connection, std::string_view tail) {
  for (std::size_t i = 0; i < tail.size() && !connection.closed(); ++i) {
    connection.send(tail.substr(i, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

void no_http(RemoteSet&, const ServedRequest&, ServerConnection& connection) {
  connection.send("SSH-2.0-OpenSSH_9.2\r\n");
  connection.close();
}

void send_headers_without_end(RemoteSet&, const ServedRequest&, ServerConnection& connection) {
  connection.send("HTTP/1.1 206 Partial Content\r\n");
  for (int i = 0; i < 1'000'000 && !connection.closed(); ++i) connection.send(fmt::format("X-{}: 1\r\n", i));
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), by);
}

std::string with_range(std::string_view range) { return fmt::format("ETag: \"v1\"\r\nContent-Range: {}\r\n", range); }

// clang-format off
const SourceFault kFaults[] = {
    {"a body that is cut", 2, 2, cut_after(1000)},
    {"bodies that are all cut", 1, kForEver, cut_after(20'000)},
    {"a body that is cut before its first byte", 1, 3, cut_after(0)},
    {"a reset in a body", 2, 3, cut_after(1000, [](ServerConnection& c, std::string_view) { c.reset(); })},
    {"connections that are reset at once", 1, 5, [](RemoteSet&, const ServedRequest&, ServerConnection& c) { c.reset(); }},
    {"connections that are closed at once, always", 1, kForEver,
     [](RemoteSet&, const ServedRequest&, ServerConnection& c) { c.close(); }, ErrorCode::network},
    {"a stall in a body", 2, 2, cut_after(1000, [](ServerConnection& c, std::string_view) { c.stall(); })},
    {"a stall before the head", 2, 2, [](RemoteSet&, const ServedRequest&, ServerConnection& c) { c.stall(); }},
    {"a body that trickles", 2, 2, cut_after(10, trickle)},
    {"a burst of 503", 1, 9, status(503)},
    {"429 with a time to wait", 2, 4, status(429, "Retry-After: 30\r\n")},
    {"503 for ever", 3, kForEver, status(503), ErrorCode::network},
    {"500 for ever", 1, kForEver, status(500), ErrorCode::network},
    {"a gateway's 520", 1, 3, status(520)},
    {"the whole for a range, once", 2, 2, whole()},
    {"the whole for every range", 1, kForEver, whole()},
    {"the whole for every range, cut at first", 1, 3, whole(100'000)},
    {"another range than was asked for, once", 2, 2,
     changed([](auto& reply) { reply.headers = with_range("bytes 1-65536/*"); })},
    {"another size than before, once", 2, 2,
     changed([](auto& reply) { reply.headers = with_range("bytes 0-65535/1000000"); })},
    {"no Content-Range", 2, 2, changed([](auto& reply) { reply.headers = "ETag: \"v1\"\r\n"; })},
    {"a Content-Range that is none", 2, 2,
     changed([](auto& reply) { reply.headers = with_range("bytes 9-1/x"); })},
    {"more bytes than the range has", 2, 2, changed([](auto& reply) { reply.body += "more"; })},
    {"fewer bytes than the range has", 2, 2, changed([](auto& reply) { reply.body.resize(10); })},
    {"another ETag, once", 2, 2, changed([](auto& reply) { replace(reply.headers, "v1", "v9"); })},
    {"another ETag, always", 1, kForEver, changed([](auto& reply) { replace(reply.headers, "v1", "v9"); }), {}, ErrorCode::io},
    {"a weak ETag, always", 1, kForEver, changed([](auto& reply) { replace(reply.headers, "\"v1", "W/\"v1"); })},
    {"404, once", 2, 2, status(404)},
    {"404 for its bytes alone, always", 2, kForEver, status(404), ErrorCode::io},
    {"416, once", 2, 2, status(416, "Content-Range: bytes */5\r\n")},
    {"416, always", 2, kForEver, status(416), ErrorCode::io},
    {"412, always", 1, kForEver, status(412), ErrorCode::io},
    {"403 in the middle", 2, kForEver, status(403), ErrorCode::denied},
    {"401", 1, kForEver, status(401), ErrorCode::denied},
    {"headers without end", 2, 2, send_headers_without_end, ErrorCode::corrupt},
    {"what is no HTTP, once", 2, 2, no_http},
    {"what is no HTTP, always", 2, kForEver, no_http, ErrorCode::network},
    {"a redirect in circles", 1, kForEver, status(302, "Location: ?again\r\n"), ErrorCode::corrupt},
    {"a redirect to what is no URL", 1, kForEver, status(302, "Location: ftp://x\r\n"), ErrorCode::corrupt},
    {"a bit that flips on the way, once", 2, 2, changed([](auto& reply) { reply.body[77] ^= 1; })},
    {"a bit that flips on the way, always", 1, kForEver, flips_differently(), ErrorCode::io},
    {"an object that goes", 2, 2,
     [](RemoteSet& set, const ServedRequest&, ServerConnection& c) { set.server.erase(RemoteSet::kShard); c.answer(404, "", ""); },
     ErrorCode::io, ErrorCode::io},
    {"an object that shrinks", 2, 2, becomes([](const std::string& old) { return old.substr(0, 70'000); }), ErrorCode::corrupt, {}},
    {"an object that is emptied", 2, 2, becomes([](const std::string&) { return ""; }), ErrorCode::corrupt, {}},
    {"an object that grows", 2, 2, becomes([](const std::string& old) { return old + old; }), ErrorCode::corrupt, {}},
    {"an object whose bytes are others", 1, kForEver, becomes_another(), ErrorCode::corrupt, {}},
    {"an object that is written again", 2, 2, becomes([](std::string old) { return old; })},
    {"an object that changes all the time", 1, kForEver, becomes([](std::string old) { ++old[9]; return old; }), ErrorCode::io, ErrorCode::io},
};
// clang-format on

bool needs_manifest(const SourceFault& fault) { return std::string_view(fault.what).find("a bit that flips") == 0; }

bool stalls(const SourceFault& fault) {
  const std::string_view what = fault.what;
  return what.find("stall") != std::string_view::npos || what.find("trickle") != std::string_view::npos;
}

void stage_with(const SourceFault& fault, const Way& way, const Shards& shards) {
  RemoteSet set(shards);
  if (stalls(fault)) set.stall = {10, Seconds(0.5)};
  set.at_data([&](int number, const ServedRequest& request, ServerConnection& connection) {
    if (number < fault.first || number > fault.last) return false;
    fault.answer(set, request, connection);
    return true;
  });
  const TempDir dir;
  const std::string target = dir.path("out");
  const auto ends = way.manifest ? fault.ends : fault.ends_without_manifest;
  const Failure failure = failure_of([&] { set.stage(way, target); });
  CAPTURE(failure.text);
  CHECK(failure.failed == ends.has_value());
  if (ends) {
    CHECK(error_code_name(failure.code) == error_code_name(*ends));
    CHECK((failure.says("shard-000001.tar") || failure.path.find("shard-000001.tar") != std::string::npos));
    check_only_resumable(target, way.manifest ? shards.content : set.expected(way));
  } else if (!failure.failed) {
    CHECK((staged_content(target) == set.expected(way)));
    CHECK(set.stage(way, target).bytes_fetched == 0);
  }
  set.server.set_hook({});
  if (set.server.files().count(RemoteSet::kShard) == 0 ||
      set.server.files().at(RemoteSet::kShard) != shards.content.at("shard-000001.tar")) {
    set.server.replace(RemoteSet::kShard, shards.content.at("shard-000001.tar"));
  }
  set.stage(way, target);
  CHECK((staged_content(target) == set.expected(way)));
}

}  // namespace

TEST_CASE("whatever a server or network does to the bytes of an object") {
  const Shards shards;
  for (const SourceFault& fault : kFaults) {
    for (const Way& way : kWays) {
      if (needs_manifest(fault) && !way.manifest) continue;   // nobody could tell
      if (stalls(fault) && way.s3 == way.manifest) continue;  // these take their time
      const std::string how = fmt::format("{}: {}", way.name(), fault.what);
      CAPTURE(how);
      stage_with(fault, way, shards);
    }
  }
}
