#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/fields.hpp"

namespace shardkit {

/// Reads the values of whatever `describe` describes: field_tree([&](FieldList& v) { options.describe(v); }).
/// The tree holds copies of the values; field texts are literals.
std::vector<FieldNode> field_tree(const std::function<void(FieldList&)>& describe);

/// Like field_tree, for documenting types: lists have exactly one item and optional groups are present.
std::vector<FieldNode> prototype_tree(const std::function<void(FieldList&)>& describe);

/// The node's value without its unit, "yes" for a set flag, a list joined by commas; empty: absent or not set.
std::string plain_text(const FieldNode& node);

/// The options that are Field::planned and have a value, by their names in JSON, as stored in plan and manifest. Takes
/// a copy, because describe() binds.
std::map<std::string, std::string> planned_texts(const std::vector<FieldNode>& options);
template <Describable T>
std::map<std::string, std::string> planned_texts(T options) {
  return planned_texts(field_tree([&](FieldList& v) { options.describe(v); }));
}

/// "from 1 to 4096", "at least 512", "more than 0s and at most 1d": values as typed in this unit.
std::string range_text(const Range& range, Unit unit);

/// Throws Error{usage} for the first option whose value is outside its field's range: "-j, --threads must be from 1 to
/// 4096, not 0".
void check_ranges(const std::vector<FieldNode>& options);

/// The same for callers without a command line. Takes a copy, because describe() binds.
template <Describable T>
void check_ranges(T options) {
  check_ranges(field_tree([&](FieldList& v) { options.describe(v); }));
}

}  // namespace shardkit
