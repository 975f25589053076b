#pragma once

#include <functional>
#include <optional>
#include <string>

#include "net/credentials.hpp"
#include "net/http.hpp"
#include "net/retry.hpp"
#include "system/probe.hpp"

/// The providers of the AWS SDKs' default chain, as described in "Understand credential providers" of the AWS SDKs and
/// Tools reference.
namespace shardkit::net {

/// Everything that providers read and ask: the interface for tests. Referenced objects outlive all providers.
struct CloudEnvironment {
  system::EnvironmentLookup environment;
  /// The content of a small file; empty if it does not exist. Throws Error if it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> file;
  /// The output of a shell command. Throws Error that starts with `what` if it fails.
  std::function<std::string(const std::string& what, const std::string& command, const std::stop_token& stop)> run;
  system::Clock* clock = nullptr;
  Http* http = nullptr;
  std::function<void(const RetryEvent&)> on_retry = {};  ///< of requests to services; as in RetryOptions
};

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, or the same with another prefix.
CredentialProvider environment_provider(const CloudEnvironment& around, const std::string& prefix = "AWS");

/// AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN (IAM roles for service accounts), exchanged at STS.
CredentialProvider web_identity_provider(const CloudEnvironment& around);

/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI (ECS) or _FULL_URI with a token (EKS Pod Identity). Plain HTTP goes to
/// loopback, 169.254.170.2, 169.254.170.23 and [fd00:ec2::23] only: Error{denied} for others.
CredentialProvider container_provider(const CloudEnvironment& around);

/// The role of an EC2 instance with IMDSv2, unless AWS_EC2_METADATA_DISABLED is "true" in any case. Gives up within
/// about a second without a metadata service.
CredentialProvider instance_provider(const CloudEnvironment& around);

// Shared by profiles and the other providers.

/// Reads {"AccessKeyId", "SecretAccessKey", `token_name`, "Expiration"} from metadata services and programs. Throws
/// Error{denied} without any of the text.
Credentials credentials_of_json(std::string_view json, const char* token_name, const std::string& source);

/// A role to assume with STS.
struct RoleRequest {
  std::string role_arn;
  std::string session_name;  ///< empty: "shardkit"
  std::string external_id;
  std::string region;  ///< empty: the global STS
  std::string source;  ///< for messages
};

/// AssumeRoleWithWebIdentity with the token in `token_file`, read again each time, because it is rotated. Not signed.
Credentials assume_role_with_token(const CloudEnvironment& around, const RoleRequest& role,
                                   const std::string& token_file, const std::stop_token& stop);

/// AssumeRole, signed with `base`.
Credentials assume_role(const CloudEnvironment& around, const RoleRequest& role, const SigningKey& base,
                        const std::stop_token& stop);

}  // namespace shardkit::net
