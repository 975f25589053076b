#include <set>

#include <fmt/format.h>

#include "net/aws_profile.hpp"
#include "net/credential_providers.hpp"
#include "net/credential_service.hpp"

namespace shardkit {
namespace {

/// One profile of the shared files, and those it refers to.
class ProfileProvider final : public CredentialProvider {
 public:
  ProfileProvider(CloudSurroundings around, std::string profile)
      : around_(std::move(around)), asked_(std::move(profile)), profile_(profile_name(asked_, around_.environment)) {}

  std::string name() const override { return fmt::format("profile '{}'", profile_); }

  std::optional<Credentials> find(const std::stop_token& stop) override {
    const AwsProfiles profiles(around_);
    if (profiles.find(profile_) == nullptr) {
      if (profile_ == "default" && asked_.empty()) return std::nullopt;
      throw Error(ErrorCode::not_found, fmt::format("{} has neither {}", name(), profiles.places()));
    }
    std::set<std::string> above;
    auto found = resolve(profiles, profile_, above, stop);
    if (found || asked_.empty()) return found;
    throw Error(ErrorCode::denied, fmt::format("{} in {} names no credentials", name(), profiles.places()));
  }

 private:
  /// `above`: the profiles on the way here, so that a circle ends.
  std::optional<Credentials> resolve(const AwsProfiles& profiles, const std::string& name, std::set<std::string>& above,
                                     const std::stop_token& stop) const {
    const std::string source = fmt::format("profile '{}'", name);
    const AwsProfile* profile = profiles.find(name);
    if (profile == nullptr)
      throw Error(ErrorCode::not_found, fmt::format("{} is in neither {}", source, profiles.places()));
    const auto setting = [&](const char* key) {
      const auto found = profile->find(key);
      return found == profile->end() ? std::string() : found->second;
    };
    const bool seen = !above.insert(name).second;
    if (!setting("role_arn").empty() && !seen) return by_role(profiles, *profile, source, above, stop);
    if (!setting("aws_access_key_id").empty() && !setting("aws_secret_access_key").empty()) {
      return Credentials{{setting("aws_access_key_id"), Secret(setting("aws_secret_access_key")),
                          Secret(setting("aws_session_token"))},
                         {},
                         source};
    }
    if (seen) throw Error(ErrorCode::usage, fmt::format("{} refers to itself by source_profile", source));
    if (const std::string command = setting("credential_process"); !command.empty()) {
      return credentials_of_json(around_.run(command, stop), "SessionToken",
                                 fmt::format("the credential_process of {}", source));
    }
    if (!setting("sso_session").empty() || !setting("sso_start_url").empty()) refuse_sso(source, name);
    return std::nullopt;
  }

  Credentials by_role(const AwsProfiles& profiles, const AwsProfile& profile, const std::string& source,
                      std::set<std::string>& above, const std::stop_token& stop) const {
    const auto setting = [&](const char* key) {
      const auto found = profile.find(key);
      return found == profile.end() ? std::string() : found->second;
    };
    const RoleRequest role{setting("role_arn"), setting("role_session_name"), setting("external_id"), setting("region"),
                           source};
    if (const std::string token = setting("web_identity_token_file"); !token.empty()) {
      return assume_role_with_token(around_, role, token, stop);
    }
    if (!setting("mfa_serial").empty())
      refuse(source, "asks for a one-time code (mfa_serial), which nobody is there to type");
    const std::string base_name = setting("source_profile");
    if (base_name.empty()) refuse(source, "takes a role without source_profile (credential_source is not supported)");
    const auto base = resolve(profiles, base_name, above, stop);
    if (!base)
      throw Error(ErrorCode::denied,
                  fmt::format("the source_profile '{}' of {} names no credentials", base_name, source));
    return assume_role(around_, role, base->key, stop);
  }

  [[noreturn]] static void refuse_sso(const std::string& source, const std::string& name) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{} signs in by SSO, which takes a browser; sign in with 'aws sso login --profile {}', then set "
                    "what 'aws configure export-credentials --profile {} --format env' prints",
                    source, name, name));
  }

  [[noreturn]] static void refuse(const std::string& source, const char* why) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{} {}; set the keys in the environment, or let credential_process print them", source, why));
  }

  CloudSurroundings around_;
  std::string asked_;
  std::string profile_;
};

}  // namespace

std::unique_ptr<CredentialProvider> profile_provider(CloudSurroundings around, std::string profile) {
  return std::make_unique<ProfileProvider>(std::move(around), std::move(profile));
}

}  // namespace shardkit
