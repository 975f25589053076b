#include "core/field_tree.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit {

namespace {

/// Whether `name` ("files_per_second", "per_second_max") contains `words` ("_per_second") as whole words.
bool contains_words(const std::string& name, std::string_view words) {
  return ("_" + name + "_").find(std::string(words) + "_") != std::string::npos;
}

template <class T>
constexpr FieldKind kKindOf = FieldKind::texts;
template <>
constexpr FieldKind kKindOf<bool> = FieldKind::flag;
template <>
constexpr FieldKind kKindOf<std::uint64_t> = FieldKind::count;
template <>
constexpr FieldKind kKindOf<double> = FieldKind::number;
template <>
constexpr FieldKind kKindOf<std::string> = FieldKind::text;

class FieldTreeBuilder final : public FieldList {
 public:
  explicit FieldTreeBuilder(bool prototype) : prototype_(prototype), open_{&root_} {}
  FieldTreeBuilder(const FieldTreeBuilder&) = delete;
  FieldTreeBuilder& operator=(const FieldTreeBuilder&) = delete;

  std::vector<FieldNode> take() { return std::move(root_.children); }

  void topic(std::string_view name) override { topic_ = name; }

 protected:
  void scalar(const Field& field, FieldValue value) override {
    std::visit([&](const auto* member) { store(field, *member); }, value);
  }

  void enumeration(const Field& field, Choice choice, Assign, void*) override {
    FieldNode& node = add(field, FieldKind::choice, choice.optional);
    if (choice.index) node.value = std::string(choice.names[*choice.index]);
    node.choices = choice.names;
  }

  void begin_group(const Field& field, bool optional) override {
    open_.push_back(&add(field, FieldKind::group, optional));
  }
  void end_group() override { open_.pop_back(); }
  void null_group(const Field& field) override { add(field, FieldKind::group, true).absent = true; }

  void begin_list(const Field& field, std::size_t count) override {
    FieldNode& list = add(field, FieldKind::list);
    list.children.reserve(count);
    open_.push_back(&list);
  }
  void begin_item() override { open_.push_back(&add(Field{}, FieldKind::group)); }
  void end_item() override { open_.pop_back(); }
  void end_list() override { open_.pop_back(); }
  bool wants_prototype() const override { return prototype_; }

 private:
  FieldNode& add(const Field& field, FieldKind kind, bool optional = false) {
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

  template <class T>
  void store(const Field& field, const T& value) {
    add(field, kKindOf<T>).value = value;
  }
  template <class T>
  void store(const Field& field, const std::optional<T>& value) {
    FieldNode& node = add(field, kKindOf<T>, true);
    if (value) node.value = *value;
  }

  bool prototype_;
  std::string_view topic_;
  FieldNode root_;
  std::vector<FieldNode*> open_;  ///< from the root to the innermost group; each is its parent's last child
};

std::vector<FieldNode> built_tree(bool prototype, const std::function<void(FieldList&)>& describe) {
  FieldTreeBuilder builder(prototype);
  describe(builder);
  return builder.take();
}

struct TextOf {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "yes" : ""; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& value) const {
    return fmt::format("{}", fmt::join(value, ","));
  }
  template <class Number>
  std::string operator()(Number value) const {
    return fmt::to_string(value);
  }
};

/// As it would be typed: "1GiB", "100ms", "4096".
std::string typed(double value, Unit unit) {
  if (unit == Unit::bytes) return exact_size(static_cast<std::uint64_t>(value));
  return unit == Unit::seconds ? exact_duration(value) : fmt::format("{}", value);
}

bool contains(const Range& range, double value) {
  return (range.open ? value > range.least : value >= range.least) && value <= range.most;
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

std::vector<FieldNode> field_tree(const std::function<void(FieldList&)>& describe) {
  return built_tree(false, describe);
}

std::vector<FieldNode> prototype_tree(const std::function<void(FieldList&)>& describe) {
  return built_tree(true, describe);
}

std::string plain_text(const FieldNode& node) { return std::visit(TextOf{}, node.value); }

std::map<std::string, std::string> planned_texts(const std::vector<FieldNode>& options) {
  std::map<std::string, std::string> texts;
  for (const FieldNode& option : options) {
    if (!option.field.planned) continue;
    std::string text = plain_text(option);
    if (!text.empty()) texts.emplace(option.name, std::move(text));
  }
  return texts;
}

std::string range_text(const Range& range, Unit unit) {
  const std::string least = typed(range.least, unit);
  if (std::isinf(range.most)) return fmt::format("{} {}", range.open ? "more than" : "at least", least);
  const std::string most = typed(range.most, unit);
  return range.open ? fmt::format("more than {} and at most {}", least, most)
                    : fmt::format("from {} to {}", least, most);
}

void check_ranges(const std::vector<FieldNode>& options) {
  for (const FieldNode& option : options) {
    if (!option.field.range) continue;
    std::optional<double> value;
    if (const auto* count = std::get_if<std::uint64_t>(&option.value)) value = static_cast<double>(*count);
    if (const auto* number = std::get_if<double>(&option.value)) value = *number;
    if (!value || contains(*option.field.range, *value)) continue;
    throw usage_error("{} must be {}", option.field.spelling(), range_text(*option.field.range, option.unit));
  }
}

}  // namespace shardkit
