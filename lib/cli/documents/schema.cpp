#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/documents/documents.hpp"
#include "cli/report_formats.hpp"
#include "core/json.hpp"
#include "system/host.hpp"

namespace shardkit::cli {
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

/// The "$defs" of a schema: each group of fields once, under the name of the field that has it.
class Definitions {
 public:
  /// A reference to `object`, which is added unless it is there already. Another object of that name gets a number.
  Json refer(const std::string& name, const Json& object) {
    std::string unused = name;
    for (int number = 2; all_.contains(unused) && all_[unused] != object; ++number) {
      unused = fmt::format("{}_{}", name, number);
    }
    all_[unused] = object;
    return {{"$ref", "#/$defs/" + unused}};
  }
  const Json& all() const { return all_; }

 private:
  Json all_ = Json::object();
};

Json schema_of(const std::vector<FieldNode>& nodes, Definitions& definitions);

Json bare_schema_of(const FieldNode& node, Definitions& definitions) {
  switch (node.kind) {
    case FieldKind::flag:
      return {{"type", "boolean"}};
    case FieldKind::count:
      return {{"type", "integer"}, {"minimum", 0}};
    case FieldKind::number:
      return {{"type", {"number", "null"}}};  // null means that it could not be measured
    case FieldKind::text:
      return text();
    case FieldKind::texts:
      return list_of(text());
    case FieldKind::choice:
      return {{"enum", node.choices}};
    case FieldKind::group:
      return definitions.refer(node.name, schema_of(node.children, definitions));
    case FieldKind::list:
      return list_of(definitions.refer(node.name, schema_of(node.children.front().children, definitions)));
  }
  return {};
}

Json schema_of(const FieldNode& node, Definitions& definitions) {
  Json schema = bare_schema_of(node, definitions);
  if (node.optional && node.kind != FieldKind::number) schema = or_null(schema);
  if (!node.field.help.empty()) schema["description"] = node.field.help;
  return schema;
}

Json schema_of(const std::vector<FieldNode>& nodes, Definitions& definitions) {
  Json properties = Json::object();
  for (const FieldNode& node : nodes) properties[node.name] = schema_of(node, definitions);
  return object_of(properties);
}

Json host_schema(Definitions& definitions) {
  system::HostInfo host;
  Json schema = schema_of(prototype_tree([&](FieldList& v) { host.describe(v); }), definitions);
  schema["properties"]["node"] = {{"type", "string"}, {"description", "SLURMD_NODENAME, NODE_NAME or the host name"}};
  schema["properties"]["labels"] = {
      {"type", "object"}, {"additionalProperties", text()}, {"description", "of --label"}};
  return schema;
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

/// Like dump(), but writes lists and objects without nested ones on one line.
std::string pretty(const Json& json, std::size_t depth = 0) {
  const auto is_structured = [](const Json& value) { return value.is_structured(); };
  if (!json.is_structured() || std::none_of(json.begin(), json.end(), is_structured)) return json_text(json);
  std::string out(1, json.is_object() ? '{' : '[');
  for (auto at = json.begin(); at != json.end(); ++at) {
    out += fmt::format("{}\n{:{}}", at == json.begin() ? "" : ",", "", depth + 1);
    if (json.is_object()) out += json_text(Json(at.key())) + ": ";
    out += pretty(*at, depth + 1);
  }
  return out + fmt::format("\n{:{}}", "", depth) + (json.is_object() ? '}' : ']');
}

}  // namespace

std::string envelope_schema(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  const std::string name = "shardkit/" + verb_slug(doc.text.name);
  Definitions definitions;
  Json properties;
  properties["schema"] = {{"const", name}};
  properties["schema_version"] = {{"const", doc.text.schema_version}};
  properties["tool"] = object_of({{"name", {{"const", app.name}}}, {"version", text()}, {"commit", text()}});
  properties["started_at"] = {{"type", "string"}, {"format", "date-time"}};
  properties["elapsed_seconds"] = {{"type", "number"}, {"minimum", 0}};
  properties["host"] = host_schema(definitions);
  properties["options"] = schema_of(doc.options, definitions);
  properties["result"] = or_null(schema_of(doc.result, definitions));
  properties["warnings"] = list_of(object_of({{"code", text()}, {"text", text()}}));
  properties["error"] = error_schema();
  properties["status"] = {{"enum", {"ok", "failed", "findings"}}};
  properties["interrupted"] = {{"type", "boolean"}, {"description", "a signal ended it; the result is incomplete"}};
  properties["exit_code"] = exit_codes();

  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", name}};
  schema["description"] = doc.text.summary;
  schema.update(object_of(properties));
  if (!definitions.all().empty()) schema["$defs"] = definitions.all();
  return pretty(schema) + "\n";
}

}  // namespace shardkit::cli
