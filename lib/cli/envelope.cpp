#include "cli/envelope.hpp"

#include <nlohmann/json.hpp>

#include "cli/documents/help.hpp"
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

namespace {

using Json = nlohmann::ordered_json;

Json text() { return {{"type", "string"}}; }
Json nullable_text() { return {{"type", {"string", "null"}}}; }

/// An object that has all of `properties`; more may join them in a later version.
Json object_of(const Json& properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"}, {"properties", properties}, {"required", required}};
}

Json list_of(const Json& items) { return {{"type", "array"}, {"items", items}}; }

Json or_null(const Json& schema) { return {{"anyOf", {schema, {{"type", "null"}}}}}; }

Json schema_of(const std::vector<FieldNode>& nodes);

Json bare_schema_of(const FieldNode& node) {
  switch (node.kind) {
    case FieldKind::flag:
      return {{"type", "boolean"}};
    case FieldKind::count:
      return {{"type", "integer"}, {"minimum", 0}};
    case FieldKind::number:
      return {{"type", {"number", "null"}}};  // null stands for what could not be measured
    case FieldKind::text:
      return text();
    case FieldKind::texts:
      return list_of(text());
    case FieldKind::choice:
      return {{"enum", node.choices}};
    case FieldKind::group:
      return schema_of(node.children);
    case FieldKind::list:
      return list_of(schema_of(node.children.front().children));
  }
  return {};
}

Json schema_of(const FieldNode& node) {
  Json schema = bare_schema_of(node);
  if (node.optional && node.kind != FieldKind::number) schema = or_null(schema);
  if (!node.field.help.empty()) schema["description"] = node.field.help;
  return schema;
}

Json schema_of(const std::vector<FieldNode>& nodes) {
  Json properties = Json::object();
  for (const FieldNode& node : nodes) properties[node.name] = schema_of(node);
  return object_of(properties);
}

Json host_schema() {
  system::HostInfo host;
  return schema_of(prototype_tree([&](FieldVisitor& v) { host.describe(v); }));
}

Json error_schema() {
  return or_null(object_of({{"code", text()},
                            {"text", text()},
                            {"path", nullable_text()},
                            {"offset", {{"type", {"integer", "null"}}, {"minimum", 0}}}}));
}

Json exit_codes() {
  Json codes = Json::array();
  for (const ExitCode& exit : kExitCodes) codes.push_back(exit.code);
  return {{"enum", codes}};
}

}  // namespace

std::string envelope_schema(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  const std::string name = "shardkit/" + verb_slug(doc.text.name);
  Json properties;
  properties["schema"] = {{"const", name}};
  properties["schema_version"] = {{"const", kSchemaVersion}};
  properties["tool"] = object_of({{"name", {{"const", app.name}}}, {"version", text()}, {"commit", text()}});
  properties["started_at"] = {{"type", "string"}, {"format", "date-time"}};
  properties["elapsed_seconds"] = {{"type", "number"}, {"minimum", 0}};
  properties["host"] = host_schema();
  properties["options"] = schema_of(doc.options);
  properties["result"] = or_null(schema_of(doc.result));
  properties["warnings"] = list_of(object_of({{"code", text()}, {"text", text()}}));
  properties["error"] = error_schema();
  properties["status"] = {{"enum", {"ok", "failed", "findings"}}};
  properties["exit_code"] = exit_codes();

  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", name}};
  schema["description"] = doc.text.summary;
  schema.update(object_of(properties));
  return schema.dump(1) + "\n";
}

}  // namespace shardkit::cli
