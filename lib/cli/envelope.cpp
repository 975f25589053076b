#include "cli/envelope.hpp"

#include <nlohmann/json.hpp>

#include "cli/build_info.hpp"
#include "cli/failure_json.hpp"
#include "cli/host.hpp"
#include "cli/verbs.hpp"
#include "net/timestamp.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const FieldNode& node);

Json to_object(const std::vector<FieldNode>& nodes) {
  Json object = Json::object();
  for (const FieldNode& node : nodes) object[node.name] = to_json(node);
  return object;
}

struct ValueJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json to_json(const FieldNode& node) {
  if (node.absent) return nullptr;
  if (node.kind == FieldKind::group) return to_object(node.children);
  if (node.kind == FieldKind::list) {
    Json list = Json::array();
    for (const FieldNode& item : node.children) list.push_back(to_object(item.children));
    return list;
  }
  return std::visit(ValueJson{}, node.value);
}

Json to_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) list.push_back({{"code", warning.code}, {"text", warning.text}});
  return list;
}

Json host_json() {
  HostInfo host = this_host();
  return to_object(field_tree([&](FieldVisitor& v) { host.describe(v); }));
}

}  // namespace

std::string envelope_json(const Report& report) {
  Json json;
  json["schema"] = "shardkit/" + verb_slug(report.verb);
  json["schema_version"] = kSchemaVersion;
  json["tool"] = {{"name", report.program}, {"version", build_version()}, {"commit", build_commit()}};
  json["started_at"] = rfc3339(report.started_at);
  json["elapsed_seconds"] = report.elapsed_seconds;
  json["host"] = host_json();
  json["options"] = to_object(report.options);
  json["result"] = report.outcome.failure ? Json(nullptr) : to_object(report.result);
  json["warnings"] = to_json(report.warnings);
  json["error"] = report.outcome.failure ? failure_json(*report.outcome.failure) : Json(nullptr);
  json["status"] = report.outcome.status();
  json["exit_code"] = report.outcome.exit_code;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardkit
