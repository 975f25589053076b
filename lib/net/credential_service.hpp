#pragma once

#include <string>

#include "net/credential_providers.hpp"
#include "net/url.hpp"

/// What providers share that ask a service for keys.
namespace shardkit::net {

struct ServiceAnswer {
  int status = 0;
  std::string body;
};

/// Sends `request` a few times until there is an answer below 500. `what` names the service in errors, which never hold
/// the answer.
ServiceAnswer ask_service(const CloudSurroundings& around, const HttpRequest& request, const std::string& what,
                          unsigned attempts, const std::stop_token& stop);

/// Reads {"AccessKeyId", "SecretAccessKey", `token_name`, "Expiration"}, as metadata services and programs print it.
/// Throws Error{denied} that shows none of the text.
Credentials credentials_of_json(std::string_view json, const char* token_name, const std::string& source);

/// A role to take by STS.
struct RoleRequest {
  std::string role_arn;
  std::string session_name;  ///< empty: "shardkit"
  std::string external_id;
  std::string region;  ///< empty: the global STS
  std::string source;  ///< for messages
};

/// AssumeRoleWithWebIdentity with the token in `token_file`, read anew each time: it is rotated. Not signed.
Credentials assume_role_with_token(const CloudSurroundings& around, const RoleRequest& role,
                                   const std::string& token_file, const std::stop_token& stop);

/// AssumeRole, signed with `base`.
Credentials assume_role(const CloudSurroundings& around, const RoleRequest& role, const SigningKey& base,
                        const std::stop_token& stop);

}  // namespace shardkit::net
