#include "core/fields.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace shardkit {

namespace {

/// Whether `name` ("files_per_second", "per_second_max") contains `words` ("_per_second") as whole words.
bool contains_words(const std::string& name, std::string_view words) {
  return ("_" + name + "_").find(std::string(words) + "_") != std::string::npos;
}

}  // namespace

std::string json_name(const Field& field, Unit group) {
  std::string name;
  for (const char c : field.name) {
    name += c == '-' ? '_' : lower_case(c);
  }
  if (field.unit == group) return name;
  const std::string_view suffix = unit_suffix(field.unit);
  if (!contains_words(name, suffix)) name += suffix;
  return name;
}

void FieldList::keep_metrics(FieldNode& group, std::size_t first, bool judged) {
  const auto is_of_no_metric = [&](FieldNode& node) {
    const auto has_role = [&](CompareRole role) {
      return node.field.comparison && node.field.comparison->role == role;
    };
    const bool is_metric = has_role(CompareRole::metric) || (judged && has_role(CompareRole::judged));
    if (node.kind != FieldKind::group) return !is_metric;
    keep_metrics(node, 0, is_metric);
    return node.absent ? !is_metric && !has_role(CompareRole::stage) : node.children.empty();
  };
  const auto begin = group.children.begin() + static_cast<std::ptrdiff_t>(first);
  group.children.erase(std::remove_if(begin, group.children.end(), is_of_no_metric), group.children.end());
}

FieldNode& FieldList::add(const Field& field, FieldKind kind, bool optional) {
  FieldNode& parent = *open_.back();
  FieldNode& node = parent.children.emplace_back();
  node.field = field;
  node.topic = topic_;
  node.name = json_name(field, parent.unit);
  node.unit = field.unit == Unit::none ? parent.unit : field.unit;
  node.kind = kind;
  node.optional = optional;
  return node;
}

FieldNode& FieldList::add_choice(const Field& field, std::optional<std::size_t> index,
                                 std::span<const std::string_view> names, ChoiceTarget target) {
  FieldNode& node = add(field, FieldKind::choice);
  if (index) node.value = std::string(names[*index]);
  node.choices = names;
  node.target = target;
  return node;
}

void FieldList::field(const Field& field, std::vector<std::string>& value) {
  FieldNode& node = add(field, FieldKind::texts);
  node.value = value;
  node.target = &value;
}

}  // namespace shardkit
