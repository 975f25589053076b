#include "core/field_tree.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"

namespace shardkit {

namespace {

std::vector<FieldNode> built_tree(FieldList::Of of, const std::function<void(FieldList&)>& describe) {
  FieldList fields(of);
  describe(fields);
  return fields.take();
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

std::vector<FieldNode> field_tree(const std::function<void(FieldList&)>& describe) {
  return built_tree(FieldList::Of::values, describe);
}

std::vector<FieldNode> prototype_tree(const std::function<void(FieldList&)>& describe) {
  return built_tree(FieldList::Of::types, describe);
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
    const Field& field = option.field;
    throw usage_error("{}{} must be {}, not {}", field.short_name == 0 ? "" : fmt::format("-{}, ", field.short_name),
                      field.spelling(), range_text(*field.range, option.unit), typed(*value, option.unit));
  }
}

}  // namespace shardkit
