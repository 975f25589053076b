#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/units.hpp"
#include "report/charts.hpp"
#include "report/style.hpp"

namespace shardkit::report {
namespace {

constexpr std::array<std::string_view, 4> kToneClasses{"neutral", "good", "unclear", "bad"};

/// Nothing is loaded and no script runs; styles are those of the page itself.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// "what-the-job-needs"
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : lower_case(heading)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) anchor += c;
    if (!plain && !anchor.empty() && anchor.back() != '-') anchor += '-';
  }
  return anchor;
}

/// Numbers are aligned to the right: those columns in which every cell starts with a digit or a sign.
std::vector<bool> number_columns(const Table& table) {
  std::vector<bool> numbers(table.columns.size(), true);
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size() && i < numbers.size(); ++i) {
      const std::string_view cell = row[i];
      numbers[i] =
          numbers[i] && (cell.empty() || std::string_view("+-0123456789").find(cell[0]) != std::string_view::npos);
    }
  }
  return numbers;
}

void add_table(const Table& table, const std::string& heading, std::string& out) {
  const auto to = std::back_inserter(out);
  const std::vector<bool> numbers = number_columns(table);
  const auto style = [&](std::size_t i) { return numbers[i] ? " class=\"n\"" : ""; };
  fmt::format_to(to, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {}\"><table><thead><tr>",
                 escaped_html(heading));
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    fmt::format_to(to, "<th scope=\"col\"{}>{}</th>", style(i), escaped_html(table.columns[i]));
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size() && i < numbers.size(); ++i) {
      fmt::format_to(to, "<td{}>{}</td>", style(i), escaped_html(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>";
}

/// A table beside a plot is folded; one without is the content itself.
void add_section(const Section& section, std::string& out) {
  const auto to = std::back_inserter(out);
  const std::string anchor = anchor_of(section.heading);
  fmt::format_to(to, "<section><h2 id=\"{0}\">{1}</h2>\n", anchor, escaped_html(section.heading));
  for (const std::string& text : section.paragraphs) fmt::format_to(to, "<p>{}</p>\n", escaped_html(text));
  for (const Figure& figure : section.figures) {
    if (figure.svg.empty()) continue;
    const std::string caption =
        figure.caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped_html(figure.caption));
    fmt::format_to(to, "<figure>{}{}</figure>\n", caption, figure.svg);
  }
  if (!section.code.empty()) {
    fmt::format_to(to, "<pre tabindex=\"0\" role=\"region\" aria-label=\"Code: {}\">{}</pre>\n",
                   escaped_html(section.heading), escaped_html(section.code));
  }
  if (!section.table.rows.empty()) {
    const bool folded = !section.figures.empty();
    if (folded) fmt::format_to(to, "<details><summary>Table: {}</summary>", escaped_html(section.heading));
    add_table(section.table, section.heading, out);
    if (folded) out += "</details>";
  }
  out += "</section>\n";
}

void add_header(const Page& page, std::string& out) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "<header class=\"{}\"><p class=\"kind\">{}</p><h1>{}</h1>\n",
                 kToneClasses.at(static_cast<std::size_t>(page.tone)), escaped_html(page.kind),
                 escaped_html(page.headline));
  for (const std::string& remark : page.remarks) fmt::format_to(to, "<p>{}</p>\n", escaped_html(remark));
  if (!page.facts.empty()) out += "<dl>";
  for (const auto& [name, value] : page.facts) {
    fmt::format_to(to, "<div><dt>{}</dt><dd>{}</dd></div>", escaped_html(name), escaped_html(value));
  }
  out += page.facts.empty() ? "</header>\n" : "</dl></header>\n";
}

/// In JSON a '<' stands only in strings; as an escape it can neither end the element nor start a comment.
std::string embedded(std::string_view json) {
  std::string out;
  for (const char c : json) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

}  // namespace

std::string html(const Page& page) {
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" "
                 "content=\"shardkit\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<link rel=\"icon\" href=\"data:,\">\n<title>{}: {}</title>\n<style>{}</style></head>\n<body>\n",
                 kPolicy, escaped_html(page.kind), escaped_html(page.headline), kStyle);
  add_header(page, out);
  if (page.sections.size() > 2) {
    out += "<nav aria-label=\"Sections\"><ul>";
    for (const Section& section : page.sections) {
      fmt::format_to(to, "<li><a href=\"#{}\">{}</a></li>", anchor_of(section.heading), escaped_html(section.heading));
    }
    out += "</ul></nav>\n";
  }
  out += "<main>\n";
  for (const Section& section : page.sections) add_section(section, out);
  out += "</main>\n<footer><p>Made by shardkit from JSON.";
  if (!page.attachment.empty()) out += " The result is in the source of this page, in the element “result”.";
  out += "</p></footer>\n";
  if (!page.attachment.empty()) {
    fmt::format_to(to, "<script type=\"application/json\" id=\"result\">{}</script>\n", embedded(page.attachment));
  }
  return out + "</body></html>\n";
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : as_utf8(text)) {
    if (std::string_view("|\\`<*_").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown(const Page& page) {
  std::string out = fmt::format("### {}: {}\n", markdown_text(page.kind), markdown_text(page.headline));
  const auto to = std::back_inserter(out);
  for (const std::string& remark : page.remarks) fmt::format_to(to, "\n{}\n", markdown_text(remark));
  if (!page.facts.empty()) out += '\n';
  for (const auto& [name, value] : page.facts) fmt::format_to(to, "- {}: {}\n", name, markdown_text(value));
  for (const Section& section : page.sections) {
    const bool only_plots = section.table.rows.empty() && section.code.empty() && !section.figures.empty();
    if (only_plots) continue;
    fmt::format_to(to, "\n#### {}\n", markdown_text(section.heading));
    for (const std::string& text : section.paragraphs) fmt::format_to(to, "\n{}\n", markdown_text(text));
    if (!section.code.empty()) fmt::format_to(to, "\n````\n{}\n````\n", section.code);
    if (section.table.rows.empty()) continue;
    out += "\n|";
    for (const std::string& column : section.table.columns) fmt::format_to(to, " {} |", markdown_text(column));
    out += "\n|";
    for (std::size_t i = 0; i < section.table.columns.size(); ++i) out += "---|";
    out += '\n';
    for (std::size_t row = 0; row < std::min(section.table.rows.size(), kMarkdownRows); ++row) {
      out += '|';
      for (const std::string& cell : section.table.rows[row]) fmt::format_to(to, " {} |", markdown_text(cell));
      out += '\n';
    }
    if (section.table.rows.size() > kMarkdownRows) {
      fmt::format_to(to, "\n{} more rows\n", section.table.rows.size() - kMarkdownRows);
    }
  }
  return out;
}

}  // namespace shardkit::report
