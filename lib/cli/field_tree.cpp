#include "cli/field_tree.hpp"

#include <nlohmann/json.hpp>

namespace shardkit::cli {

FieldNode& FieldTreeBuilder::add(const Field& field, FieldKind kind, bool optional) {
  FieldNode& parent = *open_.back();
  FieldNode& node = parent.children.emplace_back();
  node.field = field;
  node.name = json_name(field, parent.unit);
  node.unit = field.unit == Unit::none ? parent.unit : field.unit;
  node.kind = kind;
  node.optional = optional;
  return node;
}

void FieldTreeBuilder::field(const Field& field, bool& value) { add(field, FieldKind::flag).value = value; }

void FieldTreeBuilder::field(const Field& field, std::optional<bool>& value) {
  FieldNode& node = add(field, FieldKind::flag, true);
  if (value) node.value = *value;
}

void FieldTreeBuilder::field(const Field& field, std::uint64_t& value) { add(field, FieldKind::count).value = value; }

void FieldTreeBuilder::field(const Field& field, std::optional<std::uint64_t>& value) {
  FieldNode& node = add(field, FieldKind::count, true);
  if (value) node.value = *value;
}

void FieldTreeBuilder::field(const Field& field, double& value) { add(field, FieldKind::number).value = value; }

void FieldTreeBuilder::field(const Field& field, std::optional<double>& value) {
  FieldNode& node = add(field, FieldKind::number, true);
  if (value) node.value = *value;
}

void FieldTreeBuilder::field(const Field& field, std::string& value) { add(field, FieldKind::text).value = value; }

void FieldTreeBuilder::field(const Field& field, std::optional<std::string>& value) {
  FieldNode& node = add(field, FieldKind::text, true);
  if (value) node.value = *value;
}

void FieldTreeBuilder::field(const Field& field, std::vector<std::string>& value) {
  add(field, FieldKind::texts).value = value;
}

void FieldTreeBuilder::enumeration(const Field& field, Choice choice, Assign, void*) {
  FieldNode& node = add(field, FieldKind::choice);
  node.value = std::string(choice.names[choice.index]);
  node.choices = choice.names;
}

void FieldTreeBuilder::begin_group(const Field& field, bool optional) {
  open_.push_back(&add(field, FieldKind::group, optional));
}

void FieldTreeBuilder::null_group(const Field& field) { add(field, FieldKind::group, true).absent = true; }

void FieldTreeBuilder::begin_list(const Field& field, std::size_t count) {
  FieldNode& list = add(field, FieldKind::list);
  list.children.reserve(count);
  open_.push_back(&list);
}

void FieldTreeBuilder::begin_item() { open_.push_back(&add(Field{}, FieldKind::group)); }

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
