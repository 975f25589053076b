#include "cli/envelope.hpp"

#include <cstdint>
#include <fstream>

#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "cli/field_json.hpp"
#include "cli/messages.hpp"
#include "core/fields.hpp"
#include "system/clock.hpp"
#include "system/limits.hpp"

namespace shardkit::cli {
namespace {

/// PRETTY_NAME of os-release(5); the kernel's name where there is none.
std::string os_name(const std::string& kernel_name) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    line.erase(0, kKey.size());
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
    return line;
  }
  return kernel_name;
}

/// Asks the operating system. What cannot be found out stays empty or 0; never throws for that.
HostInfo this_host() {
  HostInfo host;
  utsname name{};
  if (uname(&name) == 0) {
    host.hostname = name.nodename;
    host.kernel = name.release;
  }
  host.os = os_name(name.sysname);
  host.cpus = system::usable_threads();
  host.memory = system::usable_memory();
  return host;
}

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) list.push_back({{"code", warning.code}, {"text", warning.text}});
  return list;
}

Json host_json() {
  HostInfo host = this_host();
  return fields_json(field_tree([&](FieldVisitor& v) { host.describe(v); }));
}

}  // namespace

std::string envelope_json(const Report& report) {
  Json json;
  json["schema"] = "shardkit/" + verb_slug(report.verb);
  json["schema_version"] = kSchemaVersion;
  json["tool"] = {{"name", report.program}, {"version", build_version()}, {"commit", build_commit()}};
  json["started_at"] = system::rfc3339(report.started_at);
  json["elapsed_seconds"] = report.elapsed_seconds;
  json["host"] = host_json();
  json["options"] = fields_json(report.options);
  json["result"] = report.outcome.failure ? Json(nullptr) : fields_json(report.result);
  json["warnings"] = to_json(report.warnings);
  json["error"] = report.outcome.failure ? failure_json(*report.outcome.failure) : Json(nullptr);
  json["status"] = report.outcome.status();
  json["exit_code"] = report.outcome.exit_code;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardkit::cli
