#include <doctest/doctest.h>

#include "net/fake_cloud.hpp"
#include "net/s3_store.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::net;
using shardkit_test::failure_of;
using shardkit_test::FakeCloud;

namespace {

std::string url(const S3Settings& settings, const std::string& bucket, const std::string& key) {
  return s3_url(settings, bucket, key).text();
}

}  // namespace

TEST_CASE("region and endpoint come from option, environment, profile, in this order") {
  FakeCloud cloud;
  CHECK(s3_settings({}, cloud.around()).region == "us-east-1");
  CHECK_FALSE(s3_settings({}, cloud.around()).endpoint);
  cloud.files["/home/me/.aws/config"] =
      "[default]\nregion = p\nendpoint_url = http://profile\n[profile work]\nregion = w\n";
  CHECK(s3_settings({}, cloud.around()).region == "p");
  CHECK(s3_settings({}, cloud.around()).endpoint->host == "profile");
  CHECK(s3_settings({"work", "", "", false}, cloud.around()).region == "w");
  CHECK_FALSE(s3_settings({"work", "", "", false}, cloud.around()).endpoint);
  cloud.variables["AWS_DEFAULT_REGION"] = "d";
  cloud.variables["AWS_ENDPOINT_URL"] = "http://general";
  CHECK(s3_settings({}, cloud.around()).region == "d");
  CHECK(s3_settings({}, cloud.around()).endpoint->host == "general");
  cloud.variables["AWS_REGION"] = "r";
  cloud.variables["AWS_ENDPOINT_URL_S3"] = "http://special:9000/s3";
  CHECK(s3_settings({}, cloud.around()).region == "r");
  CHECK(s3_settings({}, cloud.around()).endpoint->authority() == "special:9000");
  const S3Settings given = s3_settings({"", "https://option", "o", false}, cloud.around());
  CHECK(given.region == "o");
  CHECK(given.endpoint->text() == "https://option/");
}

TEST_CASE("an endpoint for S3 in the services of the profile is more than its general one, and less than a variable") {
  FakeCloud cloud;
  cloud.files["/home/me/.aws/config"] =
      "[default]\nservices = lab\nendpoint_url = http://general\n[services lab]\nec2 =\n"
      "  endpoint_url = http://other\ns3 =\n  endpoint_url = http://lab:9000\n"
      "[profile lost]\nservices = missing\nendpoint_url = http://general\n";
  CHECK(s3_settings({}, cloud.around()).endpoint->authority() == "lab:9000");
  CHECK(failure_of([&] { s3_settings({"lost", "", "", false}, cloud.around()); }).says("[services missing]"));
  cloud.variables["AWS_ENDPOINT_URL"] = "http://variable";
  CHECK(s3_settings({}, cloud.around()).endpoint->host == "variable");
}

TEST_CASE(
    "FIPS, dual stack, path style and partitions are parts of the host's name, and an endpoint is more than these") {
  FakeCloud cloud;
  cloud.files["/home/me/.aws/config"] =
      "[default]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\nca_bundle = /ca.pem\n"
      "[profile china]\nregion = cn-north-1\ns3 =\n  addressing_style = path\n"
      "[profile fast]\ns3 =\n  use_accelerate_endpoint = true\n";
  const S3Settings strict = s3_settings({}, cloud.around());
  CHECK(url(strict, "bucket", "k") == "https://bucket.s3-fips.dualstack.us-east-1.amazonaws.com/k");
  CHECK(strict.authorities == "/ca.pem");
  CHECK(url(s3_settings({"china", "", "", false}, cloud.around()), "bucket", "k") ==
        "https://s3.cn-north-1.amazonaws.com.cn/bucket/k");
  CHECK(failure_of([&] { s3_settings({"fast", "", "", false}, cloud.around()); }) == ErrorCode::unsupported);
  cloud.variables["AWS_ENDPOINT_URL"] = "http://general";
  CHECK(url(s3_settings({}, cloud.around()), "bucket", "k") == "http://general/bucket/k");
  cloud.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  CHECK_FALSE(s3_settings({}, cloud.around()).endpoint);
  cloud.variables["AWS_REGION"] = "eu west";
  CHECK(failure_of([&] { s3_settings({}, cloud.around()); }) == ErrorCode::usage);
}

TEST_CASE("the profile may say that buckets have their own hosts") {
  FakeCloud cloud;
  cloud.files["/home/me/.aws/config"] = "[default]\ns3 =\n  addressing_style = virtual\n[profile path]\nregion = x\n";
  CHECK(s3_settings({}, cloud.around()).virtual_hosts);
  CHECK_FALSE(s3_settings({"path", "", "", false}, cloud.around()).virtual_hosts);
  CHECK(s3_settings({"path", "", "", false, true}, cloud.around()).virtual_hosts);
}

TEST_CASE("an endpoint that is no plain URL is refused") {
  FakeCloud cloud;
  for (const char* endpoint : {"host:9000", "s3://bucket", "http://user:pw@host", "http://host/?x=1"}) {
    CAPTURE(endpoint);
    CHECK(failure_of([&] { s3_settings({"", endpoint, "", false}, cloud.around()); }) == ErrorCode::usage);
  }
}

TEST_CASE("AWS has a host for each bucket, but for names that do not fit one") {
  S3Settings settings;
  settings.region = "eu-west-1";
  CHECK(url(settings, "my-bucket", "a b/c+d") == "https://my-bucket.s3.eu-west-1.amazonaws.com/a%20b/c%2Bd");
  CHECK(url(settings, "my-bucket", "") == "https://my-bucket.s3.eu-west-1.amazonaws.com/");
  CHECK(url(settings, "my-bucket", "/x//y") == "https://my-bucket.s3.eu-west-1.amazonaws.com//x//y");
  CHECK(url(settings, "my.bucket", "k") == "https://s3.eu-west-1.amazonaws.com/my.bucket/k");
  CHECK(url(settings, "My_Bucket", "k") == "https://s3.eu-west-1.amazonaws.com/My_Bucket/k");
  settings.region = "cn-north-1";
  CHECK(url(settings, "bucket", "k") == "https://bucket.s3.cn-north-1.amazonaws.com.cn/k");
}

TEST_CASE("other stores have buckets by path, below that of the endpoint") {
  S3Settings settings;
  settings.endpoint = parse_url("http://host:9000");
  CHECK(url(settings, "bucket", "k") == "http://host:9000/bucket/k");
  settings.endpoint = parse_url("http://aistore:51080/s3");
  CHECK(url(settings, "bucket", "k") == "http://aistore:51080/s3/bucket/k");
  settings.endpoint = parse_url("http://aistore:51080/s3/");
  CHECK(url(settings, "bucket", "") == "http://aistore:51080/s3/bucket/");
}
