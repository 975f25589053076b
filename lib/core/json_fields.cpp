#include "core/json_fields.hpp"

#include <algorithm>
#include <variant>

#include <nlohmann/json.hpp>

#include "core/field_tree.hpp"

namespace shardkit {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

namespace {

struct ValueJson {
  OrderedJson operator()(std::monostate) const { return nullptr; }
  template <class T>
  OrderedJson operator()(const T& value) const {
    return value;
  }
};

OrderedJson to_json(const FieldNode& node) {
  if (node.absent) return nullptr;
  if (node.kind == FieldKind::group) return fields_json(node.children);
  if (node.kind == FieldKind::list) {
    OrderedJson list = OrderedJson::array();
    for (const FieldNode& item : node.children) list.push_back(fields_json(item.children));
    return list;
  }
  return std::visit(ValueJson{}, node.value);
}

}  // namespace

OrderedJson fields_json(const std::vector<FieldNode>& nodes) {
  OrderedJson object = OrderedJson::object();
  for (const FieldNode& node : nodes) object[node.name] = to_json(node);
  return object;
}

const Json* member(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    if (!at->is_object()) return nullptr;
    const auto found = at->find(std::string(path.substr(0, dot)));
    if (found == at->end()) return nullptr;
    at = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

std::optional<double> number_at(const Json& object, std::string_view path) {
  const Json* value = member(object, path);
  return value != nullptr && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<std::string> text_at(const Json& object, std::string_view path) {
  const Json* value = member(object, path);
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

}  // namespace shardkit
