#include "cli/field_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"

namespace shardkit::cli {
namespace {

std::string plain_number(double value) {
  const double magnitude = std::abs(value);
  constexpr double kMostCount = 1e19;  // the range of a count
  if (magnitude >= 1000) {
    return (value < 0 ? "-" : "") + format_count(static_cast<std::uint64_t>(std::min(magnitude + 0.5, kMostCount)));
  }
  return fmt::format("{:.3g}", value);
}

/// A size of any magnitude; one beyond 64 bits is written in the largest unit.
std::string size_text(double bytes) {
  constexpr double kPiB = 1125899906842624;
  if (bytes >= 1e18) return plain_number(bytes / kPiB) + " PiB";
  return format_size(static_cast<std::uint64_t>(bytes + 0.5));
}

struct ValueText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(std::uint64_t value) const { return format_value(value, unit); }
  std::string operator()(double value) const { return format_value(value, unit); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& values) const {
    return fmt::format("{}", fmt::join(values, ", "));
  }
  Unit unit;
};

bool is_required(const FieldNode& option) { return option.field.role == Role::positional; }

}  // namespace

std::string format_value(std::uint64_t value, Unit unit) {
  if (unit == Unit::bytes) return format_size(value);
  if (unit == Unit::none || unit == Unit::count) return format_count(value);
  return format_value(static_cast<double>(value), unit);
}

std::string format_value(double value, Unit unit) {
  constexpr double kMostFactor = 1000;
  if (!std::isfinite(value)) return "unknown";
  switch (unit) {
    case Unit::bytes:
      return value < 0 ? "-" + format_value(-value, unit) : size_text(value);
    case Unit::seconds:
      return value < 0 ? "-" + format_value(-value, unit) : format_duration(value);
    case Unit::bytes_per_second:
      return format_rate(value);
    case Unit::per_second:
      return plain_number(value) + "/s";
    case Unit::none:
    case Unit::count:
      return plain_number(value);
    case Unit::ratio:
      return plain_number(value * 100) + " %";
    case Unit::factor:
      return value > kMostFactor ? "more than 1000" : plain_number(value);
  }
  return plain_number(value);
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string printable(std::string_view raw) {
  const std::string text = without_secrets(raw);
  const auto byte_at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char byte = byte_at(i);
    const unsigned char next = byte_at(i + 1);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F steer terminals as well
      out += fmt::format("\\x{:02x}\\x{:02x}", byte, next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

void hide_secrets(std::vector<FieldNode>& nodes) {
  for (FieldNode& node : nodes) {
    if (auto* text = std::get_if<std::string>(&node.value)) *text = without_secrets(*text);
    if (auto* texts = std::get_if<std::vector<std::string>>(&node.value)) {
      for (std::string& text : *texts) text = without_secrets(text);
    }
    hide_secrets(node.children);
  }
}

std::string value_text(const FieldNode& node) { return std::visit(ValueText{node.unit}, node.value); }

std::string label(const FieldNode& node) {
  std::string_view name = node.field.name;
  const std::string_view suffix = unit_suffix(node.unit);
  const bool said_by_value =
      node.unit == Unit::bytes || node.unit == Unit::seconds || node.unit == Unit::ratio || node.unit == Unit::factor;
  if (said_by_value && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  const bool is_time = node.unit == Unit::seconds && node.kind != FieldKind::group;
  if (is_time && name.size() < node.field.name.size()) text += " time";
  const std::size_t seconds = is_time ? text.find("seconds") : std::string::npos;
  return seconds == std::string::npos ? text : text.replace(seconds, std::string_view("seconds").size(), "time");
}

std::string value_name(const FieldNode& option) {
  if (option.kind == FieldKind::flag) return {};
  if (!option.field.value_name.empty()) return std::string(option.field.value_name);
  if (option.field.role == Role::input_file || option.field.role == Role::output_file) return "FILE";
  if (option.kind == FieldKind::choice) return fmt::format("{}", fmt::join(option.choices, "|"));
  if (option.unit == Unit::bytes) return "SIZE";
  if (option.unit == Unit::seconds) return "TIME";
  if (option.unit == Unit::bytes_per_second) return "RATE";
  if (option.kind == FieldKind::count) return "N";
  if (option.kind == FieldKind::number) return "X";
  return option.kind == FieldKind::texts ? "LIST" : "TEXT";
}

std::string option_spelling(const FieldNode& option) {
  if (!option.field.is_operand()) {
    const std::string value = value_name(option);
    const std::string alias = option.field.short_name == 0 ? "" : fmt::format("-{}, ", option.field.short_name);
    return fmt::format("{}--{}{}{}", alias, option.field.name, value.empty() ? "" : " ", value);
  }
  const std::string name = std::string(option.field.name) + (option.kind == FieldKind::texts ? "..." : "");
  return is_required(option) ? name : "[" + name + "]";
}

std::string default_text(const FieldNode& option) {
  if (option.kind == FieldKind::flag) return {};
  const auto* count = std::get_if<std::uint64_t>(&option.value);
  if (count != nullptr && option.unit == Unit::bytes) return exact_size(*count);
  const auto* number = std::get_if<double>(&option.value);
  if (number != nullptr && option.unit == Unit::seconds) return exact_duration(*number);
  return plain_text(option);
}

std::string help_text(const FieldNode& option) {
  const std::string value = default_text(option);
  return value.empty() ? std::string(option.field.help) : fmt::format("{} (default: {})", option.field.help, value);
}

std::string synopsis(std::string_view program, std::string_view verb, const std::vector<FieldNode>& options) {
  std::string text = fmt::format("{} {}", program, verb);
  for (const FieldNode& option : options) {
    if (option.field.is_operand()) text += " " + option_spelling(option);
  }
  return text + " [options]";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (!word.empty()) {
      if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
      if (!lines.back().empty()) lines.back() += ' ';
      lines.back() += word;
    }
    text.remove_prefix(end);
    if (text.starts_with("\n\n")) {
      lines.emplace_back();
      lines.emplace_back();
      text.remove_prefix(2);
    } else if (!text.empty()) {
      text.remove_prefix(1);
    }
  }
  return lines;
}

std::string broken_at_blanks(std::string text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t blank = std::string::npos;  // the last one of the line
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
      continue;
    }
    if (text[i] == '\n') {
      used = 0;
      blank = std::string::npos;
      continue;
    }
    if (text[i] == ' ') blank = i;
    if (++used <= columns || blank == std::string::npos) continue;
    text[blank] = '\n';
    used = i - blank;
    blank = std::string::npos;
  }
  return text;
}

}  // namespace shardkit::cli
