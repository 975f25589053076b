#include "net/aws_profile.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "system/program_output.hpp"

namespace shardkit::net {
namespace {

constexpr std::uint64_t kLargestFile = 1U << 20U;
constexpr std::string_view kBlanks = " \t\r";

/// What a section "<kind> <name>" names, which may be in quotes; empty for sections of another kind.
std::optional<std::string> name_after(std::string_view kind, std::string_view section) {
  if (!section.starts_with(kind) || section.size() == kind.size()) return std::nullopt;
  if (kBlanks.find(section[kind.size()]) == std::string_view::npos) return std::nullopt;
  std::string_view name = system::trimmed(section.substr(kind.size()));
  const bool is_quoted = name.size() > 1 && (name[0] == '"' || name[0] == '\'') && name.back() == name[0];
  if (is_quoted) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

/// The name under which the settings below a section line "[...]" are kept; empty for sections of other things.
std::optional<std::string> kept_as(std::string_view line, bool is_config) {
  const std::string_view name = line.substr(1, line.rfind(']') - 1);
  if (is_config) {
    if (auto profile = name_after("profile", name)) return profile;
    if (const auto services = name_after("services", name)) return services_section(*services);
    if (name != "default") return std::nullopt;
  }
  return std::string(name);
}

/// Reads a file as botocore, its owner, does by Python's configparser: a line that is indented more than the setting
/// above it goes on with that. Other SDKs cut values at " #", and so does this.
class ProfileReader {
 public:
  ProfileReader(bool is_config, const std::string& file, std::map<std::string, AwsProfile>& profiles)
      : is_config_(is_config), file_(file), profiles_(profiles) {}

  void line(std::string_view text) {
    ++number_;
    const std::string_view content = system::trimmed(text);
    if (content.empty() || content.starts_with('#') || content.starts_with(';')) return;
    const std::size_t indent = text.find_first_not_of(kBlanks);
    if (!name_.empty() && indent > indent_) return go_on(content);
    indent_ = indent;
    if (content.starts_with('[') && content.rfind(']') != std::string_view::npos) {
      const auto name = kept_as(content, is_config_);
      profile_ = name ? &profiles_[*name] : &other_;
      name_.clear();
      return;
    }
    if (profile_ == nullptr) refuse(content);
    name_ = set("", content, "=:");
    is_section_ = profile_->at(name_).empty();
  }

 private:
  /// Settings of a nested section, or more of a value.
  void go_on(std::string_view content) {
    if (is_section_) {
      set(name_ + ".", content, "=");
    } else {
      (*profile_)[name_] += fmt::format("\n{}", content);
    }
  }

  /// Returns the name.
  std::string set(const std::string& section, std::string_view content, const char* signs) {
    const std::size_t sign = content.find_first_of(signs);
    if (sign == std::string_view::npos) refuse(content);
    const std::string name = section + lower_case(system::trimmed(content.substr(0, sign)));
    (*profile_)[name] = value_of(content.substr(sign + 1));
    return name;
  }

  static std::string value_of(std::string_view text) {
    return std::string(system::trimmed(text.substr(0, std::min(text.find(" #"), text.find(" ;")))));
  }

  [[noreturn]] void refuse(std::string_view content) const {
    throw Error(ErrorCode::usage, At{file_}, "line {} of '{}' is {}; correct it", number_, file_,
                profile_ == nullptr        ? "in no section, such as [default]"
                : content.starts_with('[') ? "a section without ']'"
                                           : "not NAME = VALUE");
  }

  bool is_config_;
  const std::string& file_;
  std::map<std::string, AwsProfile>& profiles_;
  AwsProfile other_;  ///< settings of other sections
  AwsProfile* profile_ = nullptr;
  std::string name_;  ///< of the last setting
  bool is_section_ = false;
  std::size_t indent_ = 0;
  std::size_t number_ = 0;
};

}  // namespace

std::string services_section(const std::string& name) { return fmt::format("[services {}]", name); }

void read_profiles(std::string_view text, bool is_config, const std::string& file,
                   std::map<std::string, AwsProfile>& profiles) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  ProfileReader reader(is_config, file, profiles);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

AwsProfiles::AwsProfiles(const CloudEnvironment& around) {
  const std::string home = around.environment("HOME").value_or("");
  const auto path = [&](const char* variable, const char* name) {
    const std::string given = around.environment(variable).value_or(fmt::format("~/.aws/{}", name));
    for (const std::string_view start : {"~/", "$HOME/", "${HOME}/"})
      if (given.starts_with(start)) return fmt::format("{}/{}", home, given.substr(start.size()));
    return given;
  };
  const std::string config = path("AWS_CONFIG_FILE", "config");
  const std::string credentials = path("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  read_profiles(around.file(config).value_or(""), true, config, profiles_);
  std::map<std::string, AwsProfile> keys;
  read_profiles(around.file(credentials).value_or(""), false, credentials, keys);
  for (const auto& [name, settings] : keys) {
    AwsProfile& profile = profiles_[name];  // keys are never of two files
    if (settings.contains("aws_access_key_id"))
      for (const char* key : {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}) profile.erase(key);
    for (const auto& [key, value] : settings) profile[key] = value;
  }
  file_names_ = fmt::format("'{}' and '{}'", config, credentials);
}

std::string AwsProfiles::get(const std::string& profile, const std::string& setting) const {
  const auto found = profiles_.find(profile);
  return found != profiles_.end() && found->second.contains(setting) ? found->second.at(setting) : std::string();
}

std::string profile_name(const std::string& asked, const system::EnvironmentLookup& environment) {
  if (!asked.empty()) return asked;
  if (const auto name = environment("AWS_PROFILE")) return *name;
  return environment("AWS_DEFAULT_PROFILE").value_or("default");
}

namespace {

/// One profile of the shared files, and those it refers to.
class ProfileCredentials {
 public:
  ProfileCredentials(CloudEnvironment around, std::string profile)
      : around_(std::move(around)), asked_(std::move(profile)), profile_(profile_name(asked_, around_.environment)) {}

  std::string name() const { return fmt::format("profile '{}'", profile_); }

  std::optional<Credentials> find(const std::stop_token& stop) const {
    const AwsProfiles profiles(around_);
    if (!profiles.contains(profile_)) {
      if (profile_ == "default" && asked_.empty()) return std::nullopt;
      throw Error(ErrorCode::not_found, fmt::format("{} is not in {}", name(), profiles.file_names()));
    }
    std::set<std::string> above;
    auto found = resolve(profiles, profile_, above, stop);
    if (found || asked_.empty()) return found;
    throw Error(ErrorCode::denied, fmt::format("{} in {} has no credentials", name(), profiles.file_names()));
  }

 private:
  /// `above`: the profiles on the way here, so that a circle ends.
  std::optional<Credentials> resolve(const AwsProfiles& profiles, const std::string& name, std::set<std::string>& above,
                                     const std::stop_token& stop) const {
    const std::string source = fmt::format("profile '{}'", name);
    if (!profiles.contains(name))
      throw Error(ErrorCode::not_found, fmt::format("{} is not in {}", source, profiles.file_names()));
    const auto setting = [&](const char* key) { return profiles.get(name, key); };
    const bool seen = !above.insert(name).second;
    if (!setting("role_arn").empty() && !seen) return by_role(profiles, name, above, stop);
    if (setting("aws_access_key_id").empty() != setting("aws_secret_access_key").empty()) {
      throw usage_error("{} in {} has only one of aws_access_key_id and aws_secret_access_key", source,
                        profiles.file_names());
    }
    if (!setting("aws_access_key_id").empty()) {
      return Credentials{{setting("aws_access_key_id"), Secret(setting("aws_secret_access_key")),
                          Secret(setting("aws_session_token"))},
                         {},
                         source};
    }
    if (seen) throw usage_error("{} refers to itself by source_profile", source);
    if (const std::string command = setting("credential_process"); !command.empty()) {
      const std::string program = fmt::format("the credential_process of {}", source);
      return credentials_of_json(around_.run(program, command, stop), "SessionToken", program);
    }
    if (!setting("sso_session").empty() || !setting("sso_start_url").empty()) refuse_sso(source, name);
    return std::nullopt;
  }

  Credentials by_role(const AwsProfiles& profiles, const std::string& name, std::set<std::string>& above,
                      const std::stop_token& stop) const {
    const std::string source = fmt::format("profile '{}'", name);
    const auto setting = [&](const char* key) { return profiles.get(name, key); };
    const RoleRequest role{setting("role_arn"), setting("role_session_name"), setting("external_id"), setting("region"),
                           source};
    if (const std::string token = setting("web_identity_token_file"); !token.empty()) {
      return assume_role_with_token(around_, role, token, stop);
    }
    if (!setting("mfa_serial").empty())
      refuse(source, "needs a one-time code (mfa_serial), which cannot be typed here");
    const std::string base_name = setting("source_profile");
    if (base_name.empty()) refuse(source, "assumes a role without source_profile (credential_source is not supported)");
    const auto base = resolve(profiles, base_name, above, stop);
    if (!base)
      throw Error(ErrorCode::denied,
                  fmt::format("the source_profile '{}' of {} has no credentials", base_name, source));
    return assume_role(around_, role, base->key, stop);
  }

  [[noreturn]] void refuse_sso(const std::string& source, const std::string& name) const {
    throw Error(ErrorCode::unsupported,
                fmt::format("{} uses SSO, which needs a browser; sign in with 'aws sso login --profile {}', then set "
                            "the variables that 'aws configure export-credentials --profile {} --format env' prints{}",
                            source, name, name, without_option()));
  }

  [[noreturn]] void refuse(const std::string& source, const char* why) const {
    throw Error(ErrorCode::unsupported,
                fmt::format("{} {}; use credential_process, or set the keys in the environment{}", source, why,
                            without_option()));
  }

  /// An option counts more than the environment.
  const char* without_option() const { return asked_.empty() ? "" : ", and leave out --profile"; }

  CloudEnvironment around_;
  std::string asked_;
  std::string profile_;
};

}  // namespace

CredentialProvider profile_provider(const CloudEnvironment& around, const std::string& profile) {
  const ProfileCredentials credentials(around, profile);
  return {credentials.name(), [credentials](const std::stop_token& stop) { return credentials.find(stop); }};
}

namespace {

std::optional<std::string> text_of_file(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  return io::read_text_file(path, kLargestFile);
}

}  // namespace

CloudEnvironment machine_surroundings(Http& http) {
  return {system::process_environment(), text_of_file,
          [](const std::string& what, const std::string& command, const std::stop_token& stop) {
            return system::program_output(what, command, {}, stop);
          },
          &system::system_clock(), &http};
}

CredentialChain default_chain(const CloudEnvironment& around, const std::string& profile) {
  if (!profile.empty()) return {profile_provider(around, profile)};
  return {environment_provider(around), web_identity_provider(around), profile_provider(around),
          container_provider(around), instance_provider(around)};
}

}  // namespace shardkit::net
