#include "system/environment_lookup.hpp"

#include <cstdlib>

namespace shardkit {

EnvironmentLookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

}  // namespace shardkit
