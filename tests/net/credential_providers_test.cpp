#include "net/credential_providers.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "net/aws_profile.hpp"
#include "net/fake_cloud.hpp"
#include "support/errors.hpp"
#include "system/clock.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;
using shardkit_test::failure_of;
using shardkit_test::FakeCloud;

namespace {

constexpr const char* kJsonKeys =
    R"({"Code": "Success", "AccessKeyId": "ASIA", "SecretAccessKey": "sec", "Token": "tok",
        "Expiration": "2030-01-01T00:00:00Z"})";
constexpr const char* kInstance = "http://169.254.169.254";

std::string sts_answer(const std::string& action) {
  return fmt::format(
      "<{0}Response><{0}Result><Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>sec</SecretAccessKey>"
      "<SessionToken>tok</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></{0}Result></"
      "{0}Response>",
      action);
}

void check_lent(const std::optional<Credentials>& found) {
  REQUIRE(found);
  CHECK(found->key.access_key_id == "ASIA");
  CHECK(found->key.secret_access_key.reveal() == "sec");
  CHECK(found->key.session_token.reveal() == "tok");
  CHECK(found->expires == parse_iso8601("2030-01-01T00:00:00Z"));
}

/// A metadata service with one role.
FakeCloud::Service instance_service() {
  return [](const HttpRequest& request) -> std::pair<int, std::string> {
    if (request.url.path == "/latest/api/token") {
      return request.method == "PUT" ? std::pair(200, std::string("session")) : std::pair(405, std::string());
    }
    if (request.headers.get("x-aws-ec2-metadata-token") != "session") return {401, ""};
    if (request.url.path == "/latest/meta-data/iam/security-credentials/") return {200, "my-role\n"};
    if (request.url.path == "/latest/meta-data/iam/security-credentials/my-role") return {200, kJsonKeys};
    return {404, ""};
  };
}

}  // namespace

TEST_CASE("a key with a blank or a line end is refused before it is used, by the name of its variable") {
  for (const char* wrong : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}) {
    FakeCloud cloud;
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"})
      cloud.variables[name] = name == std::string(wrong) ? "secret\n" : "good";
    const auto refused = failure_of([&] { environment_provider(cloud.around()).find({}); });
    CHECK(refused == ErrorCode::usage);
    CHECK(refused.says(wrong));
    CHECK_FALSE(refused.says("secret"));
  }
}

TEST_CASE("the environment gives keys, with a session token or without") {
  FakeCloud cloud;
  CHECK_FALSE(environment_provider(cloud.around()).find({}));
  cloud.variables["AWS_ACCESS_KEY_ID"] = "AKIA";
  CHECK(failure_of([&] { environment_provider(cloud.around()).find({}); }) == ErrorCode::usage);
  cloud.variables["AWS_SECRET_ACCESS_KEY"] = "sec";
  const auto found = environment_provider(cloud.around()).find({});
  REQUIRE(found);
  CHECK(found->key.access_key_id == "AKIA");
  CHECK(found->key.session_token.empty());
  CHECK_FALSE(found->expires);
  cloud.variables["AWS_SESSION_TOKEN"] = "tok";
  CHECK(environment_provider(cloud.around()).find({})->key.session_token.reveal() == "tok");
}

TEST_CASE("a web identity is exchanged at the region's STS, unsigned") {
  FakeCloud cloud;
  CHECK_FALSE(web_identity_provider(cloud.around()).find({}));
  cloud.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/var/token";
  cloud.variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  cloud.variables["AWS_REGION"] = "eu-west-1";
  CHECK(failure_of([&] { web_identity_provider(cloud.around()).find({}); }) == ErrorCode::not_found);
  cloud.files["/var/token"] = "jwt+1\n";
  cloud.services["https://sts.eu-west-1.amazonaws.com"] = [](const HttpRequest&) {
    return std::pair(200, sts_answer("AssumeRoleWithWebIdentity"));
  };
  check_lent(web_identity_provider(cloud.around()).find({}));
  const HttpRequest& request = cloud.requests.back();
  CHECK(request.method == "POST");
  CHECK(request.body ==
        "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=shardkit&"
        "Version=2011-06-15&WebIdentityToken=jwt%2B1");
  CHECK_FALSE(request.headers.find("authorization"));
}

TEST_CASE("STS may be elsewhere, and its refusal names role and reason but no token") {
  FakeCloud cloud;
  cloud.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/var/token";
  cloud.variables["AWS_ROLE_ARN"] = "arn:r";
  cloud.variables["AWS_ENDPOINT_URL_STS"] = "http://sts.local:1234";
  cloud.files["/var/token"] = "jwt";
  cloud.services["http://sts.local:1234"] = [](const HttpRequest&) {
    return std::pair(403, std::string("<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"));
  };
  const auto refused = failure_of([&] { web_identity_provider(cloud.around()).find({}); });
  CHECK(refused == ErrorCode::denied);
  CHECK(refused.says("arn:r"));
  CHECK(refused.says("AccessDenied"));
  CHECK_FALSE(refused.says("jwt"));
}

TEST_CASE("a service that fails for a moment is asked again") {
  FakeCloud cloud;
  cloud.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/var/token";
  cloud.variables["AWS_ROLE_ARN"] = "arn:r";
  cloud.files["/var/token"] = "jwt";
  int left = 2;
  cloud.services["https://sts.amazonaws.com"] = [&](const HttpRequest&) {
    return left-- > 0 ? std::pair(503, std::string("busy")) : std::pair(200, sts_answer("AssumeRoleWithWebIdentity"));
  };
  CloudEnvironment around = cloud.around();
  std::vector<RetryEvent> reported;
  around.on_retry = [&](const RetryEvent& event) { reported.push_back(event); };
  check_lent(web_identity_provider(around).find({}));
  REQUIRE(reported.size() == 2);
  CHECK(reported[1].reason == "STS at 'https://sts.amazonaws.com/' answered with status 503");
  CHECK(reported[1].failures == 2);
  left = 100;
  CHECK(failure_of([&] { web_identity_provider(cloud.around()).find({}); }) == ErrorCode::network);
}

TEST_CASE("a container's credentials come from ECS by path, with its token") {
  FakeCloud cloud;
  CHECK_FALSE(container_provider(cloud.around()).find({}));
  cloud.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/abc";
  cloud.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "Basic x";
  cloud.services["http://169.254.170.2"] = [](const HttpRequest&) { return std::pair(200, std::string(kJsonKeys)); };
  check_lent(container_provider(cloud.around()).find({}));
  CHECK(cloud.requests.back().url.path == "/v2/credentials/abc");
  CHECK(cloud.requests.back().headers.get("authorization") == "Basic x");
  CHECK_FALSE(cloud.requests.back().may_use_proxy);
}

TEST_CASE("EKS Pod Identity reads its token from a file, anew each time") {
  FakeCloud cloud;
  cloud.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.170.23/v1/credentials";
  cloud.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/var/token";
  cloud.services["http://169.254.170.23"] = [](const HttpRequest&) { return std::pair(200, std::string(kJsonKeys)); };
  CHECK(failure_of([&] { container_provider(cloud.around()).find({}); }) == ErrorCode::not_found);
  const auto provider = container_provider(cloud.around());
  for (const char* token : {"first", "second"}) {
    cloud.files["/var/token"] = fmt::format("{}\n", token);
    check_lent(provider.find({}));
    CHECK(cloud.requests.back().headers.get("authorization") == token);
  }
  cloud.files["/var/token"] = "evil\r\nHost: other";
  CHECK(failure_of([&] { provider.find({}); }) == ErrorCode::denied);
}

TEST_CASE("credentials are asked for over plain HTTP from this machine only") {
  FakeCloud cloud;
  const auto provider = container_provider(cloud.around());
  for (const char* host : {"localhost:80", "127.0.0.1", "127.1.2.3:8080", "[::1]", "169.254.170.2", "[fd00:ec2::23]"}) {
    CAPTURE(host);
    cloud.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = fmt::format("http://{}/x", host);
    CHECK(failure_of([&] { provider.find({}); }) == ErrorCode::network);  // it was asked, and is not there
  }
  const std::size_t asked = cloud.requests.size();
  for (const char* host :
       {"example.com", "127.0.0.1.example.com", "169.254.169.254", "10.0.0.1", "localhost.example.com"}) {
    CAPTURE(host);
    cloud.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = fmt::format("http://{}/x", host);
    CHECK(failure_of([&] { provider.find({}); }) == ErrorCode::denied);
  }
  CHECK(cloud.requests.size() == asked);
  cloud.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "https://example.com/x";
  CHECK(failure_of([&] { provider.find({}); }) == ErrorCode::network);
  cloud.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "@example.com/";
  CHECK(failure_of([&] { provider.find({}); }) == ErrorCode::usage);
}

TEST_CASE("what a service answers is never shown") {
  FakeCloud cloud;
  cloud.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/x";
  std::pair<int, std::string> answer;
  cloud.services["http://169.254.170.2"] = [&](const HttpRequest&) { return answer; };
  for (const char* body : {"", "not json sec", "[]", R"({"AccessKeyId": 1, "SecretAccessKey": "sec"})",
                           R"({"SecretAccessKey": "sec"})", R"({"AccessKeyId": "ASIA", "Token": "sec"})"}) {
    CAPTURE(body);
    answer = {200, body};
    const auto refused = failure_of([&] { container_provider(cloud.around()).find({}); });
    CHECK(refused == ErrorCode::denied);
    CHECK_FALSE(refused.says("sec"));
  }
  answer = {403, "sec"};
  CHECK(failure_of([&] { container_provider(cloud.around()).find({}); }) == ErrorCode::denied);
}

TEST_CASE("an instance's role comes by IMDSv2, without a proxy") {
  FakeCloud cloud;
  cloud.services[kInstance] = instance_service();
  check_lent(instance_provider(cloud.around()).find({}));
  for (const HttpRequest& request : cloud.requests) CHECK_FALSE(request.may_use_proxy);
  CHECK(cloud.requests[0].headers.get("x-aws-ec2-metadata-token-ttl-seconds") == "21600");
}

TEST_CASE("no metadata service, none wanted, and a machine without a role are no error") {
  FakeCloud cloud;
  CloudEnvironment around = cloud.around();
  around.on_retry = [](const RetryEvent&) { FAIL("a machine without such a service is not a fault"); };
  CHECK_FALSE(instance_provider(around).find({}));
  CHECK(cloud.requests.size() == 3);
  cloud.services[kInstance] = instance_service();
  for (const char* disabled : {"true", "True", "TRUE"}) {
    cloud.variables["AWS_EC2_METADATA_DISABLED"] = disabled;
    CHECK_FALSE(instance_provider(cloud.around()).find({}));
    CHECK(cloud.requests.size() == 3);
  }
  for (const char* enabled : {"false", "1", "yes"}) {
    cloud.variables["AWS_EC2_METADATA_DISABLED"] = enabled;
    check_lent(instance_provider(cloud.around()).find({}));
  }
  cloud.variables.erase("AWS_EC2_METADATA_DISABLED");
  cloud.services[kInstance] = [](const HttpRequest& request) {
    return request.method == "PUT" ? std::pair(200, std::string("session")) : std::pair(404, std::string());
  };
  CHECK_FALSE(instance_provider(cloud.around()).find({}));
}

TEST_CASE("a metadata service that does not know tokens, or whose answer is lost, is asked without one") {
  for (const int status : {403, 404, 405, 0, 400}) {
    CAPTURE(status);
    FakeCloud cloud;
    cloud.services[kInstance] = [&](const HttpRequest& request) -> std::pair<int, std::string> {
      if (request.method == "PUT" && status == 0) throw Error(ErrorCode::network, "lost");
      if (request.method == "PUT") return {status, ""};
      CHECK(request.headers.get("x-aws-ec2-metadata-token").empty());
      return {200, request.url.path.ends_with("/") ? "my-role\n" : kJsonKeys};
    };
    CHECK(instance_provider(cloud.around()).find({}).has_value() == (status != 400));
    cloud.variables["AWS_EC2_METADATA_V1_DISABLED"] = "true";
    CHECK_FALSE(instance_provider(cloud.around()).find({}));
  }
}

TEST_CASE("the metadata service may be elsewhere") {
  FakeCloud cloud;
  cloud.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:1338/";
  cloud.services["http://127.0.0.1:1338"] = instance_service();
  check_lent(instance_provider(cloud.around()).find({}));
  cloud.variables.erase("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  cloud.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"] = "IPv6";
  cloud.services["http://[fd00:ec2::254]"] = instance_service();
  check_lent(instance_provider(cloud.around()).find({}));
}

TEST_CASE("the chain asks in order, and a profile that was named stands alone") {
  FakeCloud cloud;
  std::vector<std::string> names;
  for (const auto& provider : default_chain(cloud.around(), "")) names.push_back(provider.name);
  CHECK(names == std::vector<std::string>{"the environment", "web identity", "profile 'default'",
                                          "the container's credentials", "the instance's role"});
  const auto named = default_chain(cloud.around(), "work");
  REQUIRE(named.size() == 1);
  CHECK(named[0].name == "profile 'work'");
}
