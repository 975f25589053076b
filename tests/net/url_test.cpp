#include "net/url.hpp"

#include <doctest/doctest.h>

#include "core/text.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::net;
using shardkit_test::failure_of;

TEST_CASE("keys in an s3:// address are refused, and not shown") {
  const auto failure = failure_of([] { parse_s3_location("s3://KEY:SECRET@bucket/x"); });
  CHECK(failure == ErrorCode::usage);
  CHECK_FALSE(failure.says("SECRET"));
}

TEST_CASE("an http URL comes apart, and text() puts it together again") {
  const Url url = parse_url("https://Example.COM:8443/a/b%20c?x=1&y=2#part");
  CHECK(url.scheme == "https");
  CHECK(url.host == "example.com");
  CHECK(url.port == 8443);
  CHECK(url.path == "/a/b%20c");
  CHECK(url.query == "x=1&y=2");
  CHECK(url.authority() == "example.com:8443");
  CHECK(url.text() == "https://example.com:8443/a/b%20c?x=1&y=2");
}

TEST_CASE("the port of the scheme is none, and a path is at least a slash") {
  CHECK(parse_url("http://host:80").text() == "http://host/");
  CHECK(parse_url("https://host:443/x").authority() == "host");
  CHECK(parse_url("https://host:80/x").authority() == "host:80");
  CHECK(parse_url("http://host?q").text() == "http://host/?q");
  CHECK(parse_url("http://[::1]:8080/x").authority() == "[::1]:8080");
  CHECK(parse_url("http://[fd00:ec2::23]/x").host == "[fd00:ec2::23]");
}

TEST_CASE("what people write in a path is encoded, what is encoded already stays") {
  CHECK(parse_url("http://h/a b/\xc3\xa4%41\"").path == "/a%20b/%C3%A4%41%22");
  CHECK(parse_url("http://h/a//b/../c").path == "/a//b/../c");
}

TEST_CASE("a login is read, and neither it nor the query is ever shown") {
  const Url url = parse_url("https://me:p%40ss@host/file?X-Amz-Signature=abc");
  CHECK(url.user == "me");
  CHECK(url.password == "p@ss");
  CHECK(url.text() == "https://host/file?X-Amz-Signature=abc");
  CHECK(url.display() == "https://host/file?...");
  const auto refused = failure_of([] { parse_url("https://me:secret@ho st/"); });
  CHECK(refused == ErrorCode::usage);
  CHECK_FALSE(refused.says("secret"));
}

TEST_CASE("what is no http URL is refused") {
  for (const char* text :
       {"", "host/path", "ftp://host/", "http://", "http:///x", "http://host:0/", "http://host:70000/",
        "http://host:x/", "http://ho\nst/", "http://host/\r\nX: y", "http://a@b@/", "http://[::1/", "http://[x]/",
        "http://u%0d%0a:p@host/", "s3://bucket/key"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_url(text); }) == ErrorCode::usage);
  }
}

TEST_CASE("a Location is absolute or relative, and takes no login along") {
  const Url base = parse_url("http://me:pw@host:81/a/b?q=1");
  CHECK(resolve_location(base, "https://other/x").text() == "https://other/x");
  CHECK(resolve_location(base, "//other/x").text() == "http://other/x");
  CHECK(resolve_location(base, "/x?y=1").text() == "http://host:81/x?y=1");
  CHECK(resolve_location(base, "c/d").text() == "http://host:81/a/c/d");
  CHECK(resolve_location(base, "?z").text() == "http://host:81/a/b?z");
  CHECK(resolve_location(base, "/x").user.empty());
  CHECK(resolve_location(base, "/x").password.empty());
  CHECK(failure_of([&] { resolve_location(base, "file:///etc/passwd"); }) == ErrorCode::usage);
  CHECK(failure_of([&] { resolve_location(base, "/x\r\nEvil: 1"); }) == ErrorCode::usage);
}

TEST_CASE("origins are the same when scheme, host and port are") {
  const Url url = parse_url("https://host/x");
  CHECK(url.same_origin(parse_url("https://HOST:443/other")));
  CHECK_FALSE(url.same_origin(parse_url("http://host/x")));
  CHECK_FALSE(url.same_origin(parse_url("https://host:8443/x")));
  CHECK_FALSE(url.same_origin(parse_url("https://host.evil/x")));
}

TEST_CASE("an S3 location is a bucket and a key that nothing decodes") {
  CHECK(parse_s3_location("s3://bucket") == S3Location{"bucket", ""});
  CHECK(parse_s3_location("s3://bucket/") == S3Location{"bucket", ""});
  CHECK(parse_s3_location("s3://my.bucket-1/a%20b/?#c") == S3Location{"my.bucket-1", "a%20b/?#c"});
  CHECK(parse_s3_location("s3://bucket//a") == S3Location{"bucket", "/a"});
  for (const char* text : {"s3://", "s3:///key", "s3://ab", "s3://user@bucket/x", "s3://AKIA:hush/hush@bucket/x",
                           "s3://.hidden/x", "http://bucket/x"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_s3_location(text); }) == ErrorCode::usage);
  }
}

TEST_CASE("a text of a command line is shown without login and query") {
  CHECK(without_secrets("http://me:hush@host:80/a@b?sig=hush") == "http://host:80/a@b?...");
  CHECK(without_secrets("HTTPS://me@ho:hush@host") == "HTTPS://host");
  CHECK(without_secrets("https://host/x-{0..2}.tar?sig=hush") == "https://host/x-{0..2}.tar?...");
  CHECK(without_secrets("https://host?sig=hush@x") == "https://host?...");
  CHECK(without_secrets("http://host/x.tar") == "http://host/x.tar");
  CHECK(without_secrets("what?/me:hush@host") == "what?/me:hush@host");
  CHECK(without_secrets("s3://bucket/what?") == "s3://bucket/what?");
  CHECK(without_secrets("s3://me:hush@bucket/a?b") == "s3://bucket/a?b");
  CHECK(without_secrets("gs://bucket/what?") == "gs://bucket/what?");
  for (const char* scheme : {"s3://", "https://", "HTTP://"}) {
    CAPTURE(scheme);
    CHECK(without_secrets(scheme + std::string("AKIA:hu/sh+hush/x@bucket/a'")) == scheme + std::string("bucket/a'"));
  }
  CHECK(without_secrets("http://host:80/a@b") == "http://host:80/a@b");
  CHECK(without_secrets("http://[::1]/a@b") == "http://[::1]/a@b");
  CHECK(without_secrets("pipe:curl -H 'Authorization: Bearer hush' https://host/x") == "pipe:...");
  CHECK(without_secrets("cannot read 'http://me:hush@h/my x.tar?sig=hush': gone (in s3://b, http://u:hush@h/y?hush)") ==
        "cannot read 'http://h/my x.tar?...': gone (in s3://b, http://h/y?...");
  CHECK(without_secrets("shardctl reshard http://h/x?... OUT  # http://h/y is there? yes") ==
        "shardctl reshard http://h/x?... OUT  # http://h/y is there? yes");
}

TEST_CASE("percent-encoding leaves the unreserved alone and writes capitals") {
  CHECK(percent_encode("azAZ09-._~") == "azAZ09-._~");
  CHECK(percent_encode("a b+c=d&e/\xff") == "a%20b%2Bc%3Dd%26e%2F%FF");
  CHECK(percent_encode_path("a b/(c)'*!") == "a%20b/%28c%29%27%2A%21");
  CHECK(percent_decode("%41%2f%7E%zz%4") == "A/~%zz%4");
  CHECK(form_decode("a+b%2Bc") == "a b+c");
}

TEST_CASE("a canonical query is sorted by encoded name, then value, and every name has its equals sign") {
  CHECK(canonical_query({}).empty());
  CHECK(canonical_query({{"prefix", "J x"}, {"max-keys", "2"}, {"lifecycle", ""}}) ==
        "lifecycle=&max-keys=2&prefix=J%20x");
  CHECK(canonical_query({{"a", "2"}, {"a", "1"}, {"a~", "0"}, {"a b", "3"}}) == "a=1&a=2&a%20b=3&a~=0");
}
