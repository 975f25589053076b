#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/command_text.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "core/markup.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "report/charts.hpp"
#include "report/section_tools.hpp"

namespace shardkit::report {
namespace {

/// The style sheet of every page.
constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--track:#eef1f4;--band:#dfe7f0;
--c1:#0969da;--c2:#b35900;--c3:#7c3aed;--c4:#0b7285;--c5:#a0235a;--good:#1a7f37;--bad:#c62828;--unclear:#8a6100;
--link:#0550ae;--in:#fff}
@media (prefers-color-scheme:dark){:root{--bg:#0e1217;--fg:#e6edf3;--soft:#a2acb8;--line:#333b45;--track:#1c232c;
--band:#22303f;--c1:#58a6ff;--c2:#f0954a;--c3:#bc9bff;--c4:#4cc3d9;--c5:#f283b6;--good:#4cc764;--bad:#ff7b72;
--unclear:#e3b341;--link:#79b8ff;--in:#0e1217}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:60rem;background:var(--bg);color:var(--fg);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:break-word}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--c1);outline-offset:2px}
header{border-left:.4rem solid var(--soft);padding:.1rem 0 .1rem 1rem}
header.good{border-color:var(--good)}header.bad{border-color:var(--bad)}header.unclear{border-color:var(--unclear)}
header{margin-bottom:1rem}
header p{margin:.3rem 0}
.kind{color:var(--soft)}
h1{font-size:1.35rem;line-height:1.3;margin:.2rem 0}
h2{font-size:1.1rem;margin:0 0 .4rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.4rem 1.2rem;margin:.8rem 0 0}
dt{color:var(--soft);font-size:.85rem}dd{margin:0}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:1rem 0;list-style:none}
nav a{display:inline-block;padding:.2rem 0}
section{border-top:1px solid var(--line);padding:1rem 0}
section p{margin:.4rem 0;max-width:46rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:0 2rem}
figure{margin:.8rem 0;max-width:33rem;display:flex;flex-direction:column;justify-content:space-between}
figcaption{color:var(--soft);font-size:.9rem;margin-bottom:.4rem}
svg{display:block;width:100%;height:auto}
summary{cursor:pointer;color:var(--link);padding:.2rem 0;width:max-content;max-width:100%}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;margin:.4rem 0}
th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:600}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
pre{overflow-x:auto;background:var(--track);padding:.7rem;font-size:.85rem;line-height:1.4}
footer{border-top:1px solid var(--line);color:var(--soft);font-size:.85rem;padding:.8rem 0}
text{font-size:13px;fill:var(--fg);font-family:inherit}
.s{font-size:12px;fill:var(--soft)}.e{text-anchor:end}.m{text-anchor:middle}
.in{font-size:10.5px;fill:var(--in);text-anchor:middle}
.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}
rect.good,circle.good{fill:var(--good)}rect.bad,circle.bad{fill:var(--bad)}
rect.unclear,circle.unclear{fill:var(--unclear)}
.track{fill:var(--track)}.band{fill:var(--band)}.dot{stroke:var(--bg);stroke-width:1.5}
.grid{stroke:var(--line);stroke-width:1}.whisker{stroke:var(--fg);stroke-width:1.5}
.required{stroke:var(--fg);stroke-width:2;stroke-dasharray:4 2}
.threshold{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:1.5 2}.tick{stroke:var(--soft);stroke-width:1}
.before{fill:var(--unclear)}.after{fill:var(--fg)}.hollow{fill:none;stroke:var(--line);stroke-width:1}
.curve{fill:none;stroke-width:1.8;stroke-linejoin:round}
.l-c1{stroke:var(--c1)}.l-c2{stroke:var(--c2)}.l-c3{stroke:var(--c3)}.l-c4{stroke:var(--c4)}.l-c5{stroke:var(--c5)}
.l-good{stroke:var(--good)}.l-bad{stroke:var(--bad)}.l-unclear{stroke:var(--unclear)}
.h0{fill:var(--good);opacity:.55}.h1{fill:var(--good);opacity:.85}.h2{fill:var(--unclear);opacity:.8}
rect.busy{fill:var(--fg)}rect.starved{fill:var(--unclear)}rect.blocked{fill:var(--soft)}
.h3{fill:var(--c2)}.h4{fill:var(--bad)}.mark{stroke:var(--fg);stroke-width:2;opacity:1}
@media (max-width:30rem){body{padding:.7rem}h1{font-size:1.15rem}table{font-size:.82rem}
.texts thead{display:none}.texts tr{display:block;border-bottom:1px solid var(--line);padding:.4rem 0}
.texts td{display:block;border:0;padding:.1rem 0}.texts td.n{text-align:left;white-space:normal}
.texts td[data-h]::before{content:attr(data-h) ": ";color:var(--soft)}
dl{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--soft:#444;--line:#bbb;--track:#eee;--band:#dde;
--c1:#0969da;--c2:#b35900;--c3:#7c3aed;--c4:#0b7285;--c5:#a0235a;--good:#1a7f37;--bad:#c62828;--unclear:#8a6100;
--in:#fff}
body{max-width:none;font-size:10pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}
nav{display:none}figure,tr{break-inside:avoid}h2,figcaption{break-after:avoid}figure{max-width:none}.wide,pre{overflow:visible}pre{white-space:pre-wrap}
.figures{grid-template-columns:repeat(auto-fit,minmax(18rem,1fr))}table{font-size:.8em}
.long tr:nth-child(n+41){display:none}.long::after{content:"The first 40 rows. The page itself has all."}
details::details-content{content-visibility:visible;display:block;height:auto}}
)css";

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

/// Numbers are aligned to the right: those columns in which every cell starts with a digit or a sign, and is not a
/// sentence.
std::vector<bool> number_columns(const Table& table) {
  constexpr std::size_t kLongest = 24;
  std::vector<bool> numbers(table.columns.size(), true);
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size() && i < numbers.size(); ++i) {
      const std::string_view cell = row[i];
      numbers[i] = numbers[i] && cell.size() <= kLongest &&
                   (cell.empty() || std::string_view("+-0123456789").find(cell[0]) != std::string_view::npos);
    }
  }
  return numbers;
}

/// More columns of sentences than fit beside each other on a phone, which shows each row as a block.
bool is_of_texts(const Table& table) {
  constexpr std::size_t kLongest = 40;
  const auto is_long = [](const auto& row) {
    return std::ranges::any_of(row, [](const std::string& cell) { return cell.size() > kLongest; });
  };
  return table.columns.size() > 2 && std::ranges::any_of(table.rows, is_long);
}

/// Names and paths may be broken after their signs: a table is as wide as its longest word.
std::string breakable(std::string_view cell) {
  constexpr std::size_t kLongWord = 16;
  constexpr std::size_t kPiece = 8;
  std::string out;
  std::size_t start = 0;  // of the piece
  for (std::size_t i = 0; i < cell.size() && cell.size() > kLongWord; ++i) {
    if (std::string_view("_./,").find(cell[i]) == std::string_view::npos || i - start < kPiece) continue;
    out += escaped_html(cell.substr(start, i + 1 - start)) + "<wbr>";
    start = i + 1;
  }
  return out + escaped_html(cell.substr(start));
}

void add_table(const Table& table, const std::string& heading, std::string& out) {
  const auto to = std::back_inserter(out);
  const std::vector<bool> numbers = number_columns(table);
  const bool texts = is_of_texts(table);
  constexpr std::size_t kMostPrinted = 40;  // rows, as in the style
  const auto style = [&](std::size_t i) { return numbers[i] ? " class=\"n\"" : ""; };
  fmt::format_to(
      to, "<div class=\"wide{}\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {}\"><table{}><thead><tr>",
      table.rows.size() > kMostPrinted ? " long" : "", escaped_html(heading), texts ? " class=\"texts\"" : "");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    fmt::format_to(to, "<th scope=\"col\"{}>{}</th>", style(i), escaped_html(table.columns[i]));
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size() && i < numbers.size(); ++i) {
      const std::string name =
          texts && !row[i].empty() ? fmt::format(" data-h=\"{}\"", escaped_html(table.columns[i])) : "";
      fmt::format_to(to, "<td{}{}>{}</td>", style(i), name, breakable(row[i]));
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
  if (!section.figures.empty()) out += "<div class=\"figures\">";
  for (const Figure& figure : section.figures) {
    if (figure.svg.empty()) continue;
    const std::string caption =
        figure.caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped_html(figure.caption));
    fmt::format_to(to, "<figure>{}{}</figure>\n", caption, figure.svg);
  }
  if (!section.figures.empty()) out += "</div>\n";
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

/// The JSON as an address to save: what could end an attribute, or what an address cannot contain, is encoded.
std::string data_url(std::string_view json) {
  constexpr std::string_view kPlain = "{}[]():;,._-+/=!*$@?~|^`";
  std::string out = "data:application/json;charset=utf-8,";
  for (const char c : json) {
    const bool letter = is_letter(c) || is_digit(c);
    if (letter || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

/// More than this is left out of a page, which is at most about twice as large.
constexpr std::size_t kMostAttached = 1'000'000;

/// The first line on a terminal; of results without it, the first text that says how it ended.
std::string headline_of(const Source& source) {
  if (const auto headline = text_at(source.envelope, "headline"); headline && !headline->empty()) return *headline;
  if (const auto error = text_at(source.envelope, "error.text")) return *error;
  for (const std::string_view path : {"verdict.text", "text", "verdict", "reason"}) {
    const auto text = text_at(source.result, path);
    if (text && !text->empty()) return *text;
  }
  if (const auto errors = number_at(source.result, "errors"); errors && source.verb == "env") {
    return fmt::format("{} errors, {} warnings", *errors, number_at(source.result, "warnings").value_or(0));
  }
  if (const auto samples = number_at(source.result, "samples"); samples && number_at(source.result, "shards")) {
    return fmt::format("{} samples in {} shards, {}", count_text(*samples),
                       shown(member(source.result, "shards"), Unit::count),
                       shown(member(source.result, "bytes"), Unit::bytes));
  }
  std::string rates;
  for (const auto& [path, unit] :
       {std::pair{"samples_per_second", Unit::per_second}, std::pair{"files_per_second", Unit::per_second},
        std::pair{"bytes_per_second", Unit::bytes_per_second}}) {
    const std::string rate = shown(member(source.result, path), unit);
    if (!rate.empty()) rates += (rates.empty() ? "" : ", ") + rate;
  }
  return rates.empty() ? text_at(source.envelope, "status").value_or("unknown") : rates;
}

/// True if a metric is worse now: by its newest runs, or since its last change.
bool is_worse(const Json& history) {
  return std::ranges::any_of(list_at(history, "metrics"), [](const Json& metric) {
    const Json& changes = list_at(metric, "changes");
    return text_at(metric, "now.verdict") == "regressed" ||
           (!changes.empty() && text_at(changes.back(), "verdict") == "regressed");
  });
}

Tone tone_of(const Source& source) {
  const std::string status = text_at(source.envelope, "status").value_or("");
  if (!source.result.empty() && text_at(source.envelope, "error.code") == "in_use") return Tone::unclear;  // disturbed
  if (member(source.envelope, "interrupted") != nullptr && *member(source.envelope, "interrupted") == true) {
    return Tone::unclear;
  }
  if (status == "failed" || status == "findings" || (source.verb == "history" && is_worse(source.result))) {
    return Tone::bad;
  }
  const std::string verdict = text_at(source.result, "verdict").value_or("");
  if (verdict == "inconclusive" || !text_at(source.result, "neighbors.text").value_or("").empty()) return Tone::unclear;
  const Json* ok = member(source.result, "verdict.ok");
  const Json* requirement = member(source.result, "requirement");
  const bool judged = ok != nullptr && requirement != nullptr && requirement->is_object();
  return judged || verdict == "pass" || verdict == "improved" ? Tone::good : Tone::neutral;
}

/// Of many nodes: how many of them there are in each state, not the host that added them.
std::vector<std::pair<std::string, std::string>> fleet_facts(const Source& source) {
  std::map<std::string, std::size_t> states;
  for (const Json& node : list_at(source.result, "nodes")) ++states[text_at(node, "state").value_or("unknown")];
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [state, count] : states) all.emplace_back(state, count_text(static_cast<double>(count)));
  for (const auto& [name, path] : {std::pair{"Judged", "nodes_judged"}, std::pair{"Nodes", "nodes_expected"}}) {
    const std::string count = shown(member(source.result, path), Unit::count);
    if (!count.empty()) all.emplace(all.begin(), name, count);
  }
  all.emplace_back("Started", text_at(source.envelope, "started_at").value_or(""));
  return all;
}

std::vector<std::pair<std::string, std::string>> facts(const Source& source) {
  if (source.verb == "aggregate") return fleet_facts(source);
  constexpr std::array<Column, 8> kFacts{{{"Node", "host.node"},
                                          {"Host", "host.hostname"},
                                          {"Started", "started_at"},
                                          {"Took", "elapsed_seconds", Unit::seconds},
                                          {"System", "host.os"},
                                          {"Kernel", "host.kernel"},
                                          {"CPUs", "host.cpus", Unit::count},
                                          {"Memory", "host.memory_bytes", Unit::bytes}}};
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, path] : {std::pair{"BASE", "options.base"}, std::pair{"NEW", "options.new"}}) {
    const std::string file = source.verb == "compare" ? shown(member(source.envelope, path), Unit::none) : "";
    if (!file.empty()) all.emplace_back(name, file);
  }
  for (const Column& fact : kFacts) {
    const std::string value = shown(member(source.envelope, fact.path), fact.unit);
    if (!value.empty()) all.emplace_back(fact.heading, value);
  }
  const auto node = std::ranges::find(all, "Node", &std::pair<std::string, std::string>::first);
  if (node != all.end() && node + 1 != all.end() && node->second == (node + 1)->second) all.erase(node);
  const auto version = text_at(source.envelope, "tool.version");
  if (version)
    all.emplace_back("Version", fmt::format("{} {}", text_at(source.envelope, "tool.name").value_or(""), *version));
  if (const Json* labels = member(source.envelope, "host.labels"); labels != nullptr && labels->is_object()) {
    for (const auto& [name, value] : labels->items()) all.emplace_back(name, shown(&value, Unit::none));
  }
  return all;
}

using Json = nlohmann::json;

/// Ends of words in which names and paths are looked for.
constexpr std::string_view kBetweenWords = " \t\n'\"`,;()[]{}=<>|";

/// Names and paths by what stands for them.
class Redaction {
 public:
  explicit Redaction(const Json& envelope) {
    for (const char* path : {"host.hostname", "host.node"}) add_host(text_at(envelope, path));
    for (const Json& node : list_at(envelope, "result.nodes")) add_host(text_at(node, "name"));
    find_hosts(envelope);
    find_mounts(envelope);
    const Json* options = member(envelope, "options");
    if (options == nullptr) return;
    find_phrases(*options);
    for (const char* operand : {"path", "dir", "base", "new", "result", "src", "dst", "shards", "out", "folder"}) {
      if (const Json* value = member(*options, operand)) add_operand(*value);
    }
  }

  std::string of(const std::string& whole) {
    std::string with_spaces = whole;
    for (const std::string& phrase : phrases_) replace_all(with_spaces, phrase, stand_in(phrase, "path"));
    std::string_view text = with_spaces;
    std::string out;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(kBetweenWords), text.size());
      out += word(std::string(text.substr(0, end)));
      out += text.substr(end, end < text.size() ? 1 : 0);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }

 private:
  /// With its short name.
  void add_host(const std::optional<std::string>& name) {
    if (!name || name->empty()) return;
    const std::string host = stand_in(*name, "host");
    const std::string short_name = name->substr(0, name->find('.'));
    if (!is_digits(short_name)) names_.try_emplace(short_name, host);
  }

  /// Sources of mounts and their options have names that no other field has.
  void find_mounts(const Json& json) {
    if (json.is_object() && json.contains("mount_options")) {
      add_source(text_at(json, "source").value_or(""));
      for (const Json& option : list_at(json, "mount_options")) {
        if (option.is_string()) add_option(option.get<std::string>());
      }
    }
    if (!json.is_structured()) return;
    for (const Json& item : json) find_mounts(item);
  }

  void add_phrase(const std::string& phrase, std::string_view kind) {
    stand_in(phrase, kind);
    phrases_.insert(phrase);
  }

  /// "filer:/export", "//server/share", "10.0.0.1:6789,10.0.0.2:6789:/", "10.0.0.1@o2ib:/scratch", "user@cluster.fs=/"
  void add_source(const std::string& source) {
    const bool is_remote = source.find_first_of(":@") != std::string::npos || source.starts_with("//");
    if (is_remote || source.find('/') != std::string::npos) add_phrase(source, "path");
    std::string_view servers = is_remote ? source : std::string_view();
    servers.remove_prefix(std::min(servers.find_first_not_of('/'), servers.size()));
    servers = servers.substr(0, servers.find('/'));
    for (std::size_t at = 0; at < servers.size();) {
      const std::size_t end = std::min(servers.find_first_of(",:@=", at), servers.size());
      const std::string piece(servers.substr(at, end - at));
      if (!piece.empty() && !is_digits(piece)) add_host(piece);
      if (piece.find('.') != std::string::npos) phrases_.insert(piece);
      at = end + 1;
    }
  }

  /// Only numbers and words of these options stay: all others may be names and addresses.
  void add_option(const std::string& option) {
    constexpr std::array<std::string_view, 16> kWords{
        "proto",    "mountproto", "sec",  "cache", "local_lock", "lookupcache",  "data",     "errors",
        "compress", "discard",    "mode", "xino",  "index",      "redirect_dir", "metacopy", "iocharset"};
    const std::size_t sign = option.find('=');
    const std::string value = sign == std::string::npos ? "" : option.substr(sign + 1);
    const bool is_number = !value.empty() && std::isdigit(static_cast<unsigned char>(value[0])) != 0 &&
                           std::ranges::count(value, '.') < 2 && value.find_first_of(":/@-") == std::string::npos;
    const bool is_word = std::ranges::find(kWords, option.substr(0, sign)) != kWords.end();
    if (value.size() > 1 && !is_number && !is_word) add_phrase(value, "name");
  }

  /// A path, also without a slash.
  void add_operand(const Json& value) {
    for (const Json& text : value.is_array() ? value : Json::array({value})) {
      if (text.is_string() && !text.get_ref<const std::string&>().empty()) stand_in(text.get<std::string>(), "path");
    }
  }

  /// Those of other nodes: as members of these names, and where results differ in them.
  void find_hosts(const Json& json) {
    if (json.is_object()) {
      for (const char* name : {"hostname", "node"}) add_host(text_at(json, name));
      const bool differs = std::ranges::any_of(
          json, [](const Json& item) { return item == Json("host.hostname") || item == Json("host.node"); });
      for (const Json& value : json) {
        if (differs && value.is_string() && !value.get_ref<const std::string&>().starts_with("host."))
          add_host(value.get<std::string>());
      }
    }
    if (!json.is_structured()) return;
    for (const Json& item : json) find_hosts(item);
  }

  /// Values of options that are several words, such as names of files, as they are and in quotes.
  void find_phrases(const Json& json) {
    if (json.is_string()) {
      const auto& text = json.get_ref<const std::string&>();
      if (text.find_first_of(kBetweenWords) == std::string::npos) return;
      const std::string quoted = shell_quoted(text);
      phrases_.insert(quoted.substr(1, quoted.size() - 2));
      phrases_.insert(text);
    }
    if (!json.is_structured()) return;
    for (const Json& item : json) find_phrases(item);
  }

  static void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }

  const std::string& stand_in(const std::string& name, std::string_view kind) {
    const auto [at, is_new] = names_.try_emplace(name);
    if (is_new) at->second = fmt::format("{}-{}", kind, names_.size());
    return at->second;
  }

  /// A path has a slash, but so have rates ("GB/s"), kernel names ("GNU/Linux") and shared memory.
  static bool is_path(std::string_view word) {
    const std::size_t slash = word.find('/');
    if (slash == std::string_view::npos || word.starts_with("/dev/shm") || word == "/") return false;
    if (word.starts_with('/') || word.starts_with('.') || word.starts_with('~') || is_url(word)) return true;
    return word.find("/s") != word.size() - 2 && word != "GNU/Linux" && word != "/";
  }

  std::string word(const std::string& word) {
    const auto known = names_.find(word);
    if (known != names_.end()) return known->second;
    const std::string_view bare = std::string_view(word).substr(0, word.find_last_not_of(".:") + 1);
    if (names_.contains(std::string(bare))) return names_.at(std::string(bare)) + word.substr(bare.size());
    return is_path(bare) ? stand_in(std::string(bare), "path") + word.substr(bare.size()) : word;
  }

  struct LongestFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return std::pair(b.size(), a) < std::pair(a.size(), b);
    }
  };

  std::map<std::string, std::string> names_;
  std::set<std::string, LongestFirst> phrases_;
};

void redact(Json& json, Redaction& redaction) {
  if (json.is_string()) json = redaction.of(json.get<std::string>());
  if (!json.is_structured()) return;
  for (Json& item : json) redact(item, redaction);
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
    if (!page.attachment.empty()) out += "<li><a href=\"#result\">JSON</a></li>";
    out += "</ul></nav>\n";
  }
  out += "<main>\n";
  for (const Section& section : page.sections) add_section(section, out);
  out += "</main>\n<footer><p>Made by shardkit from JSON.";
  if (!page.attachment.empty()) {
    std::string name = page.kind + ".json";
    std::ranges::replace(name, ' ', '-');
    fmt::format_to(to, " <a id=\"result\" download=\"{}\" href=\"{}\">Save the JSON of this page ({})</a>",
                   escaped_html(name), data_url(page.attachment), format_size(page.attachment.size()));
  }
  return out + "</p></footer>\n</body></html>\n";
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

Page page_of(const Json& envelope, const Beside& beside) {
  static const Json nothing = Json::object();
  const Json* result = member(envelope, "result");
  const Source source{
      envelope, result != nullptr && result->is_object() ? *result : nothing,
      text_at(envelope, "schema").value_or("/").substr(text_at(envelope, "schema").value_or("/").find('/') + 1),
      beside};
  Page page{.kind = fmt::format("{} {}", text_at(envelope, "tool.name").value_or("shardkit"), source.verb),
            .headline = headline_of(source),
            .tone = tone_of(source)};
  for (const std::string_view path :
       {"error.text", "result.verdict.remedy", "result.disturbance", "result.neighbors.text"}) {
    const std::string remark = text_at(envelope, path).value_or("");
    const auto says_it = [&](const std::string& text) { return text.find(remark) != std::string::npos; };
    if (says_it(page.headline) || std::ranges::any_of(page.remarks, says_it)) continue;  // also an empty one
    page.remarks.push_back(remark);
  }
  page.facts = facts(source);
  for (const auto sections :
       {comparison_sections(), fleet_sections(), verb_sections(), result_sections(), dataset_sections()}) {
    for (const SectionOf make : sections) {
      if (std::optional<Section> section = make(source)) page.sections.push_back(std::move(*section));
    }
  }
  if (const std::string command = text_at(source.result, "command").value_or(""); !command.empty()) {
    page.sections.push_back({.heading = "Same again", .code = command});
  }
  std::string attachment = json_text(envelope);
  if (attachment.size() <= kMostAttached) {
    page.attachment = std::move(attachment);
  } else {
    const std::string size = format_size(attachment.size());
    page.sections.push_back(
        {.heading = "JSON", .paragraphs = {size + " of JSON are too large for a page: keep the file."}});
  }
  return page;
}

Json redacted(const Json& envelope) {
  Json copy = envelope;
  Redaction redaction(envelope);
  for (auto& [name, value] : copy.items()) {
    if (name != "schema") redact(value, redaction);
  }
  return copy;
}

}  // namespace shardkit::report
