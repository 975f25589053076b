#include "support/json_schema.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

namespace shardkit_test {
namespace {

using Json = nlohmann::json;
using Faults = std::vector<std::string>;

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == "null" && value.is_null();
}

bool has_any_type(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types.get<std::string>());
  return std::any_of(types.begin(), types.end(), [&](const Json& type) { return has_type(value, type); });
}

/// `root` has the schemas that references point to, by file name; "" is the one that is checked.
void check(const Json& root, const Json& schema, const Json& value, const std::string& path, Faults& faults);

bool fits(const Json& root, const Json& schema, const Json& value) {
  Faults faults;
  check(root, schema, value, "", faults);
  return faults.empty();
}

void check_keyword(const Json& root, const std::string& keyword, const Json& rule, const Json& value,
                   const std::string& path, Faults& faults) {
  static const std::set<std::string> kAnnotations{"$schema", "$defs", "title", "description", "format"};
  const auto demand = [&](bool holds) {
    if (!holds) faults.push_back(path + ": " + value.dump() + " against " + keyword + " " + rule.dump());
  };
  if (keyword == "$ref") {
    const auto place = rule.get<std::string>();
    const std::size_t hash = place.find('#');
    check(root, root.at(place.substr(0, hash)).at(Json::json_pointer(place.substr(hash + 1))), value, path, faults);
  } else if (keyword == "type") {
    demand(has_any_type(value, rule));
  } else if (keyword == "const") {
    demand(value == rule);
  } else if (keyword == "enum") {
    demand(std::find(rule.begin(), rule.end(), value) != rule.end());
  } else if (keyword == "minimum") {
    demand(!value.is_number() || value >= rule);
  } else if (keyword == "anyOf") {
    demand(std::any_of(rule.begin(), rule.end(), [&](const Json& one) { return fits(root, one, value); }));
  } else if (keyword == "required") {
    for (const Json& name : rule) demand(!value.is_object() || value.contains(name.get<std::string>()));
  } else if (keyword == "properties") {
    for (const auto& [name, schema] : rule.items()) {
      if (value.is_object() && value.contains(name)) check(root, schema, value[name], path + "/" + name, faults);
    }
  } else if (keyword == "minItems" || keyword == "maxItems") {
    demand(!value.is_array() || (keyword == "minItems" ? value.size() >= rule : value.size() <= rule));
  } else if (keyword == "items") {
    for (const Json& item : value.is_array() ? value : Json::array()) check(root, rule, item, path + "[]", faults);
  } else {
    if (!kAnnotations.contains(keyword)) faults.push_back(path + ": schema keyword nobody checks: " + keyword);
  }
}

/// Members that "properties" does not name.
void check_others(const Json& root, const Json& schema, const Json& rule, const Json& value, const std::string& path,
                  Faults& faults) {
  if (!value.is_object()) return;
  const Json named = schema.value("properties", Json::object());
  for (const auto& [name, member] : value.items()) {
    if (named.contains(name)) continue;
    if (rule == false) faults.push_back(path + "/" + name + ": no member of this name is known");
    if (rule.is_object()) check(root, rule, member, path + "/" + name, faults);
  }
}

void check(const Json& root, const Json& schema, const Json& value, const std::string& path, Faults& faults) {
  for (const auto& [keyword, rule] : schema.items()) {
    if (keyword == "additionalProperties") {
      check_others(root, schema, rule, value, path, faults);
    } else {
      check_keyword(root, keyword, rule, value, path, faults);
    }
  }
}

}  // namespace

std::vector<std::string> schema_faults(const std::string& schema, const std::string& document,
                                       const std::map<std::string, std::string>& others) {
  Faults faults;
  Json root;
  for (const auto& [name, text] : others) root[name] = Json::parse(text);
  root[""] = Json::parse(schema);
  check(root, root[""], Json::parse(document), "", faults);
  return faults;
}

}  // namespace shardkit_test
