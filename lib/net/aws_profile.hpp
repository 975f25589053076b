#pragma once

#include <cstddef>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>

#include "net/credential_providers.hpp"
#include "system/clock.hpp"

namespace shardkit::net {

/// Runs `command` by /bin/sh without input and returns what it prints; what it says on standard error is dropped, for
/// it may hold secrets. Throws Error{denied} when it fails, prints more than `limit` bytes or takes longer than `time`;
/// Error{cancelled} on a stop. It and what it started are killed then.
std::string program_output(const std::string& command, std::size_t limit, system::Seconds time,
                           const std::stop_token& stop);

/// The settings of one profile by name, those of nested sections by "section.name".
using AwsProfile = std::map<std::string, std::string>;

/// The profiles of the shared config and credentials files, merged: what both say, the credentials file says.
class AwsProfiles {
 public:
  /// Reads what AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name, or ~/.aws/config and ~/.aws/credentials. Missing
  /// files are empty.
  explicit AwsProfiles(const CloudSurroundings& around);

  /// Null when neither file has it.
  const AwsProfile* find(const std::string& name) const;

  /// Where was looked, for messages.
  const std::string& places() const { return places_; }

 private:
  std::map<std::string, AwsProfile> profiles_;
  std::string places_;
};

/// The profile to use: `asked`, or AWS_PROFILE, AWS_DEFAULT_PROFILE, "default".
std::string profile_name(const std::string& asked, const system::EnvironmentLookup& environment);

/// Adds the sections of one such file to `profiles`. In a config file they are "[profile x]" and "[default]"; in a
/// credentials file "[x]". Lines that are no setting are passed over, as the SDKs do.
void read_profiles(std::string_view text, bool is_config, std::map<std::string, AwsProfile>& profiles);

/// This machine's files, programs and clock, over `http`.
CloudSurroundings machine_surroundings(Http& http);

/// The files ~/.aws/config and ~/.aws/credentials: fixed keys; role_arn by source_profile or web_identity_token_file;
/// credential_process. `profile` empty: AWS_PROFILE, or "default". Sign-in by SSO, MFA and credential_source are
/// refused by Error{unsupported} that says what to do instead; Error{not_found} for a profile that was named and is not
/// there.
CredentialProvider profile_provider(const CloudSurroundings& around, const std::string& profile = {});

/// All providers in the order of the SDKs; of a named profile, that one alone.
CredentialChain default_chain(const CloudSurroundings& around, const std::string& profile);

}  // namespace shardkit::net
