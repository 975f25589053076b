// The vectors are AWS's own: the "Signature Version 4 Test Suite" and the examples of the Amazon S3 API reference, page
// "Signature Calculations for the Authorization Header".

#include "net/sigv4.hpp"

#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

#include "system/clock.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;

namespace {

std::string signature_in(const HttpRequest& request) {
  const std::string authorization(request.headers.get("authorization"));
  return authorization.substr(authorization.find("Signature=") + 10);
}

std::string signed_headers_in(const HttpRequest& request) {
  const std::string authorization(request.headers.get("authorization"));
  const std::size_t from = authorization.find("SignedHeaders=") + 14;
  return authorization.substr(from, authorization.find(',', from) - from);
}

HttpRequest suite_request(const char* method, const char* path, const std::string& query = {}, HttpHeaders headers = {},
                          const std::string& token = {}) {
  HttpRequest request{method, parse_url("https://example.amazonaws.com"), std::move(headers), "", true, Seconds(0)};
  request.url.path = path;
  request.url.query = query;
  const SigningKey key{"AKIDEXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), Secret(token)};
  sign_v4(request, key, {"us-east-1", "service"}, *parse_iso8601("2015-08-30T12:36:00Z"));
  return request;
}

HttpRequest s3_request(const char* method, const char* path, const std::string& query = {}, HttpHeaders headers = {},
                       const std::string& body = {}) {
  HttpRequest request{method,    parse_url("https://examplebucket.s3.amazonaws.com"), std::move(headers), body, true,
                      Seconds(0)};
  request.url.path = path;
  request.url.query = query;
  const SigningKey key{"AKIAIOSFODNN7EXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), {}};
  sign_v4(request, key, {"us-east-1", "s3"}, *parse_iso8601("2013-05-24T00:00:00Z"));
  return request;
}

}  // namespace

TEST_CASE("AWS's test suite: plain requests") {
  const HttpRequest vanilla = suite_request("GET", "/");
  CHECK(vanilla.headers.get("authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  CHECK(signature_in(suite_request("POST", "/")) == "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

TEST_CASE("AWS's test suite: paths") {
  CHECK(signature_in(suite_request("GET", percent_encode_path("/example space/").c_str())) ==
        "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741");
  CHECK(signature_in(suite_request("GET", percent_encode_path("/\xe1\x88\xb4").c_str())) ==
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  const char* unreserved = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  CHECK(percent_encode_path(unreserved) == unreserved);
  CHECK(signature_in(suite_request("GET", unreserved)) ==
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
}

TEST_CASE("AWS's test suite: queries") {
  CHECK(signature_in(suite_request("GET", "/", canonical_query({{"Param2", "value2"}, {"Param1", "value1"}}))) ==
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  CHECK(signature_in(suite_request("GET", "/", canonical_query({{"\xe1\x88\xb4", "bar"}}))) ==
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
}

TEST_CASE("AWS's test suite: headers and the session token") {
  CHECK(signature_in(suite_request("POST", "/", "", {{"My-Header1", "value1"}})) ==
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c");
  const HttpRequest with_token =
      suite_request("GET", "/", "", {}, "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267");
  CHECK(signature_in(with_token) == "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8");
}

TEST_CASE("S3's examples: an object with a range") {
  const HttpRequest request = s3_request("GET", "/test.txt", "", {{"Range", "bytes=0-9"}});
  CHECK(signed_headers_in(request) == "host;range;x-amz-content-sha256;x-amz-date");
  CHECK(signature_in(request) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("S3's examples: a body, and a key that needs encoding") {
  const HttpRequest request =
      s3_request("PUT", percent_encode_path("/test$file.text").c_str(), "",
                 {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                 "Welcome to Amazon S3.");
  CHECK(request.headers.get("x-amz-content-sha256") ==
        "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  CHECK(signature_in(request) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_CASE("S3's examples: a query without a value, and a listing") {
  CHECK(signature_in(s3_request("GET", "/", canonical_query({{"lifecycle", ""}}))) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(signature_in(s3_request("GET", "/", canonical_query({{"prefix", "J"}, {"max-keys", "2"}}))) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("signing again replaces what the first signature left") {
  HttpRequest request = suite_request("GET", "/", "", {}, "an old token");
  const SigningKey key{"AKIDEXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), {}};
  sign_v4(request, key, {"us-east-1", "service"}, *parse_iso8601("2015-08-30T12:36:00Z"));
  CHECK(request.headers.size() == 2);
  CHECK(signature_in(request) == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST_CASE("blanks in header values count once, and fields of one name are joined") {
  const auto signature = [](HttpHeaders headers) {
    return signature_in(suite_request("GET", "/", "", std::move(headers)));
  };
  CHECK(signature({{"X-A", "  two   words "}}) == signature({{"x-a", "two words"}}));
  CHECK(signature({{"X-A", "1"}, {"x-a", "2"}}) == signature({{"X-A", "1,2"}}));
  CHECK(signature({{"X-A", "1"}}) != signature({{"X-A", "2"}}));
}
