#include <map>
#include <string>

#include <doctest/doctest.h>

#include "net/aws_profile.hpp"
#include "net/credential_providers.hpp"
#include "net/fake_cloud.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::net;
using shardkit_test::Failure;
using shardkit_test::failure_of;
using shardkit_test::FakeCloud;

namespace {

constexpr const char* kConfig = "/home/me/.aws/config";
constexpr const char* kCredentials = "/home/me/.aws/credentials";

std::optional<Credentials> find(FakeCloud& cloud, const std::string& profile = {}) {
  return profile_provider(cloud.around(), profile).find({});
}

Failure failure_of_profile(FakeCloud& cloud, const std::string& profile) {
  return failure_of([&] { find(cloud, profile); });
}

}  // namespace

TEST_CASE("profiles are read as the SDKs read them") {
  std::map<std::string, AwsProfile> profiles;
  read_profiles(
      "# a comment\n"
      "[default]\r\n"
      "Region = eu-west-1 # where we are\r\n"
      "[profile  work ]\n"
      "s3 =\n"
      "  addressing_style = path\n"
      "output=json\n"
      "aws_secret_access_key = a#b;c=d\n"
      "[sso-session corp]\n"
      "sso_region = us-east-1\n"
      "[services x]\n",
      true, "config", profiles);
  CHECK(profiles.size() == 3);
  CHECK(profiles.contains(services_section("x")));
  CHECK(profiles["default"]["region"] == "eu-west-1");
  CHECK(profiles["work"]["s3.addressing_style"] == "path");
  CHECK(profiles["work"]["output"] == "json");
  CHECK(profiles["work"]["aws_secret_access_key"] == "a#b;c=d");
  read_profiles("[work]\noutput = text\n[other]\nx=1", false, "credentials", profiles);
  CHECK(profiles["work"]["output"] == "text");
  CHECK(profiles["other"]["x"] == "1");
}

TEST_CASE("a line that is not a setting is refused by its file and number") {
  for (const char* text :
       {"[default]\nregion eu-west-1\n", "\n[profile broken\n", "[a]\ns3 =\n  words\n", "\nx = 1\n"}) {
    CAPTURE(text);
    std::map<std::string, AwsProfile> profiles;
    const Failure failure = failure_of([&] { read_profiles(text, true, "config", profiles); });
    CHECK(failure == ErrorCode::usage);
    CHECK(failure.says("of 'config'"));
  }
}

TEST_CASE("keys come from the default profile, the one AWS_PROFILE names, or the one asked for") {
  FakeCloud cloud;
  CHECK_FALSE(find(cloud));
  cloud.files[kCredentials] =
      "[default]\naws_access_key_id = A1\naws_secret_access_key = s1\n"
      "[work]\naws_access_key_id = A2\naws_secret_access_key = s2\naws_session_token = t2\n";
  CHECK(find(cloud)->key.access_key_id == "A1");
  CHECK(find(cloud, "work")->key.session_token.reveal() == "t2");
  cloud.variables["AWS_PROFILE"] = "work";
  CHECK(find(cloud)->key.access_key_id == "A2");
  CHECK(find(cloud)->source == "profile 'work'");
  CHECK(find(cloud, "default")->key.access_key_id == "A1");
}

TEST_CASE("the files may lie elsewhere") {
  FakeCloud cloud;
  cloud.variables["AWS_SHARED_CREDENTIALS_FILE"] = "/mnt/keys";
  cloud.variables["AWS_CONFIG_FILE"] = "/mnt/config";
  cloud.files["/mnt/keys"] = "[default]\naws_access_key_id = A1\naws_secret_access_key = s1\n";
  CHECK(find(cloud)->key.access_key_id == "A1");
}

TEST_CASE("a profile that was named and is not there, or holds nothing, is an error that names the files") {
  FakeCloud cloud;
  cloud.files[kConfig] = "[profile empty]\nregion = x\n[default]\nregion = y\n";
  const Failure missing = failure_of_profile(cloud, "wrok");
  CHECK(missing == ErrorCode::not_found);
  CHECK(missing.says(kConfig));
  CHECK(failure_of_profile(cloud, "empty") == ErrorCode::denied);
  CHECK_FALSE(find(cloud));
  cloud.variables["AWS_PROFILE"] = "wrok";
  CHECK(failure_of_profile(cloud, "") == ErrorCode::not_found);
}

TEST_CASE("a program prints keys") {
  FakeCloud cloud;
  cloud.files[kConfig] = "[profile p]\ncredential_process = /opt/keys --for \"me and you\"\n";
  cloud.programs["/opt/keys --for \"me and you\""] =
      R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "s", "SessionToken": "t",
          "Expiration": "2030-01-01T00:00:00Z"})";
  const auto found = find(cloud, "p");
  REQUIRE(found);
  CHECK(found->key.session_token.reveal() == "t");
  CHECK(found->expires);
  cloud.programs.begin()->second = "Password: hunter2";
  const Failure refused = failure_of_profile(cloud, "p");
  CHECK(refused == ErrorCode::denied);
  CHECK_FALSE(refused.says("hunter2"));
}

TEST_CASE("a role is taken with the keys of its source profile, which sign for STS") {
  FakeCloud cloud;
  cloud.files[kConfig] =
      "[profile train]\nrole_arn = arn:r\nsource_profile = base\nexternal_id = e 1\nregion = eu-west-1\n"
      "role_session_name = me\n";
  cloud.files[kCredentials] = "[base]\naws_access_key_id = A1\naws_secret_access_key = s1\n";
  cloud.services["https://sts.eu-west-1.amazonaws.com"] = [](const HttpRequest&) {
    return std::pair(200,
                     std::string("<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId>"
                                 "<SecretAccessKey>sec</SecretAccessKey><SessionToken>tok</SessionToken><Expiration>"
                                 "2030-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult>"
                                 "</AssumeRoleResponse>"));
  };
  CHECK(find(cloud, "train")->key.access_key_id == "ASIA");
  const HttpRequest& request = cloud.requests.back();
  CHECK(request.body.find("ExternalId=e%201&RoleArn=arn%3Ar&RoleSessionName=me") != std::string::npos);
  const std::string authorization(request.headers.get("authorization"));
  CHECK(authorization.find("Credential=A1/20231114/eu-west-1/sts/aws4_request") != std::string::npos);
  CHECK(authorization.find("SignedHeaders=content-type;host;x-amz-date,") != std::string::npos);
}

TEST_CASE("a role with a web identity needs no source") {
  FakeCloud cloud;
  cloud.files[kConfig] = "[profile train]\nrole_arn = arn:r\nweb_identity_token_file = /var/token\n";
  CHECK(failure_of_profile(cloud, "train") == ErrorCode::not_found);
}

TEST_CASE("a profile may lend to itself its own keys, but circles end") {
  FakeCloud cloud;
  cloud.files[kConfig] =
      "[profile self]\nrole_arn = arn:r\nsource_profile = self\naws_access_key_id = A\naws_secret_access_key = s\n"
      "[profile a]\nrole_arn = arn:a\nsource_profile = b\n[profile b]\nrole_arn = arn:b\nsource_profile = a\n"
      "[profile lost]\nrole_arn = arn:l\nsource_profile = nowhere\n";
  CHECK(failure_of_profile(cloud, "self") == ErrorCode::network);  // as far as STS
  CHECK(failure_of_profile(cloud, "a") == ErrorCode::usage);
  CHECK(failure_of_profile(cloud, "lost") == ErrorCode::not_found);
}

TEST_CASE("what takes a person is refused with the way out") {
  FakeCloud cloud;
  cloud.files[kConfig] =
      "[profile sso]\nsso_session = corp\n[profile old]\nsso_start_url = https://x\n"
      "[profile mfa]\nrole_arn = r\nsource_profile = base\nmfa_serial = m\n"
      "[profile ec2]\nrole_arn = r\ncredential_source = Ec2InstanceMetadata\n";
  for (const char* profile : {"sso", "old"}) {
    const Failure refused = failure_of_profile(cloud, profile);
    CHECK(refused == ErrorCode::unsupported);
    CHECK(refused.says("aws configure export-credentials --profile"));
    CHECK(refused.says("and leave out --profile"));  // which counts more than variables
  }
  CHECK(failure_of_profile(cloud, "mfa") == ErrorCode::unsupported);
  CHECK(failure_of_profile(cloud, "ec2") == ErrorCode::unsupported);
}
