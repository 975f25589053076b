#include "net/aws_xml.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::net;
using shardkit_test::failure_of;

namespace {

std::string listing(const std::string& inner) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{}"
      "</ListBucketResult>",
      inner);
}

S3Listing read(const std::string& inner) { return read_listing(listing(inner), "s3://bucket"); }

const std::string kLast = "<IsTruncated>false</IsTruncated>";

}  // namespace

TEST_CASE("a page holds objects, prefixes and where to go on") {
  const S3Listing page = read(
      "<Name>bucket</Name><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>a+b%20&lt;</NextContinuationToken>"
      "<Contents><Key>a%2Fb+c%2B.tar</Key><Size>12</Size><ETag>&quot;d41d-2&quot;</ETag></Contents>"
      "<Contents><Key>z</Key><Size>18446744073709551615</Size></Contents>"
      "<CommonPrefixes><Prefix>sub%2F</Prefix></CommonPrefixes>");
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0].name == "a/b c+.tar");
  CHECK(page.objects[0].size == 12);
  CHECK(page.objects[0].version == "\"d41d-2\"");
  CHECK(page.objects[1].size == 18446744073709551615U);
  CHECK(page.prefixes == std::vector<std::string>{"sub/"});
  CHECK(page.next_token == "a+b%20<");
}

TEST_CASE("keys are decoded only where the store says that it encoded them") {
  const std::string entry = "<Contents><Key>a%2Fb+c</Key><Size>1</Size></Contents>";
  CHECK(read(kLast + entry).objects[0].name == "a%2Fb+c");
  CHECK(read(kLast + "<EncodingType>url</EncodingType>" + entry).objects[0].name == "a/b c");
  CHECK(read(kLast + "<Contents><Key> &amp;&#9;x </Key><Size>1</Size></Contents>").objects[0].name == " &\tx ");
  CHECK(read(kLast + "<Contents><Key> </Key><Size>1</Size></Contents>").objects[0].name == " ");
}

TEST_CASE("a token of bytes that XML should not hold comes as it is") {
  const std::string token = "a\r\n\x01 b";
  CHECK(
      read("<IsTruncated>true</IsTruncated><NextContinuationToken>" + token + "</NextContinuationToken>").next_token ==
      token);
}

TEST_CASE("an empty listing is one") {
  CHECK(read(kLast).objects.empty());
  CHECK(read(kLast).next_token.empty());
}

TEST_CASE("what is no listing is refused") {
  for (const std::string& text :
       {std::string(), std::string("<html><body>Login</body></html>"), std::string("{\"json\": 1}"),
        listing(kLast).substr(0, 120), std::string("<Error><Code>InternalError</Code></Error>"), listing(""),
        listing("<IsTruncated>maybe</IsTruncated>"), listing("<IsTruncated>true</IsTruncated>"),
        listing(kLast + "<Contents><Key>a</Key></Contents>"), listing(kLast + "<Contents><Size>1</Size></Contents>"),
        listing(kLast + "<Contents><Key>a</Key><Size>-1</Size></Contents>"),
        listing(kLast + "<Contents><Key>a</Key><Size>99999999999999999999</Size></Contents>")}) {
    CAPTURE(text);
    CHECK(failure_of([&] { read_listing(text, "s3://bucket"); }) == ErrorCode::corrupt);
  }
}

TEST_CASE("parts are read under either name of their list: moto has one of its own") {
  for (const char* name : {"ListPartsResult", "ListPartsResponse"}) {
    const auto parts = read_parts(
        fmt::format(
            "<{0}><IsTruncated>false</IsTruncated><Part><PartNumber>2</PartNumber><Size>5</Size><ETag>\"e\"</ETag>"
            "</Part></{0}>",
            name),
        "s3://bucket");
    REQUIRE(parts.parts.size() == 1);
    CHECK(parts.parts[0].number == 2);
  }
}

TEST_CASE("entities of a document type are not followed") {
  const std::string bomb =
      "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>"
      "<Error><Code>&b;</Code><Message>&a;</Message></Error>";
  CHECK(read_error_body(bomb).code == "&b;");
}

TEST_CASE("an error tells code, message and region; what is none tells nothing") {
  const S3ErrorBody error = read_error_body(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong\n "
      "region</Message><Region>eu-west-1</Region></Error>");
  CHECK(error.code == "AuthorizationHeaderMalformed");
  CHECK(error.message == "wrong  region");
  CHECK(error.region == "eu-west-1");
  CHECK(read_error_body("<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>").code ==
        "ExpiredTokenException");
  for (const char* text : {"", "no XML", "<html>503</html>", "<Error><Code>"})
    CHECK(read_error_body(text).code.empty());
  CHECK(read_error_body("<Error><Message>" + std::string(5000, 'x') + "</Message></Error>").message.size() == 300);
}

TEST_CASE("STS lends by either action") {
  const std::string keys =
      "<Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
      "<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials>";
  for (const char* action : {"AssumeRole", "AssumeRoleWithWebIdentity"}) {
    const auto grant =
        read_sts_grant(fmt::format("<{0}Response><{0}Result>{1}</{0}Result></{0}Response>", action, keys));
    REQUIRE(grant);
    CHECK(grant->key.access_key_id == "ASIA");
    CHECK(grant->key.session_token.reveal() == "t");
    CHECK(grant->expires == system::parse_iso8601("2030-01-01T00:00:00Z"));
  }
  CHECK_FALSE(read_sts_grant("<ErrorResponse/>"));
  CHECK_FALSE(read_sts_grant(""));
}
