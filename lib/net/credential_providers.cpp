#include "net/credential_providers.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "net/aws_xml.hpp"

namespace shardkit::net {
namespace {

constexpr std::size_t kLongestAnswer = 256UL << 10U;
constexpr unsigned kStsAttempts = 4;
constexpr const char* kStsRegion = "us-east-1";  // the signing region of the global STS

struct ServiceAnswer {
  int status = 0;
  std::string body;
};

/// Sends `request` a few times until there is a response below 500. `what` names the service in errors, which never
/// contain the response.
ServiceAnswer ask_service(const CloudEnvironment& around, const HttpRequest& request, const std::string& what,
                          unsigned attempts, const std::stop_token& stop) {
  RetryOptions options;
  options.attempts = attempts;
  options.clock = around.clock;
  options.on_retry = around.on_retry;
  for (Attempts tries(options, stop);;) {
    std::optional<Error> failure;
    try {
      ServiceAnswer answer;
      answer.status = around.http->send(request, collect_body(answer.body, kLongestAnswer), stop).status;
      if (answer.status < 500 && answer.status != 429) return answer;
      failure.emplace(ErrorCode::network,
                      fmt::format("{} at '{}' answered with status {}", what, request.url.display(), answer.status),
                      request.url.display());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::network) throw;
      failure.emplace(ErrorCode::network, fmt::format("{}: {}", what, error.what()), error.path());
    }
    tries.failed(*failure, {RetryDecision::retry, ErrorCode::network, false});
  }
}

Url sts_url(const CloudEnvironment& around, const std::string& region) {
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    if (const auto endpoint = around.environment(name)) return parse_url(*endpoint);
  }
  if (region.empty()) return parse_url("https://sts.amazonaws.com/");
  return parse_url(fmt::format("https://sts.{}.amazonaws.com{}/", region, region.starts_with("cn-") ? ".cn" : ""));
}

HttpRequest sts_request(const CloudEnvironment& around, const RoleRequest& role, const char* action,
                        QueryParameters parameters) {
  parameters.insert(parameters.end(),
                    {{"Action", action},
                     {"Version", "2011-06-15"},
                     {"RoleArn", role.role_arn},
                     {"RoleSessionName", role.session_name.empty() ? "shardkit" : role.session_name}});
  HttpRequest request;
  request.method = "POST";
  request.url = sts_url(around, role.region);
  request.headers.add("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
  request.body = canonical_query(parameters);
  return request;
}

Credentials granted(const CloudEnvironment& around, const HttpRequest& request, const RoleRequest& role,
                    const std::stop_token& stop) {
  const ServiceAnswer answer = ask_service(around, request, "STS", kStsAttempts, stop);
  auto grant = answer.status == 200 ? read_sts_grant(answer.body) : std::nullopt;
  if (grant) {
    grant->source = role.source;
    return *std::move(grant);
  }
  const S3ErrorBody error = read_error_body(answer.body);
  throw Error(ErrorCode::denied, fmt::format("STS does not grant the role '{}' of {}: status {} {} {}", role.role_arn,
                                             role.source, answer.status, error.code, error.message));
}

}  // namespace

namespace {

/// Secrets that were made with `echo` end with a line end, and stores do not say what is wrong with them.
void require_no_blanks(const std::string& variable, std::string_view value) {
  check_usage(value.find_first_of(" \t\r\n") == std::string_view::npos,
              variable + " contains a blank or a line end, which no key has; set it without");
}

}  // namespace

Credentials credentials_of_json(std::string_view json, const char* token_name, const std::string& source) {
  const auto document = parse_json(json);
  const auto text = [&](const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
  };
  Credentials found{{text("AccessKeyId"), Secret(text("SecretAccessKey")), Secret(text(token_name))},
                    system::parse_iso8601(text("Expiration")),
                    source};
  if (!found.key.access_key_id.empty() && !found.key.secret_access_key.empty()) {
    for (const char* name : {"AccessKeyId", "SecretAccessKey", token_name})
      require_no_blanks(fmt::format("{} of {}", name, source), text(name));
    return found;
  }
  const std::string code = text("Code");
  throw Error(ErrorCode::denied, fmt::format("{} answered without AccessKeyId and SecretAccessKey{}{}", source,
                                             code.empty() || code == "Success" ? "" : ": ", code));
}

Credentials assume_role_with_token(const CloudEnvironment& around, const RoleRequest& role,
                                   const std::string& token_file, const std::stop_token& stop) {
  auto token = around.file(token_file);
  if (!token) {
    throw Error(ErrorCode::not_found, At{token_file}, "the web identity token '{}' of {} does not exist", token_file,
                role.source);
  }
  while (!token->empty() && std::string_view("\r\n\t ").find(token->back()) != std::string_view::npos)
    token->pop_back();
  const HttpRequest request =
      sts_request(around, role, "AssumeRoleWithWebIdentity", {{"WebIdentityToken", std::move(*token)}});
  return granted(around, request, role, stop);
}

Credentials assume_role(const CloudEnvironment& around, const RoleRequest& role, const SigningKey& base,
                        const std::stop_token& stop) {
  QueryParameters parameters;
  if (!role.external_id.empty()) parameters.emplace_back("ExternalId", role.external_id);
  HttpRequest request = sts_request(around, role, "AssumeRole", std::move(parameters));
  const std::string region = role.region.empty() ? kStsRegion : role.region;
  sign_v4(request, base, {region, "sts"}, around.clock->now());
  return granted(around, request, role, stop);
}

CredentialProvider environment_provider(const CloudEnvironment& around, const std::string& prefix) {
  constexpr const char* kName = "the environment";
  const auto find = [around, prefix](const std::stop_token&) -> std::optional<Credentials> {
    const std::string id_name = prefix + "_ACCESS_KEY_ID";
    const std::string key_name = prefix + "_SECRET_ACCESS_KEY";
    const auto id = around.environment(id_name);
    const auto key = around.environment(key_name);
    if (!id && !key) return std::nullopt;
    if (!id || !key) {
      throw usage_error("{} is set but {} is not; set both or none", id ? id_name : key_name, id ? key_name : id_name);
    }
    const std::string token = around.environment(prefix + "_SESSION_TOKEN").value_or("");
    require_no_blanks(id_name, *id);
    require_no_blanks(key_name, *key);
    require_no_blanks(prefix + "_SESSION_TOKEN", token);
    return Credentials{{*id, Secret(*key), Secret(token)}, {}, kName};
  };
  return {kName, find};
}

CredentialProvider web_identity_provider(const CloudEnvironment& around) {
  constexpr const char* kName = "web identity";
  const auto find = [around](const std::stop_token& stop) -> std::optional<Credentials> {
    const auto token_file = around.environment("AWS_WEB_IDENTITY_TOKEN_FILE");
    const auto role_arn = around.environment("AWS_ROLE_ARN");
    if (!token_file || !role_arn) return std::nullopt;
    const auto variable = [&](const char* name) { return around.environment(name).value_or(""); };
    const std::string region = variable("AWS_REGION");
    const RoleRequest role{*role_arn, variable("AWS_ROLE_SESSION_NAME"), "",
                           region.empty() ? variable("AWS_DEFAULT_REGION") : region, kName};
    return assume_role_with_token(around, role, *token_file, stop);
  };
  return {kName, find};
}

namespace {

constexpr const char* kContainer = "the container's credentials";
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

bool is_local(const Url& url) {
  constexpr std::array<std::string_view, 3> names{"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
  return url.is_loopback() || std::ranges::find(names, url.host) != names.end();
}

std::optional<Url> container_address(const CloudEnvironment& around) {
  if (const auto path = around.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    if (path->starts_with('/')) return parse_url("http://169.254.170.2" + *path);
    throw Error(ErrorCode::usage, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with '/'");
  }
  const auto full = around.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!full) return std::nullopt;
  Url url = parse_url(*full);
  if (url.scheme == "https" || is_local(url)) return url;
  throw Error(ErrorCode::denied, fmt::format("AWS_CONTAINER_CREDENTIALS_FULL_URI is '{}', without TLS; plain HTTP is "
                                             "allowed only for this machine and the addresses of ECS and EKS",
                                             url.host));
}

std::string container_authorization(const CloudEnvironment& around) {
  if (const auto path = around.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    const auto token = around.file(*path);
    if (!token) throw Error(ErrorCode::not_found, At{*path}, "the token '{}' of {} does not exist", *path, kContainer);
    return without_line_end(*token);
  }
  return around.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
}

}  // namespace

CredentialProvider container_provider(const CloudEnvironment& around) {
  const auto find = [around](const std::stop_token& stop) -> std::optional<Credentials> {
    const auto url = container_address(around);
    if (!url) return std::nullopt;
    HttpRequest request = local_request(*url, kContainerTime);
    const std::string token = container_authorization(around);
    if (token.find_first_of("\r\n") != std::string::npos) {
      throw Error(ErrorCode::denied, "the container's authorization token contains a line break");
    }
    if (!token.empty()) request.headers.add("Authorization", token);
    const ServiceAnswer answer = ask_service(around, request, kContainer, kContainerAttempts, stop);
    if (answer.status == 200) return credentials_of_json(answer.body, "Token", kContainer);
    throw Error(ErrorCode::denied,
                fmt::format("{}: '{}' answered with status {}", kContainer, url->display(), answer.status));
  };
  return {kContainer, find};
}

namespace {

constexpr const char* kInstance = "the instance's role";

/// The metadata service of an EC2 instance.
class InstanceMetadata {
 public:
  explicit InstanceMetadata(const CloudEnvironment& around) : around_(around) {}

  /// "" for the first version of the service, which has no tokens, also if the answer is lost: it may go through fewer
  /// hosts than a container has. Empty for a refusal.
  std::optional<std::string> session_token(const std::stop_token& stop) const {
    HttpRequest request = local_request(url("/latest/api/token"), kInstanceTime);
    request.method = "PUT";
    request.headers.add("X-aws-ec2-metadata-token-ttl-seconds", "21600");
    CloudEnvironment unreported = around_;
    unreported.on_retry = {};
    try {
      ServiceAnswer answer = ask_service(unreported, request, kInstance, kInstanceAttempts, stop);
      if (answer.status == 200 && answer.body.find_first_of("\r\n") == std::string::npos) return answer.body;
      if (answer.status != 403 && answer.status != 404 && answer.status != 405) return std::nullopt;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
    }
    const bool needs_token = lower_case(around_.environment("AWS_EC2_METADATA_V1_DISABLED").value_or("")) == "true";
    return needs_token ? std::nullopt : std::optional<std::string>("");
  }

  /// Empty when there is no such entry. Without a token it is not known whether there is such a service at all.
  std::optional<std::string> get(const std::string& entry, const std::string& token,
                                 const std::stop_token& stop) const {
    const bool is_guess = token.empty() && entry.empty();
    HttpRequest request = local_request(url("/latest/meta-data/iam/security-credentials/" + entry),
                                        is_guess ? kInstanceTime : kContainerTime);
    if (!token.empty()) request.headers.add("X-aws-ec2-metadata-token", token);
    ServiceAnswer answer;
    try {
      answer = ask_service(around_, request, kInstance, is_guess ? 1 : kContainerAttempts, stop);
    } catch (const Error& error) {
      if (!is_guess || error.code() == ErrorCode::cancelled) throw;
    }
    if (answer.status == 200) return without_line_end(std::move(answer.body));
    return std::nullopt;
  }

 private:
  Url url(const std::string& path) const {
    const std::string mode = around_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").value_or("");
    const char* usual = mode == "IPv6" || mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    std::string base = around_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(usual);
    while (base.ends_with('/')) base.pop_back();
    return parse_url(base + path);
  }

  const CloudEnvironment& around_;
};

}  // namespace

CredentialProvider instance_provider(const CloudEnvironment& around) {
  const auto find = [around](const std::stop_token& stop) -> std::optional<Credentials> {
    const InstanceMetadata service(around);
    if (lower_case(around.environment("AWS_EC2_METADATA_DISABLED").value_or("")) == "true") return std::nullopt;
    const auto token = service.session_token(stop);
    if (!token) return std::nullopt;
    const auto role = service.get("", *token, stop);
    if (!role || role->empty()) return std::nullopt;  // an instance without a role
    const std::string first = role->substr(0, role->find('\n'));
    const auto document = service.get(percent_encode(first), *token, stop);
    if (document) return credentials_of_json(*document, "Token", kInstance);
    throw Error(ErrorCode::denied,
                fmt::format("the metadata service names the role '{}' but returns no keys for it", first));
  };
  return {kInstance, find};
}

}  // namespace shardkit::net
