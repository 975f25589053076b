#include "net/aws_profile.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/ascii.hpp"

namespace shardkit {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The profile that a section line "[...]" names; empty for sections of other things.
std::optional<std::string> section_profile(std::string_view line, bool is_config) {
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view name = trimmed(line.substr(1, end - 1));
  constexpr std::string_view prefix = "profile";
  if (is_config && name.starts_with(prefix) && name.size() > prefix.size() &&
      kBlanks.find(name[prefix.size()]) != std::string_view::npos) {
    return std::string(trimmed(name.substr(prefix.size())));
  }
  if (is_config && name != "default") return std::nullopt;
  return std::string(name);
}

}  // namespace

void read_profiles(std::string_view text, bool is_config, std::map<std::string, AwsProfile>& profiles) {
  AwsProfile* profile = nullptr;
  std::string nested;  // of "s3 =" with indented lines below
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view content = trimmed(line);
    if (content.empty() || content.starts_with('#') || content.starts_with(';')) continue;
    if (line.starts_with('[')) {
      const auto name = section_profile(content, is_config);
      profile = name ? &profiles[*name] : nullptr;
      nested.clear();
      continue;
    }
    const std::size_t equals = content.find('=');
    if (profile == nullptr || equals == std::string_view::npos) continue;
    std::string name = lower_case(trimmed(content.substr(0, equals)));
    std::string_view value = trimmed(content.substr(equals + 1));
    value = trimmed(value.substr(0, std::min(value.find(" #"), value.find(" ;"))));
    const bool is_nested = kBlanks.find(line.front()) != std::string_view::npos && !nested.empty();
    if (!is_nested) nested = value.empty() ? name : "";
    if (is_nested) name = fmt::format("{}.{}", nested, name);
    (*profile)[name] = value;
  }
}

AwsProfiles::AwsProfiles(const CloudSurroundings& around) {
  const std::string home = around.environment("HOME").value_or("");
  const auto path = [&](const char* variable, const char* name) {
    return around.environment(variable).value_or(fmt::format("{}/.aws/{}", home, name));
  };
  const std::string config = path("AWS_CONFIG_FILE", "config");
  const std::string credentials = path("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  read_profiles(around.file(config).value_or(""), true, profiles_);
  read_profiles(around.file(credentials).value_or(""), false, profiles_);
  places_ = fmt::format("'{}' and '{}'", config, credentials);
}

const AwsProfile* AwsProfiles::find(const std::string& name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

std::string profile_name(const std::string& asked, const EnvironmentLookup& environment) {
  if (!asked.empty()) return asked;
  if (const auto name = environment("AWS_PROFILE")) return *name;
  return environment("AWS_DEFAULT_PROFILE").value_or("default");
}

}  // namespace shardkit
