#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

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

/// An object that has all of `properties`; more may join them in a later version.
Json object_of(const Json& properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"}, {"properties", properties}, {"required", required}};
}

Json list_of(const Json& items) { return {{"type", "array"}, {"items", items}}; }

/// The same, or null.
Json or_null(Json schema) {
  if (schema.contains("type")) {
    schema["type"] = {schema["type"], "null"};
    return schema;
  }
  if (!schema.contains("enum")) return {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  schema["enum"].push_back(nullptr);
  return schema;
}

/// Objects that schemas refer to by name.
class Definitions {
 public:
  explicit Definitions(std::string file = "") : prefix_(std::move(file) + "#/$defs/") {}

  /// A reference to `object`, which is added unless it is there already. Another object of that name gets a number.
  Json refer(const std::string& name, const Json& object) {
    const auto known = std::find(all_.begin(), all_.end(), object);
    if (known != all_.end()) return {{"$ref", prefix_ + known.key()}};
    std::string unused = name;
    for (int number = 2; all_.contains(unused); ++number) unused = fmt::format("{}_{}", name, number);
    all_[unused] = object;
    return {{"$ref", prefix_ + unused}};
  }
  const Json& all() const { return all_; }

 private:
  const std::string prefix_;
  Json all_ = Json::object();
};

/// Gives a group or a list's item its schema: a reference, or all its fields.
using SchemaOfGroup = std::function<Json(const std::string& name, const std::vector<FieldNode>& fields)>;

Json bare_schema_of(const FieldNode& node, const SchemaOfGroup& group) {
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
      return group(node.name, node.children);
    case FieldKind::list:
      return list_of(group(node.name, node.children.front().children));
  }
  return {};
}

Json schema_of(const FieldNode& node, const SchemaOfGroup& group) {
  Json schema = bare_schema_of(node, group);
  if (node.optional && node.kind != FieldKind::number) schema = or_null(std::move(schema));
  if (!node.field.help.empty()) schema["description"] = node.field.help;
  return schema;
}

Json schema_of(const std::vector<FieldNode>& nodes, const SchemaOfGroup& group) {
  Json properties = Json::object();
  for (const FieldNode& node : nodes) properties[node.name] = schema_of(node, group);
  return object_of(properties);
}

/// All fields, those of inner groups too.
Json whole_schema_of(const std::vector<FieldNode>& nodes) {
  return schema_of(nodes,
                   [](const std::string&, const std::vector<FieldNode>& inner) { return whole_schema_of(inner); });
}

Json host_schema() {
  system::HostInfo host;
  Json schema = whole_schema_of(prototype_tree([&](FieldList& v) { host.describe(v); }));
  schema["properties"]["node"] = {{"type", "string"}, {"description", "SLURMD_NODENAME, NODE_NAME or the host name"}};
  schema["properties"]["labels"] = {
      {"type", "object"}, {"additionalProperties", text()}, {"description", "of --label"}};
  return schema;
}

Json exit_codes() {
  Json codes = Json::array();
  for (const ExitCode& exit : kExitCodes) codes.push_back(exit.code);
  return {{"enum", codes}};
}

constexpr std::string_view kDraft = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view kSharedFile = "shardkit-objects.json";

/// What every verb writes, but its options and its result.
Json envelope_schema() {
  Json properties;
  properties["schema"] = text();
  properties["schema_version"] = {{"type", "integer"}};
  properties["tool"] = object_of({{"name", text()}, {"version", text()}, {"commit", text()}});
  properties["started_at"] = {{"type", "string"}, {"format", "date-time"}};
  properties["elapsed_seconds"] = {{"type", "number"}, {"minimum", 0}};
  properties["host"] = host_schema();
  properties["options"] = {{"type", "object"}};
  properties["headline"] = or_null(text());
  properties["result"] = {{"type", {"object", "null"}}};
  properties["warnings"] = list_of(object_of({{"code", text()}, {"text", text()}}));
  properties["error"] = or_null(object_of({{"code", text()},
                                           {"text", text()},
                                           {"path", or_null(text())},
                                           {"offset", {{"type", {"integer", "null"}}, {"minimum", 0}}}}));
  properties["status"] = {{"enum", {"ok", "failed", "findings"}}};
  properties["interrupted"] = {{"type", "boolean"}, {"description", "a signal ended it; the result is incomplete"}};
  properties["exit_code"] = exit_codes();
  return object_of(properties);
}

/// Like dump(), but writes on one line what fits it, and lists and objects whose members are simple.
std::string pretty(const Json& json, std::size_t depth = 0) {
  constexpr std::size_t kColumns = 120;
  const auto is_nested = [](const Json& value) {
    return value.is_object() ||
           std::any_of(value.begin(), value.end(), [](const Json& item) { return item.is_structured(); });
  };
  std::string line = json_text(json);
  if (!json.is_structured() || depth + line.size() <= kColumns || std::none_of(json.begin(), json.end(), is_nested))
    return line;
  std::string out(1, json.is_object() ? '{' : '[');
  for (auto at = json.begin(); at != json.end(); ++at) {
    out += fmt::format("{}\n{:{}}", at == json.begin() ? "" : ",", "", depth + 1);
    if (json.is_object()) out += json_text(Json(at.key())) + ": ";
    out += pretty(*at, depth + 1);
  }
  return out + fmt::format("\n{:{}}", "", depth) + (json.is_object() ? '}' : ']');
}

/// Writes the schemas of verbs; what more than one of them has is in a file that they share.
class SchemaWriter {
 public:
  explicit SchemaWriter(const std::vector<App>& apps) {
    for (const App& app : apps) {
      for (const Command& command : app.commands) verbs_.push_back({app.name, document(command)});
    }
    for (const Verb& verb : verbs_) {
      note_users(verb, verb.doc.options);
      note_users(verb, verb.doc.result);
    }
  }

  std::vector<NamedText> files() {
    std::vector<NamedText> files;
    for (const Verb& verb : verbs_) {
      const std::string slug = verb_slug(verb.doc.text.name);
      files.emplace_back(fmt::format("{}-{}.json", verb.program, slug),
                         pretty(schema_of_verb(verb, "shardkit/" + slug)) + "\n");
    }
    const Json objects = {{"$schema", kDraft}, {"title", "objects of several verbs"}, {"$defs", shared_.all()}};
    files.emplace_back(kSharedFile, pretty(objects) + "\n");
    return files;
  }

 private:
  struct Verb {
    std::string_view program;
    CommandDoc doc;
  };

  void note_users(const Verb& verb, const std::vector<FieldNode>& fields) {
    schema_of(fields, [&](const std::string&, const std::vector<FieldNode>& inner) {
      users_[whole_schema_of(inner).dump()].insert(&verb);
      note_users(verb, inner);
      return Json();
    });
  }

  Json schema_with_references(const std::vector<FieldNode>& fields, Definitions& own) {
    return schema_of(fields, [&](const std::string& name, const std::vector<FieldNode>& inner) {
      const bool is_shared = users_.at(whole_schema_of(inner).dump()).size() > 1;
      return (is_shared ? shared_ : own).refer(name, schema_with_references(inner, own));
    });
  }

  Json schema_of_verb(const Verb& verb, const std::string& name) {
    Definitions own;
    Json properties;
    properties["schema"] = {{"const", name}};
    properties["schema_version"] = {{"const", verb.doc.text.schema_version}};
    properties["tool"] = {{"properties", {{"name", {{"const", verb.program}}}}}};
    properties["options"] = schema_with_references(verb.doc.options, own);
    properties["result"] = or_null(schema_with_references(verb.doc.result, own));
    Json schema = {{"$schema", kDraft}, {"title", name}, {"description", verb.doc.text.summary}};
    schema.update(envelope_);
    schema["properties"] = properties;
    if (!own.all().empty()) schema["$defs"] = own.all();
    return schema;
  }

  Definitions shared_{std::string(kSharedFile)};
  const Json envelope_ = shared_.refer("envelope", envelope_schema());
  std::vector<Verb> verbs_;
  std::map<std::string, std::set<const Verb*>> users_;  // of an object, by its schema with all fields
};

}  // namespace

std::vector<NamedText> schemas(const std::vector<App>& apps) { return SchemaWriter(apps).files(); }

}  // namespace shardkit::cli
