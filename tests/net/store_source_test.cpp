#include "net/store_source.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "net/object_server.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit_test;

namespace {

std::string listing(const std::vector<std::string>& keys) {
  std::string body = "<ListBucketResult><IsTruncated>false</IsTruncated>";
  for (const std::string& key : keys) body += fmt::format("<Contents><Key>{}</Key><Size>10</Size></Contents>", key);
  return body + "</ListBucketResult>";
}

StoreOptions anonymous_at(const ObjectServer& server) {
  StoreOptions options;
  options.s3.endpoint_url = server.url();
  options.s3.anonymous = true;
  return options;
}

std::string read(ByteSource& source, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  text.resize(source.read_at(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

TEST_CASE("a prefix is a folder: its objects are named relative to it, those that only mark a folder are not there") {
  ObjectServer server("0123456789");
  server.next({ObjectServer::answer(200, "", listing({"train/b", "train/", "train/a/c", "train/a/"}))});
  const auto source = open_store_source("s3://bucket/train", anonymous_at(server), {});
  CHECK(source->location() == "s3://bucket/train");
  const auto objects = source->list();
  REQUIRE(objects.size() == 2);
  CHECK(objects[0].name == "a/c");
  CHECK(objects[1].name == "b");
  CHECK(server.requests()[0].target.find("prefix=train%2F") != std::string::npos);
}

TEST_CASE("an object reads by range, as long as it is the version that was looked at") {
  ObjectServer server("0123456789");
  const auto source = open_store_source("s3://bucket/train/", anonymous_at(server), {});
  const auto object = source->find("x");
  REQUIRE(object);
  CHECK(object->name == "x");
  const auto bytes = source->open(*object);
  CHECK(bytes->size() == 10);
  CHECK(read(*bytes, 3, 4) == "3456");
  CHECK(read(*bytes, 8, 4) == "89");
  CHECK(read(*bytes, 10, 4).empty());
  CHECK(server.requests().back().path() == "/bucket/train/x");
  server.set_etag("\"v2\"");
  CHECK(failure_of([&] { read(*bytes, 3, 4); }) == ErrorCode::io);
  server.next({ObjectServer::answer(404)});
  CHECK_FALSE(source->find("y"));
}

TEST_CASE("a web server without ranges is read as a stream") {
  ObjectServer server("0123456789");
  const auto whole = ObjectServer::answer(200, "ETag: \"v1\"\r\n", "0123456789");
  const auto source = open_store_source(server.url("/data/"), {}, {});
  CHECK(source->location() == server.url("/data"));
  server.next({whole, whole, whole});
  const auto bytes = source->open(*source->find("x"));
  CHECK(read(*bytes, 3, 4) == "3456");
}

TEST_CASE("other addresses are refused") {
  CHECK(failure_of([] { open_store("/a/folder", {}); }) == ErrorCode::usage);
  CHECK(failure_of([] { open_store("gs://bucket/x", {}); }) == ErrorCode::usage);
}
