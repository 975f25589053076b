#pragma once

#include <map>
#include <string>
#include <string_view>

#include "net/credential_providers.hpp"

namespace shardkit::net {

/// The settings of one profile by name, those of nested sections by "section.name".
using AwsProfile = std::map<std::string, std::string>;

/// The profiles of the shared config and credentials files, merged; the credentials file has precedence.
class AwsProfiles {
 public:
  /// Reads the files in AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/config and ~/.aws/credentials.
  /// Missing files are empty. Throws Error{usage} for lines that are not settings.
  explicit AwsProfiles(const CloudEnvironment& around);

  /// Whether one of the files has it.
  bool contains(const std::string& profile) const { return profiles_.contains(profile); }
  /// Empty if there is no such profile, or it does not have the setting.
  std::string get(const std::string& profile, const std::string& setting) const;

  /// The files, for messages.
  const std::string& file_names() const { return file_names_; }

 private:
  std::map<std::string, AwsProfile> profiles_;
  std::string file_names_;
};

/// The profile to use: `asked`, or AWS_PROFILE, AWS_DEFAULT_PROFILE, "default".
std::string profile_name(const std::string& asked, const system::EnvironmentLookup& environment);

/// The name under which read_profiles() keeps the section "[services x]": settings of services, for the profiles that
/// say "services = x". No profile has such a name.
std::string services_section(const std::string& name);

/// Adds the sections of one such file to `profiles`. In a config file they are "[profile x]", "[default]" and
/// "[services x]"; in a credentials file "[x]". Throws Error{usage} with `file` for lines that are not settings.
void read_profiles(std::string_view text, bool is_config, const std::string& file,
                   std::map<std::string, AwsProfile>& profiles);

/// This machine's files, programs and clock, over `http`.
CloudEnvironment machine_surroundings(Http& http);

/// The files ~/.aws/config and ~/.aws/credentials: fixed keys; role_arn with source_profile or web_identity_token_file;
/// credential_process. `profile` empty: AWS_PROFILE, or "default". SSO, MFA and credential_source are refused with
/// Error{unsupported} and what to do instead; Error{not_found} for a missing profile.
CredentialProvider profile_provider(const CloudEnvironment& around, const std::string& profile = {});

/// All providers in the order of the SDKs; for a given profile, only that one.
CredentialChain default_chain(const CloudEnvironment& around, const std::string& profile);

}  // namespace shardkit::net
