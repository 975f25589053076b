#include "net/credential_providers.hpp"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <unistd.h>

#include "io/file.hpp"
#include "net/aws_profile.hpp"
#include "net/credential_service.hpp"

namespace shardkit::net {
namespace {

constexpr std::uint64_t kLargestFile = 1U << 20U;
constexpr std::size_t kLongestOutput = 256UL << 10U;
constexpr system::Seconds kProgramTime{60};

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
  return io::read_text_file(path, kLargestFile);
}

}  // namespace

CloudSurroundings machine_surroundings(Http& http) {
  return {system::process_environment(), text_of_file,
          [](const std::string& command, const std::stop_token& stop) {
            return program_output(command, kLongestOutput, kProgramTime, stop);
          },
          &system::system_clock(), &http};
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

namespace {

constexpr unsigned kContainerAttempts = 4;
constexpr system::Seconds kContainerTime{5};
constexpr unsigned kInstanceAttempts = 2;
constexpr system::Seconds kInstanceTime{0.5};  // a machine without such a service should not wait for it

std::string without_line_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

HttpRequest local_request(Url url, system::Seconds time_limit) {
  HttpRequest request;
  request.url = std::move(url);
  request.may_use_proxy = false;  // these addresses mean this very machine
  request.time_limit = time_limit;
  return request;
}

class ContainerProvider final : public CredentialProvider {
 public:
  explicit ContainerProvider(CloudSurroundings around) : around_(std::move(around)) {}
  std::string name() const override { return "the container's credentials"; }

  std::optional<Credentials> find(const std::stop_token& stop) override {
    const auto url = address();
    if (!url) return std::nullopt;
    HttpRequest request = local_request(*url, kContainerTime);
    const std::string token = authorization();
    if (token.find_first_of("\r\n") != std::string::npos) {
      throw Error(ErrorCode::denied, "the container's authorization token holds a line break");
    }
    if (!token.empty()) request.headers.add("Authorization", token);
    const ServiceAnswer answer = ask_service(around_, request, name(), kContainerAttempts, stop);
    if (answer.status == 200) return credentials_of_json(answer.body, "Token", name());
    throw Error(ErrorCode::denied,
                fmt::format("{}: '{}' answers with status {}", name(), url->display(), answer.status));
  }

 private:
  std::optional<Url> address() const {
    if (const auto path = around_.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
      if (path->starts_with('/')) return parse_url("http://169.254.170.2" + *path);
      throw Error(ErrorCode::usage, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with '/'");
    }
    const auto full = around_.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!full) return std::nullopt;
    Url url = parse_url(*full);
    if (url.scheme == "https" || is_local(url.host)) return url;
    throw Error(
        ErrorCode::denied,
        fmt::format("AWS_CONTAINER_CREDENTIALS_FULL_URI names '{}' without TLS; credentials are asked for over plain "
                    "HTTP only from this machine and the addresses of ECS and EKS",
                    url.host));
  }

  static bool is_local(const std::string& host) {
    constexpr std::array<std::string_view, 5> names{"localhost", "[::1]", "169.254.170.2", "169.254.170.23",
                                                    "[fd00:ec2::23]"};
    for (const std::string_view name : names) {
      if (host == name) return true;
    }
    // 127.0.0.0/8 as an address; "127.evil.org" is none.
    return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
  }

  std::string authorization() const {
    if (const auto path = around_.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
      const auto token = around_.file(*path);
      if (!token)
        throw Error(ErrorCode::not_found, fmt::format("the token '{}' of {} is not there", *path, name()), *path);
      return without_line_end(*token);
    }
    return around_.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
  }

  CloudSurroundings around_;
};

class InstanceProvider final : public CredentialProvider {
 public:
  explicit InstanceProvider(CloudSurroundings around) : around_(std::move(around)) {}
  std::string name() const override { return "the instance's role"; }

  std::optional<Credentials> find(const std::stop_token& stop) override {
    if (around_.environment("AWS_EC2_METADATA_DISABLED").value_or("") == "true") return std::nullopt;
    const auto token = session_token(stop);
    if (!token) return std::nullopt;
    const auto role = get("", *token, stop);
    if (!role || role->empty()) return std::nullopt;  // an instance without a role
    const std::string first = role->substr(0, role->find('\n'));
    const auto document = get(percent_encode(first), *token, stop);
    if (document) return credentials_of_json(*document, "Token", name());
    throw Error(ErrorCode::denied,
                fmt::format("the metadata service names the role '{}' and gives no keys of it", first));
  }

 private:
  Url url(const std::string& path) const {
    const std::string mode = around_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").value_or("");
    const char* usual = mode == "IPv6" || mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    std::string base = around_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(usual);
    while (base.ends_with('/')) base.pop_back();
    return parse_url(base + path);
  }

  /// Empty where no such service answers: most machines.
  std::optional<std::string> session_token(const std::stop_token& stop) const {
    HttpRequest request = local_request(url("/latest/api/token"), kInstanceTime);
    request.method = "PUT";
    request.headers.add("X-aws-ec2-metadata-token-ttl-seconds", "21600");
    try {
      ServiceAnswer answer = ask_service(around_, request, name(), kInstanceAttempts, stop);
      if (answer.status == 200 && answer.body.find_first_of("\r\n") == std::string::npos) return answer.body;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
    }
    return std::nullopt;
  }

  /// Empty when there is no such entry.
  std::optional<std::string> get(const std::string& entry, const std::string& token,
                                 const std::stop_token& stop) const {
    HttpRequest request = local_request(url("/latest/meta-data/iam/security-credentials/" + entry), kContainerTime);
    request.headers.add("X-aws-ec2-metadata-token", token);
    ServiceAnswer answer = ask_service(around_, request, name(), kContainerAttempts, stop);
    if (answer.status == 200) return without_line_end(std::move(answer.body));
    return std::nullopt;
  }

  CloudSurroundings around_;
};

}  // namespace

std::unique_ptr<CredentialProvider> container_provider(CloudSurroundings around) {
  return std::make_unique<ContainerProvider>(std::move(around));
}

std::unique_ptr<CredentialProvider> instance_provider(CloudSurroundings around) {
  return std::make_unique<InstanceProvider>(std::move(around));
}

}  // namespace shardkit::net
