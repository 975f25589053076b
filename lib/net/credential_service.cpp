#include "net/credential_service.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "net/aws_xml.hpp"
#include "net/retry.hpp"
#include "system/clock.hpp"

namespace shardkit::net {
namespace {

constexpr std::size_t kLongestAnswer = 256UL << 10U;
constexpr unsigned kStsAttempts = 4;
constexpr const char* kStsRegion = "us-east-1";  // what the global STS is signed for

std::string member(const nlohmann::json& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

Url sts_url(const CloudSurroundings& around, const std::string& region) {
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    if (const auto endpoint = around.environment(name)) return parse_url(*endpoint);
  }
  if (region.empty()) return parse_url("https://sts.amazonaws.com/");
  return parse_url(fmt::format("https://sts.{}.amazonaws.com{}/", region, region.starts_with("cn-") ? ".cn" : ""));
}

HttpRequest sts_request(const CloudSurroundings& around, const RoleRequest& role, const char* action,
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

Credentials granted(const CloudSurroundings& around, const HttpRequest& request, const RoleRequest& role,
                    const std::stop_token& stop) {
  const ServiceAnswer answer = ask_service(around, request, "STS", kStsAttempts, stop);
  const auto grant = answer.status == 200 ? read_sts_grant(answer.body) : std::nullopt;
  if (grant && !grant->access_key_id.empty() && !grant->secret_access_key.empty()) {
    return {{grant->access_key_id, Secret(grant->secret_access_key), Secret(grant->session_token)},
            system::parse_iso8601(grant->expiration),
            role.source};
  }
  const S3ErrorBody error = read_error_body(answer.body);
  throw Error(ErrorCode::denied, fmt::format("STS does not lend the role '{}' of {}: status {} {} {}", role.role_arn,
                                             role.source, answer.status, error.code, error.message));
}

}  // namespace

ServiceAnswer ask_service(const CloudSurroundings& around, const HttpRequest& request, const std::string& what,
                          unsigned attempts, const std::stop_token& stop) {
  RetryOptions options;
  options.attempts = attempts;
  options.clock = around.clock;
  for (Attempts tries(options, stop);;) {
    std::optional<Error> failure;
    try {
      ServiceAnswer answer;
      answer.status = around.http->send(request, collect_body(answer.body, kLongestAnswer), stop).status;
      if (answer.status < 500 && answer.status != 429) return answer;
      failure.emplace(ErrorCode::network,
                      fmt::format("{} at '{}' answers with status {}", what, request.url.display(), answer.status),
                      request.url.display());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::network) throw;
      failure.emplace(ErrorCode::network, fmt::format("{}: {}", what, error.what()), error.path());
    }
    tries.failed(*failure, {AnswerRemedy::retry, ErrorCode::network, false});
  }
}

Credentials credentials_of_json(std::string_view json, const char* token_name, const std::string& source) {
  const auto document = nlohmann::json::parse(json, nullptr, false);
  const auto text = [&](const char* name) { return document.is_object() ? member(document, name) : ""; };
  Credentials found{{text("AccessKeyId"), Secret(text("SecretAccessKey")), Secret(text(token_name))},
                    system::parse_iso8601(text("Expiration")),
                    source};
  if (!found.key.access_key_id.empty() && !found.key.secret_access_key.empty()) return found;
  const std::string code = text("Code");
  throw Error(ErrorCode::denied, fmt::format("{} answers without AccessKeyId and SecretAccessKey{}{}", source,
                                             code.empty() || code == "Success" ? "" : ": ", code));
}

Credentials assume_role_with_token(const CloudSurroundings& around, const RoleRequest& role,
                                   const std::string& token_file, const std::stop_token& stop) {
  auto token = around.file(token_file);
  if (!token) {
    throw Error(ErrorCode::not_found,
                fmt::format("the web identity token '{}' of {} is not there", token_file, role.source), token_file);
  }
  while (token->ends_with('\n')) token->pop_back();
  const HttpRequest request =
      sts_request(around, role, "AssumeRoleWithWebIdentity", {{"WebIdentityToken", std::move(*token)}});
  return granted(around, request, role, stop);
}

Credentials assume_role(const CloudSurroundings& around, const RoleRequest& role, const SigningKey& base,
                        const std::stop_token& stop) {
  QueryParameters parameters;
  if (!role.external_id.empty()) parameters.emplace_back("ExternalId", role.external_id);
  HttpRequest request = sts_request(around, role, "AssumeRole", std::move(parameters));
  const std::string region = role.region.empty() ? kStsRegion : role.region;
  sign_v4(request, base, {region, "sts"}, around.clock->now());
  return granted(around, request, role, stop);
}

}  // namespace shardkit::net
