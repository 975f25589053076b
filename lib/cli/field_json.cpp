#include "cli/field_json.hpp"

#include <nlohmann/json.hpp>

namespace shardkit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ValueJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json to_json(const FieldNode& node) {
  if (node.absent) return nullptr;
  if (node.kind == FieldKind::group) return fields_json(node.children);
  if (node.kind == FieldKind::list) {
    Json list = Json::array();
    for (const FieldNode& item : node.children) list.push_back(fields_json(item.children));
    return list;
  }
  return std::visit(ValueJson{}, node.value);
}

}  // namespace

Json fields_json(const std::vector<FieldNode>& nodes) {
  Json object = Json::object();
  for (const FieldNode& node : nodes) object[node.name] = to_json(node);
  return object;
}

std::string json_line(std::string_view event, const std::vector<FieldNode>& nodes) {
  Json object = {{"event", event}};
  object.update(fields_json(nodes));
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardkit::cli
