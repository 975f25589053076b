#include "core/fields.hpp"

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
