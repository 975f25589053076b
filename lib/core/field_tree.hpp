#pragma once

#include <cstdint>
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

/// Builds the tree; see field_tree().
class FieldTreeBuilder final : public FieldVisitor {
 public:
  explicit FieldTreeBuilder(bool prototype) : prototype_(prototype), open_{&root_} {}
  FieldTreeBuilder(const FieldTreeBuilder&) = delete;
  FieldTreeBuilder& operator=(const FieldTreeBuilder&) = delete;

  std::vector<FieldNode> take() { return std::move(root_.children); }

 protected:
  void scalar(const Field& field, FieldValue value) override;
  void enumeration(const Field& field, Choice choice, Assign assign, void* target) override;
  void begin_group(const Field& field, bool optional) override;
  void end_group() override { open_.pop_back(); }
  void null_group(const Field& field) override;
  void begin_list(const Field& field, std::size_t count) override;
  void begin_item() override;
  void end_item() override { open_.pop_back(); }
  void end_list() override { open_.pop_back(); }
  bool wants_prototype() const override { return prototype_; }

 private:
  FieldNode& add(const Field& field, FieldKind kind, bool optional = false);
  template <class T>
  void store(const Field& field, const T& value);
  template <class T>
  void store(const Field& field, const std::optional<T>& value);

  bool prototype_;
  FieldNode root_;
  std::vector<FieldNode*> open_;  ///< from the root to the innermost group; each is its parent's last child
};

/// Reads the values of whatever `describe` describes: field_tree([&](FieldVisitor& v) { options.describe(v); }).
/// The tree holds copies of the values; field texts are literals.
template <class Describe>
std::vector<FieldNode> field_tree(Describe&& describe) {
  FieldTreeBuilder builder(false);
  describe(builder);
  return builder.take();
}

/// As field_tree, for documenting types: lists have exactly one item and optional groups are there.
template <class Describe>
std::vector<FieldNode> prototype_tree(Describe&& describe) {
  FieldTreeBuilder builder(true);
  describe(builder);
  return builder.take();
}

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
