#include <nlohmann/json.hpp>

#include "cli/documents/command_doc.hpp"
#include "cli/envelope.hpp"
#include "cli/host.hpp"
#include "cli/verbs.hpp"

namespace shardkit {
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
  HostInfo host;
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

}  // namespace shardkit
