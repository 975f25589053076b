#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "core/text.hpp"
#include "net/fake_cloud.hpp"
#include "net/object_server.hpp"
#include "net/s3_store.hpp"
#include "net/store_opener.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

constexpr const char* kPoint = "arn:aws:s3:eu-west-1:123456789012:accesspoint:my-point";

SigningKey test_key() { return {"A1", Secret("very-secret"), Secret()}; }

/// The Authorization header of a request as it came over the wire, made again by the server with the user's key.
std::string expected_signature(const ServedRequest& served, const std::string& region) {
  HttpRequest request;
  request.method = served.method;
  request.url = parse_url("http://" + served.header("host") + served.target);
  const std::string names = served.header("authorization");
  std::istringstream signed_names(names.substr(names.find("SignedHeaders=") + 14));
  for (std::string name; std::getline(signed_names, name, ';');) {
    name = name.substr(0, name.find(','));
    if (name != "host") request.headers.add(name, served.header(name));
  }
  std::string date = served.header("x-amz-date");  // 20150830T123600Z
  for (const auto& [at, mark] : {std::pair(13, ':'), {11, ':'}, {6, '-'}, {4, '-'}}) date.insert(at, 1, mark);
  const auto time = system::parse_iso8601(date);
  sign_v4(request, test_key(), {region, "s3"}, time.value());
  return std::string(request.headers.get("authorization"));
}

/// One object of a bucket at a server whose name every bucket's host ends with.
struct Bucket {
  explicit Bucket(const std::string& name, S3Settings settings = {}) {
    settings.endpoint = parse_url("http://localhost:" + std::to_string(parse_url(server.url()).port));
    chain.push_back({"a test", [](const std::stop_token&) { return Credentials{test_key(), {}, "a test"}; }});
    credentials = std::make_shared<CredentialCache>(chain, system::system_clock());
    const auto store = s3_store({name, ""}, settings, credentials, {http});
    found = store->find("a b/k+.tar");
    request = server.requests().front();
  }

  /// The host without its port.
  std::string host() const { return request.header("host").substr(0, request.header("host").find(':')); }

  ObjectServer server{"0123456789"};
  std::shared_ptr<Http> http = std::make_shared<HttpPool>(HttpOptions{});
  CredentialChain chain;
  std::shared_ptr<CredentialCache> credentials;
  std::optional<io::ObjectInfo> found;
  ServedRequest request;
};

void check_signed(const Bucket& bucket, const std::string& region) {
  REQUIRE(bucket.found);
  CHECK(bucket.found->size == 10);
  CHECK(bucket.request.header("authorization") == expected_signature(bucket.request, region));
  CHECK(bucket.request.header("authorization").find("/" + region + "/s3/aws4_request") != std::string::npos);
}

}  // namespace

TEST_CASE("a custom endpoint has buckets by path, or by host if that is wanted") {
  const Bucket by_path("bucket");
  check_signed(by_path, "us-east-1");
  CHECK(by_path.host() == "localhost");
  CHECK(by_path.request.target == "/bucket/a%20b/k%2B.tar");
  S3Settings settings;
  settings.virtual_hosts = true;
  const Bucket by_host("bucket", settings);
  check_signed(by_host, "us-east-1");
  CHECK(by_host.host() == "bucket.localhost");
  CHECK(by_host.request.target == "/a%20b/k%2B.tar");
  const Bucket no_host("My.Bucket", settings);
  check_signed(no_host, "us-east-1");
  CHECK(no_host.request.target == "/My.Bucket/a%20b/k%2B.tar");
}

TEST_CASE("an access point has a host of its name and account, and is signed for its own region") {
  const Bucket point(kPoint);
  check_signed(point, "eu-west-1");
  CHECK(point.host() == "my-point-123456789012.localhost");
  CHECK(point.request.target == "/a%20b/k%2B.tar");
}

TEST_CASE("who pays is a signed header") {
  S3Settings settings;
  settings.requester_pays = true;
  const Bucket bucket("bucket", settings);
  check_signed(bucket, "us-east-1");
  CHECK(bucket.request.header("x-amz-request-payer") == "requester");
  CHECK(bucket.request.header("authorization").find("x-amz-request-payer") != std::string::npos);
  CHECK(Bucket("bucket").request.header("x-amz-request-payer").empty());
}

TEST_CASE("Google's interface is signed for the region auto, at its own endpoint") {
  const S3Settings google = google_settings({});
  CHECK(s3_url(google, "bucket", "k").text() == "https://storage.googleapis.com/bucket/k");
  const Bucket bucket("bucket", google);
  check_signed(bucket, "auto");
  CHECK(google_settings({"", "http://host:1", "r", false}).endpoint->authority() == "host:1");
  CHECK(google_settings({"", "", "r", false}).region == "r");
}

TEST_CASE("gs:// has keys of its own, and none of AWS's services is asked for them") {
  FakeCloud cloud;
  cloud.variables = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1"}};
  StoreOptions options;
  StoreOpener opener(options);
  const auto aws = opener.credentials(cloud.around(), false);
  const auto google = opener.credentials(cloud.around(), true);
  CHECK(google != aws);
  CHECK(google == opener.credentials(cloud.around(), true));
  const Failure none = failure_of([&] { google->get({}); });
  CHECK(none == ErrorCode::denied);
  CHECK(none.says("GS_ACCESS_KEY_ID"));
  CHECK(cloud.requests.empty());
  cloud.variables["AWS_ACCESS_KEY_ID"] = "A";
  cloud.variables["AWS_SECRET_ACCESS_KEY"] = "a";
  CHECK(opener.credentials(cloud.around(), true)->get({})->key.access_key_id == "A");
  StoreOpener other(options);
  cloud.variables["GS_ACCESS_KEY_ID"] = "GOOG1";
  CHECK(failure_of([&] { other.credentials(cloud.around(), true)->get({}); }) == ErrorCode::usage);
  cloud.variables["GS_SECRET_ACCESS_KEY"] = "g";
  CHECK(other.credentials(cloud.around(), true)->get({})->key.access_key_id == "GOOG1");
}

TEST_CASE("a directory bucket is refused by its name, and Ceph's buckets of tenants have one") {
  for (const char* bucket : {"s3://data--use1-az4--x-s3/k", "s3://point--use1-az4--xa-s3/"})
    CHECK(failure_of([&] { parse_s3_location(bucket); }).says("S3 Express One Zone"));
  CHECK(parse_s3_location("s3://physics:train/a") == S3Location{"physics:train", "a"});
  S3Settings ceph;
  ceph.endpoint = parse_url("http://rgw:7480");
  CHECK(s3_url(ceph, "physics:train", "a").text() == "http://rgw:7480/physics%3Atrain/a");
  for (const char* bucket : {"s3://:train/", "s3://a:b:train/", "s3://KEY:SECRET@train/"})
    CHECK(failure_of([&] { parse_s3_location(bucket); }) == ErrorCode::usage);
}

TEST_CASE("an access point is named by its ARN, in both of its forms") {
  for (const char* separator : {":", "/"}) {
    const std::string arn = std::string("s3://arn:aws:s3:eu-west-1:123456789012:accesspoint") + separator + "my-point";
    CHECK(parse_s3_location(arn) == S3Location{kPoint, ""});
    CHECK(parse_s3_location(arn + "/") == S3Location{kPoint, ""});
    CHECK(parse_s3_location(arn + "/train/x@y.tar") == S3Location{kPoint, "train/x@y.tar"});
    CHECK(without_secrets(arn + "/train/x@y.tar") == arn + "/train/x@y.tar");
  }
  S3Settings aws;
  aws.region = "eu-west-1";
  CHECK(s3_url(aws, kPoint, "k").text() == "https://my-point-123456789012.s3-accesspoint.eu-west-1.amazonaws.com/k");
  for (const char* arn : {"arn:aws:s3::123456789012:accesspoint:x.mrap", "arn:aws:s3:::bucket",
                          "arn:aws:s3-outposts:r:123456789012:outpost/o/accesspoint/my-point",
                          "arn:aws:s3:r:12:accesspoint:my-point", "arn:aws:s3:r:123456789012:accesspoint/"}) {
    CAPTURE(arn);
    CHECK(failure_of([&] { parse_s3_location(std::string("s3://") + arn + "/k"); }) == ErrorCode::unsupported);
  }
}
