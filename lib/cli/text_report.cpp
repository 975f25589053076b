#include "cli/text_report.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>
#include <utility>
#include <variant>

namespace shardkit::cli {
namespace {

constexpr std::size_t kMostRows = 20;

bool is_number(const FieldNode& node) { return node.kind == FieldKind::count || node.kind == FieldKind::number; }

/// The leaves of a list item in order; nested groups are flattened into the row.
void collect_cells(const FieldNode& item, std::vector<const FieldNode*>& cells) {
  for (const FieldNode& child : item.children) {
    if (child.kind == FieldKind::group) {
      collect_cells(child, cells);
    } else if (child.kind != FieldKind::list) {
      cells.push_back(&child);
    }
  }
}

using Line = std::vector<std::string>;

std::string aligned(const std::vector<Line>& lines, const std::vector<bool>& right, const std::string& indent) {
  std::vector<std::size_t> widths(right.size());
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const Line& line : lines) {
    std::string text = indent;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += right[i] ? fmt::format("{:>{}}  ", line[i], widths[i]) : fmt::format("{:<{}}  ", line[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

/// Leaves out columns without values.
void drop_empty_columns(std::vector<Line>& lines, std::vector<bool>& right) {
  for (std::size_t i = right.size(); i-- > 0;) {
    if (std::any_of(lines.begin() + 1, lines.end(), [&](const Line& line) { return !line[i].empty(); })) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    for (Line& line : lines) line.erase(line.begin() + at);
    right.erase(right.begin() + at);
  }
}

std::string table(const FieldNode& list, const std::string& indent) {
  std::vector<Line> lines;
  std::vector<bool> right;
  for (std::size_t row = 0; row < std::min(list.children.size(), kMostRows); ++row) {
    std::vector<const FieldNode*> cells;
    collect_cells(list.children[row], cells);
    if (row == 0) {
      Line& head = lines.emplace_back();
      for (const FieldNode* cell : cells) {
        head.push_back(label(*cell));
        right.push_back(is_number(*cell));
      }
    }
    Line& line = lines.emplace_back();
    for (const FieldNode* cell : cells) line.push_back(printable(value_text(*cell)));
    line.resize(right.size());
  }
  drop_empty_columns(lines, right);
  std::string out = aligned(lines, right, indent);
  if (list.children.size() > kMostRows) {
    out +=
        fmt::format("{}... and {} more; --json lists them\n", indent, format_count(list.children.size() - kMostRows));
  }
  return out;
}

bool is_empty(const FieldNode& node) {
  if (node.absent) return true;
  if (node.kind == FieldKind::group || node.kind == FieldKind::list) return node.children.empty();
  return value_text(node).empty();
}

bool is_zero(const FieldNode& node) {
  if (node.unit == Unit::none || node.unit == Unit::ratio || node.unit == Unit::factor) return false;
  const auto* count = std::get_if<std::uint64_t>(&node.value);
  const auto* number = std::get_if<double>(&node.value);
  return (count != nullptr && *count == 0) || (number != nullptr && *number == 0);
}

/// The value's lines: each text of a list has its own, unless all are single words.
Line value_lines(const FieldNode& node) {
  Line lines;
  const auto* texts = std::get_if<std::vector<std::string>>(&node.value);
  const auto has_blank = [](const std::string& text) { return text.find(' ') != std::string::npos; };
  if (texts != nullptr && std::ranges::any_of(*texts, has_blank)) {
    for (const std::string& text : *texts) lines.push_back(printable(text));
  } else if (node.field.lines) {
    std::istringstream stream(value_text(node));
    for (std::string line; std::getline(stream, line);) lines.push_back(printable(line));
  } else {
    lines.push_back(printable(value_text(node)));
  }
  return lines;
}

void render(const std::vector<FieldNode>& nodes, const std::string& indent, std::string& out) {
  std::size_t width = 0;
  for (const FieldNode& node : nodes) {
    if (!is_empty(node)) width = std::max(width, label(node).size() + 1);
  }
  for (const FieldNode& node : nodes) {
    if (is_empty(node)) continue;
    if (node.kind == FieldKind::group) {
      out += fmt::format("{}{}:\n", indent, label(node));
      render(node.children, indent + "  ", out);
    } else if (node.kind == FieldKind::list) {
      out += fmt::format("{}{}:\n", indent, label(node));
      out += table(node, indent + "  ");
    } else if (node.field.lines) {  // may be pasted
      out += fmt::format("{}{}:\n{}\n", indent, label(node), fmt::join(value_lines(node), "\n"));
    } else {
      std::string name = label(node) + ":";
      for (const std::string& line : value_lines(node)) {
        out += fmt::format("{}{:<{}} {}\n", indent, std::exchange(name, ""), width, line);
      }
    }
  }
}

std::string folded(const std::string& sentence, std::size_t columns) {
  return columns == 0 ? sentence : fmt::format("{}", fmt::join(wrap(sentence, columns), "\n"));
}

/// `text` without the escape sequences of painted().
std::string without_color(std::string text) {
  for (std::size_t at = text.find("\x1b["); at != std::string::npos; at = text.find("\x1b[", at)) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  return text;
}

}  // namespace

std::string text_report(const std::vector<FieldNode>& result) {
  std::string out;
  render(result, "", out);
  return out;
}

std::vector<FieldNode> without_zeros(std::vector<FieldNode> result) {
  for (FieldNode& node : result) {
    if (node.kind == FieldKind::group) node.children = without_zeros(std::move(node.children));
  }
  std::erase_if(result, is_zero);
  return result;
}

std::string painted(std::string_view text, Tone tone) {
  constexpr std::array codes = {"", "\x1b[32m", "\x1b[33m", "\x1b[31m"};  // in the order of Tone
  return fmt::format("{}{}\x1b[0m", codes[static_cast<std::size_t>(tone)], text);
}

std::string answer_line(const Answer& answer, double elapsed_seconds) {
  const std::string time = format_duration(elapsed_seconds);
  if (answer.subject.empty()) return fmt::format("{} ({})", printable(answer.headline), time);
  return fmt::format("{} in {}: {}", printable(answer.headline), time, printable(answer.subject));
}

std::string answer_text(const Answer& answer, double elapsed_seconds, const TextStyle& style) {
  std::string body = style.color ? answer.body : without_color(answer.body);
  if (style.columns > 0) body = broken_at_blanks(body, style.columns);
  if (answer.headline.empty()) return body;
  const std::string first = folded(answer_line(answer, elapsed_seconds), style.columns);
  constexpr std::string_view kBold = "\x1b[1m";
  std::string out = style.color ? fmt::format("{}{}\n", kBold, painted(first, answer.tone)) : first + "\n";
  for (const std::string& remark : answer.remarks) out += folded(printable(remark), style.columns) + '\n';
  if (answer.apart) out.insert(0, 1, '\n');
  std::size_t width = 0;
  for (const auto& [name, text] : answer.facts) width = std::max(width, text.empty() ? 0 : name.size());
  for (const auto& [name, text] : answer.facts) {
    if (!text.empty()) out += fmt::format("  {:<{}}  {}\n", name, width, printable(text));
  }
  out += body + answer.code;
  for (const std::string& hint : answer.hints) out += folded("hint: " + printable(hint), style.columns) + '\n';
  out += answer.end;
  for (const std::string& command : answer.next) {
    const bool is_comment = command.starts_with("# ");
    out += fmt::format("{}: {}\n", is_comment ? "hint" : "next", printable(command).substr(is_comment ? 2 : 0));
  }
  return out;
}

std::string steady_text(const std::optional<bool>& steady, double seconds) {
  if (steady) return *steady ? "yes" : "no";
  return seconds < 1 ? fmt::format("unknown, only {} were measured", format_duration(seconds))
                     : "unknown, each pass over the data took less than 1 s";
}

std::string count_text(std::uint64_t count, std::string_view noun) {
  return count == 0 ? std::string() : format_count(count, noun);
}

std::string spread_text(std::uint64_t least, std::uint64_t most, std::string_view noun) {
  if (least == most) return format_count(most, noun) + " each";
  return fmt::format("{} to {}", format_count(least), format_count(most, noun));
}

std::string percent_text(const std::optional<double>& ratio) {
  return ratio ? format_value(*ratio, Unit::ratio) : "unknown";
}

}  // namespace shardkit::cli
