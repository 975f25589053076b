#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/fields.hpp"

namespace shardkit {

enum class FieldKind { flag, count, number, text, texts, choice, group, list };

/// A described struct as a tree of values. Every rendering (JSON, schema, report, help, manual, completion, metrics)
/// is a plain function of it, so that a describe() is walked in one place only.
struct FieldNode {
  Field field;
  std::string name;        ///< its name in JSON
  Unit unit = Unit::none;  ///< the field's own, or where it has none that of the group around it
  FieldKind kind = FieldKind::group;
  bool optional = false;  ///< may be absent: null in JSON, no default
  /// monostate when absent and for groups and lists; a choice is the text of its name.
  std::variant<std::monostate, bool, std::uint64_t, double, std::string, std::vector<std::string>> value;
  std::span<const std::string_view> choices;
  std::vector<FieldNode> children;  ///< a group's members; a list's items, each a group without name
  bool absent = false;              ///< an optional group that is not there
};

/// Reads the values of whatever `describe` describes: field_tree([&](FieldVisitor& v) { options.describe(v); }).
/// The tree holds copies of the values; field texts are literals.
std::vector<FieldNode> field_tree(const std::function<void(FieldVisitor&)>& describe);

/// As field_tree, for documenting types: lists have exactly one item and optional groups are there.
std::vector<FieldNode> prototype_tree(const std::function<void(FieldVisitor&)>& describe);

/// The node's value without its unit, "yes" for a flag that is set, a list joined by commas; empty: absent or not set.
std::string plain_text(const FieldNode& node);

/// The options that are Field::planned and have a value, by their names in JSON, as plan and manifest keep them. Takes
/// a copy, because describe() binds.
std::map<std::string, std::string> planned_texts(const std::vector<FieldNode>& options);
template <Describable T>
std::map<std::string, std::string> planned_texts(T options) {
  return planned_texts(field_tree([&](FieldVisitor& v) { options.describe(v); }));
}

/// "from 1 to 4096", "at least 512", "more than 0s and at most 1d": as values of this unit are typed.
std::string range_text(const Range& range, Unit unit);

/// Throws Error{usage} for the first option whose value lies outside of its field's range, naming both:
/// "--threads must be from 1 to 4096".
void check_ranges(const std::vector<FieldNode>& options);

/// The same for callers that have no command line. Takes a copy, because describe() binds.
template <Describable T>
void check_ranges(T options) {
  check_ranges(field_tree([&](FieldVisitor& v) { options.describe(v); }));
}

}  // namespace shardkit
