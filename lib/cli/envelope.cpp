#include "cli/envelope.hpp"

#include <nlohmann/json.hpp>

#include "cli/field_json.hpp"
#include "cli/messages.hpp"
#include "core/fields.hpp"
#include "system/clock.hpp"
#include "system/host.hpp"

namespace shardkit::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) list.push_back({{"code", warning.code}, {"text", warning.text}});
  return list;
}

Json host_json() {
  system::HostInfo host = system::this_host();
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
