#include "net/credential_providers.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <unistd.h>

#include "io/file.hpp"
#include "net/aws_profile.hpp"
#include "net/credential_service.hpp"
#include "net/program_output.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kLargestFile = 1U << 20U;
constexpr std::size_t kLongestOutput = 256UL << 10U;
constexpr Seconds kProgramTime{60};

class EnvironmentProvider final : public CredentialProvider {
 public:
  explicit EnvironmentProvider(CloudSurroundings around) : around_(std::move(around)) {}
  std::string name() const override { return "the environment"; }

  std::optional<Credentials> find(const std::stop_token& /*stop*/) override {
    const auto id = around_.environment("AWS_ACCESS_KEY_ID");
    const auto key = around_.environment("AWS_SECRET_ACCESS_KEY");
    if (!id && !key) return std::nullopt;
    if (!id || !key) {
      throw Error(ErrorCode::usage, fmt::format("{} is set and {} is not; set both or none",
                                                id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                                                id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"));
    }
    return Credentials{{*id, Secret(*key), Secret(around_.environment("AWS_SESSION_TOKEN").value_or(""))}, {}, name()};
  }

 private:
  CloudSurroundings around_;
};

class WebIdentityProvider final : public CredentialProvider {
 public:
  explicit WebIdentityProvider(CloudSurroundings around) : around_(std::move(around)) {}
  std::string name() const override { return "web identity"; }

  std::optional<Credentials> find(const std::stop_token& stop) override {
    const auto token_file = around_.environment("AWS_WEB_IDENTITY_TOKEN_FILE");
    const auto role_arn = around_.environment("AWS_ROLE_ARN");
    if (!token_file || !role_arn) return std::nullopt;
    const auto variable = [&](const char* name) { return around_.environment(name).value_or(""); };
    const std::string region = variable("AWS_REGION");
    const RoleRequest role{*role_arn, variable("AWS_ROLE_SESSION_NAME"), "",
                           region.empty() ? variable("AWS_DEFAULT_REGION") : region, name()};
    return assume_role_with_token(around_, role, *token_file, stop);
  }

 private:
  CloudSurroundings around_;
};

std::optional<std::string> text_of_file(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  return read_text_file(path, kLargestFile);
}

}  // namespace

CloudSurroundings machine_surroundings(Http& http) {
  return {process_environment(), text_of_file,
          [](const std::string& command, const std::stop_token& stop) {
            return program_output(command, kLongestOutput, kProgramTime, stop);
          },
          &system_clock(), &http};
}

std::unique_ptr<CredentialProvider> environment_provider(CloudSurroundings around) {
  return std::make_unique<EnvironmentProvider>(std::move(around));
}

std::unique_ptr<CredentialProvider> web_identity_provider(CloudSurroundings around) {
  return std::make_unique<WebIdentityProvider>(std::move(around));
}

CredentialChain default_chain(const CloudSurroundings& around, const std::string& profile) {
  CredentialChain chain;
  if (!profile.empty()) {
    chain.push_back(profile_provider(around, profile));
    return chain;
  }
  chain.push_back(environment_provider(around));
  chain.push_back(web_identity_provider(around));
  chain.push_back(profile_provider(around));
  chain.push_back(container_provider(around));
  chain.push_back(instance_provider(around));
  return chain;
}

}  // namespace shardkit
