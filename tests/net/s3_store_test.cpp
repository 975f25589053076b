#include "net/s3_store.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "net/s3_fixture.hpp"
#include "system/clock.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

using Texts = std::vector<std::string>;

std::string page(const Texts& keys, const std::string& next = {}) {
  std::string body = "<ListBucketResult><EncodingType>url</EncodingType>";
  for (const std::string& key : keys) {
    body +=
        fmt::format("<Contents><Key>{}</Key><Size>1</Size><ETag>&quot;e&quot;</ETag></Contents>", percent_encode(key));
  }
  body += fmt::format("<IsTruncated>{}</IsTruncated>", next.empty() ? "false" : "true");
  if (!next.empty()) body += fmt::format("<NextContinuationToken>{}</NextContinuationToken>", next);
  return body + "</ListBucketResult>";
}

Texts listed(S3Fixture& s3, const std::string& folder = {}) {
  Texts names;
  for (const ObjectInfo& object : s3.store->list(folder)) names.push_back(object.name);
  return names;
}

std::string signed_by(const ServedRequest& request) {
  const std::string authorization = request.header("authorization");
  const std::size_t from = authorization.find("Credential=") + 11;
  return authorization.empty() ? "" : authorization.substr(from, authorization.find('/', from) - from);
}

bool shows_secrets(const Failure& failure) {
  return failure.says("very-secret") || failure.says("the-token") || failure.says("Signature=");
}

}  // namespace

TEST_CASE("a listing, sorted by name, goes from page to page by the store's token, with a canonical query") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(200, "", page({"a b/2", "a b/+d"}, "t&amp;o k/+")),
                  ObjectServer::answer(200, "", page({"a b/\xff"}))});
  CHECK(listed(s3, "a b") == Texts{"a b/+d", "a b/2", "a b/\xff"});
  CHECK(s3.server.requests()[0].target == "/bucket/?encoding-type=url&list-type=2&prefix=a%20b%2F");
  CHECK(s3.server.requests()[1].target ==
        "/bucket/?continuation-token=t%26o%20k%2F%2B&encoding-type=url&list-type=2&prefix=a%20b%2F");
}

TEST_CASE("the names in a folder are one listing with a delimiter") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(
      200, "",
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a/</Key><Size>0</Size></Contents>"
      "<Contents><Key>a/1</Key><Size>1</Size></Contents><CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes>"
      "</ListBucketResult>")});
  CHECK(s3.store->names_in("a") == Texts{"a/1", "a/b/"});
  CHECK(s3.server.requests()[0].target == "/bucket/?delimiter=%2F&encoding-type=url&list-type=2&prefix=a%2F");
}

TEST_CASE("a page that is broken or holds an error is asked for again, and handed on once") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(200, "", page({"a"}).substr(0, 90)),
                  ObjectServer::answer(200, "", "<Error><Code>InternalError</Code></Error>"),
                  ObjectServer::answer(200, "", "<html>please log in</html>"),
                  ObjectServer::answer(200, "", page({"a"}))});
  CHECK(listed(s3) == Texts{"a"});
}

TEST_CASE("a store that lists nonsense is an error that says what is wrong") {
  S3Fixture s3;
  s3.server.next(std::deque<ObjectServer::Fault>(30, ObjectServer::answer(200, "", "<html>please log in</html>")));
  const Failure nonsense = failure_of([&] { listed(s3); });
  CHECK(nonsense == ErrorCode::corrupt);
  CHECK(nonsense.says("ListBucketResult"));
}

TEST_CASE("a store that repeats its token is asked no further") {
  S3Fixture s3;
  s3.server.next(std::deque<ObjectServer::Fault>(30, ObjectServer::answer(200, "", page({"a"}, "same"))));
  const Failure endless = failure_of([&] { listed(s3); });
  CHECK(endless == ErrorCode::corrupt);
  CHECK(endless.says("the store sent the same page of its listing again"));
  CHECK(s3.server.requests().size() == 2);
}

TEST_CASE("an error whose body has no end is as good as no answer") {
  S3Fixture s3;
  s3.server.next(
      {ObjectServer::answer(503, "", std::string(3UL << 20U, 'x')), ObjectServer::answer(200, "", page({"a"}))});
  CHECK(listed(s3) == Texts{"a"});
}

TEST_CASE("refusals are final, and say who refused what and why") {
  S3Fixture s3;
  s3.server.next({ObjectServer::s3_error(403, "AccessDenied", "", "<Message>No.</Message>")});
  const Failure denied = failure_of([&] { listed(s3); });
  CHECK(denied == ErrorCode::denied);
  CHECK(denied.says("s3://bucket"));
  CHECK(denied.says("AccessDenied: No."));
  CHECK_FALSE(shows_secrets(denied));
  s3.server.next({ObjectServer::s3_error(404, "NoSuchBucket")});
  CHECK(failure_of([&] { listed(s3); }) == ErrorCode::not_found);
  CHECK(s3.server.requests().size() == 2);
}

TEST_CASE("an object is found with size and version, or is not there") {
  S3Fixture s3;
  const auto found = s3.store->find("a/ü");
  REQUIRE(found);
  CHECK(found->name == "a/ü");
  CHECK(found->size == 10);
  CHECK(found->version == "\"v1\"");
  CHECK(s3.server.requests()[0].method == "HEAD");
  CHECK(s3.server.requests()[0].target == "/bucket/a/%C3%BC");
  s3.server.next({ObjectServer::answer(404)});
  CHECK_FALSE(s3.store->find("b"));
}

TEST_CASE("a checksum of the whole object that the store reports is found, others are not") {
  S3Fixture s3;
  const auto found = [&](const std::string& headers) {
    s3.server.next({ObjectServer::answer(200, headers + "Content-Length: 3\r\n")});
    return s3.store->find("a")->checksum;
  };
  CHECK(found("x-amz-checksum-crc32: NSRBwg==\r\n") == Checksum{ChecksumKind::crc32, "352441c2"});
  CHECK(found("x-amz-checksum-sha256: ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=\r\n") ==
        Checksum{ChecksumKind::sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"});
  CHECK_FALSE(found(""));
  CHECK_FALSE(found("x-amz-checksum-crc32: NSRBwg==\r\nx-amz-checksum-type: COMPOSITE\r\n"));
  for (const char* wrong : {"NSRBwg==-3", "NSRB", "", "????????", "NSRBwg=="}) {
    CAPTURE(wrong);
    CHECK_FALSE(found(fmt::format("x-amz-checksum-sha1: {}\r\n", wrong)));
  }
  CHECK(s3.server.requests()[0].header("x-amz-checksum-mode") == "ENABLED");
}

TEST_CASE("a refused HEAD, which has no body, is asked again by GET for the reason") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(403), ObjectServer::s3_error(403, "InvalidAccessKeyId")});
  const Failure refused = failure_of([&] { s3.store->find("key"); });
  CHECK(refused == ErrorCode::denied);
  CHECK(refused.says("InvalidAccessKeyId"));
  s3.server.next({ObjectServer::answer(400), ObjectServer::s3_error(400, "ExpiredToken")});
  CHECK(s3.store->find("key")->size == 10);
  CHECK(signed_by(s3.server.requests().back()) == "A2");
}

TEST_CASE("expired credentials are replaced and the request repeated at once") {
  S3Fixture s3;
  s3.server.next({ObjectServer::s3_error(400, "ExpiredToken")});
  CHECK(s3.get(0, 10) == "0123456789");
  CHECK(signed_by(s3.server.requests()[0]) == "A1");
  CHECK(signed_by(s3.server.requests()[1]) == "A2");
  CHECK(s3.clock.sleeps() == std::vector<double>{0});
}

TEST_CASE("expired credentials without newer ones are an error") {
  S3Fixture s3("0123456789", false);
  s3.server.next(std::deque<ObjectServer::Fault>(30, ObjectServer::s3_error(400, "ExpiredToken")));
  const Failure expired = failure_of([&] { s3.get(0, 10); });
  CHECK(expired == ErrorCode::denied);
  CHECK(expired.says("have expired"));
  CHECK_FALSE(shows_secrets(expired));
}

TEST_CASE("a wrong clock is put right by the store's, once; later requests are right from the start") {
  S3Fixture s3;
  const auto skewed = ObjectServer::s3_error(403, "RequestTimeTooSkewed", "Date: Wed, 15 Nov 2023 00:00:00 GMT\r\n");
  s3.server.next({skewed});
  CHECK(s3.get(0, 10) == "0123456789");
  s3.get(0, 10);
  CHECK(s3.served("x-amz-date") == Texts{"20231114T221320Z", "20231115T000000Z", "20231115T000000Z"});
  s3.server.next({skewed, skewed});
  CHECK(failure_of([&] { s3.get(0, 10); }) == ErrorCode::denied);
  S3Fixture without_date;
  without_date.server.next({ObjectServer::s3_error(403, "RequestTimeTooSkewed")});
  CHECK(failure_of([&] { without_date.get(0, 10); }) == ErrorCode::denied);
}

TEST_CASE("a wrong region is put right by header or body, and remembered") {
  for (const auto& fault :
       {ObjectServer::s3_error(301, "PermanentRedirect", "x-amz-bucket-region: eu-west-1\r\n"),
        ObjectServer::s3_error(307, "TemporaryRedirect",
                               "x-amz-bucket-region: eu-west-1\r\nLocation: http://127.0.0.1:1/\r\n"),
        ObjectServer::s3_error(400, "AuthorizationHeaderMalformed", "", "<Region>eu-west-1</Region>")}) {
    S3Fixture s3;
    s3.server.next({fault});
    CHECK(s3.get(0, 10) == "0123456789");
    s3.get(0, 10);
    const Texts signatures = s3.served("authorization");
    CHECK(signatures[0].find("/us-east-1/s3/") != std::string::npos);
    CHECK(signatures[1].find("/eu-west-1/s3/") != std::string::npos);
    CHECK(signatures[2].find("/eu-west-1/s3/") != std::string::npos);
    CHECK(s3.clock.sleeps().empty());
  }
}

TEST_CASE("stores that send each other's regions round in circles end in an error") {
  S3Fixture s3;
  std::deque<ObjectServer::Fault> faults;
  for (int i = 0; i < 20; ++i) {
    faults.push_back(ObjectServer::s3_error(301, "PermanentRedirect", fmt::format("x-amz-bucket-region: r-{}\r\n", i)));
  }
  s3.server.next(faults);
  CHECK(failure_of([&] { s3.get(0, 10); }) == ErrorCode::unsupported);
}

TEST_CASE("a redirect to another host is followed without signature and token, by what its address carries") {
  S3Fixture s3;
  ObjectServer target("0123456789");
  s3.server.next({ObjectServer::answer(307, fmt::format("Location: {}\r\n", target.url("/mirror/key?ticket=a%2Fb")))});
  CHECK(s3.get(2, 3) == "234");
  const ServedRequest request = target.requests().at(0);
  CHECK(request.target == "/mirror/key?ticket=a%2Fb");
  CHECK(request.header("range") == "bytes=2-4");
  CHECK(request.header("if-match") == "\"v1\"");
  for (const char* name : {"authorization", "x-amz-security-token", "x-amz-date", "cookie"}) {
    CHECK(request.header(name).empty());
  }
}

TEST_CASE("a redirect is remembered for the object, until it fails or a minute has passed") {
  S3Fixture s3;
  ObjectServer target("0123456789");
  const auto redirect = ObjectServer::answer(307, fmt::format("Location: {}\r\n", target.url("/mirror/key")));
  s3.server.next({redirect, redirect, redirect});
  for (int i = 0; i < 3; ++i) CHECK(s3.get(2, 3) == "234");
  CHECK(s3.server.requests().size() == 1);
  CHECK(target.requests().size() == 3);
  for (const ServedRequest& request : target.requests()) CHECK(request.header("authorization").empty());
  target.next({ObjectServer::answer(403)});
  CHECK(s3.get(2, 3) == "234");
  CHECK(s3.server.requests().size() == 2);
  s3.clock.advance(shardkit::system::Seconds(61));
  CHECK(s3.get(2, 3) == "234");
  CHECK(s3.server.requests().size() == 3);
}

TEST_CASE("a redirect within the host is signed again for its address") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(307, "Location: /target/bucket/key?b=2&a=1&c\r\n")});
  CHECK(s3.get(0, 10) == "0123456789");
  CHECK(s3.server.requests()[1].target == "/target/bucket/key?a=1&b=2&c=");
  CHECK(signed_by(s3.server.requests()[1]) == "A1");
  CHECK(s3.served("authorization")[0] != s3.served("authorization")[1]);
}

TEST_CASE("a redirect that fails is retried from the store, and one in circles is an error") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(307, "Location: http://127.0.0.1:1/gone\r\n")});
  CHECK(s3.get(0, 10) == "0123456789");
  s3.server.next(std::deque<ObjectServer::Fault>(30, ObjectServer::answer(307, "Location: /again\r\n")));
  CHECK(failure_of([&] { s3.get(0, 10); }) == ErrorCode::corrupt);
  s3.server.next({ObjectServer::answer(307, "Location: file:///etc/passwd\r\n")});
  CHECK(failure_of([&] { s3.get(0, 10); }) == ErrorCode::corrupt);
}

TEST_CASE("anonymous requests carry no signature, and a token error is final for them") {
  S3Fixture s3;
  s3.store = s3.make_store(nullptr);
  CHECK(s3.get(0, 10) == "0123456789");
  CHECK(s3.served("authorization") == Texts{""});
  s3.server.next({ObjectServer::s3_error(400, "ExpiredToken")});
  CHECK(failure_of([&] { s3.get(0, 10); }) == ErrorCode::denied);
}
