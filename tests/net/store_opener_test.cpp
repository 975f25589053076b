#include "net/store_opener.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "net/object_server.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

std::string listing(const std::vector<std::string>& keys) {
  std::string body = "<ListBucketResult><IsTruncated>false</IsTruncated>";
  for (const std::string& key : keys)
    body += fmt::format("<Contents><Key>{}</Key><Size>{}</Size></Contents>", key, key.ends_with("b/") ? 0 : 10);
  return body + "</ListBucketResult>";
}

StoreOptions anonymous_at(const ObjectServer& server) {
  StoreOptions options;
  options.s3.endpoint_url = server.url();
  options.s3.anonymous = true;
  return options;
}

/// What came of a range, and the bytes.
std::pair<Fetched, std::string> range(ObjectSource& source, const ObjectInfo& object, std::uint64_t offset,
                                      std::uint64_t length) {
  std::string text;
  const Fetched fetched = source.fetch(object, offset, length, [&](Bytes bytes) { text += as_text(bytes); }, {});
  return {fetched, text};
}

}  // namespace

TEST_CASE("a prefix is a folder: its objects are named relative to it, those that only mark a folder are not there") {
  ObjectServer server("0123456789");
  server.next({ObjectServer::answer(200, "", listing({"train/b", "train/bb/", "train/a/c", "train/a/"}))});
  const auto source = StoreOpener(anonymous_at(server)).open("s3://bucket/train");
  CHECK(source->location() == "s3://bucket/train");
  const auto objects = source->list();
  REQUIRE(objects.size() == 3);
  CHECK(objects[0].name == "a/");  // it has bytes
  CHECK(objects[1].name == "a/c");
  CHECK(objects[2].name == "b");
  CHECK(server.requests()[0].target.find("prefix=train%2F") != std::string::npos);
}

TEST_CASE("an object reads by range, as long as it is the version that was looked at") {
  ObjectServer server("0123456789");
  const auto source = StoreOpener(anonymous_at(server)).open("s3://bucket/train/");
  const auto object = source->find("x");
  REQUIRE(object);
  CHECK(object->name == "x");
  CHECK(range(*source, *object, 3, 4) == std::pair(Fetched::whole, std::string("3456")));
  CHECK(fetch_text(*source, *object, 10, {}) == "0123456789");
  CHECK(server.requests().back().path() == "/bucket/train/x");
  server.set_etag("\"v2\"");
  CHECK(range(*source, *object, 3, 4).first == Fetched::changed);
  server.next({ObjectServer::answer(404)});
  CHECK_FALSE(source->find("y"));
}

TEST_CASE("a web server without ranges is read as a stream") {
  ObjectServer server("0123456789");
  const auto whole = ObjectServer::answer(200, "ETag: \"v1\"\r\n", "0123456789");
  const auto source = StoreOpener({}).open(server.url("/data/"));
  CHECK(source->location() == server.url("/data"));
  server.next({whole, whole, whole});
  const auto object = source->find("x");
  CHECK(fetch_text(*source, *object, 10, {}) == "0123456789");
}

TEST_CASE("an object's address shows no secret, and keeps the query behind the path") {
  const auto web = StoreOpener({}).open("http://me:pw@host/data?sig=secret");
  CHECK(web->address_of("a b.tar") == "http://host/data/a%20b.tar?...");
  StoreOptions anonymous;
  anonymous.s3.anonymous = true;
  CHECK(StoreOpener(anonymous).open("s3://bucket/train")->address_of("x/y") == "s3://bucket/train/x/y");
}

TEST_CASE("stores opened together share their connections, and outlive who opened them") {
  ObjectServer server("0123456789");
  std::unique_ptr<ObjectSource> one;
  std::unique_ptr<ObjectSource> other;
  {
    StoreOpener opener(anonymous_at(server));
    one = opener.open(server.url("/x.tar?sig=1"));
    other = opener.open("s3://bucket/train");
  }
  CHECK(one->find("")->size == 10);
  one.reset();
  CHECK(other->find("y"));
  const auto requests = server.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].target == "/x.tar?sig=1");
  CHECK(requests[0].connection == requests[1].connection);
}

TEST_CASE("gs:// is read as s3:// is, under its own name") {
  ObjectServer server("0123456789");
  server.next({ObjectServer::answer(200, "", listing({"train/a?", "train/b"}))});
  const auto source = StoreOpener(anonymous_at(server)).open("gs://bucket/train");
  CHECK(source->location() == "gs://bucket/train");
  CHECK(source->list().size() == 2);
  CHECK(server.requests().back().path() == "/bucket/");
  CHECK(source->address_of("a?") == "gs://bucket/train/a?");
  CHECK(source->find("x"));
  CHECK(server.requests().back().header("accept-encoding") == "gzip");  // else Google unpacks what is stored so
  CHECK(source->find("b")->size == 10);
}

TEST_CASE("other addresses are refused") {
  CHECK(failure_of([] { StoreOpener({}).open("/a/folder"); }) == ErrorCode::usage);
  CHECK(failure_of([] { StoreOpener({}).open("abfs://bucket/x"); }) == ErrorCode::usage);
}
