#include "report/page.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace shardkit::report {
namespace {

using Json = nlohmann::json;

Json envelope(const std::string& verb, Json result) {
  return {{"schema", "shardkit/" + verb},
          {"tool", {{"name", "iobench"}, {"version", "0.9.0"}}},
          {"started_at", "2026-11-26T07:51:49Z"},
          {"elapsed_seconds", 12.5},
          {"host", {{"hostname", "node17"}, {"node", "node17"}, {"kernel", "6.1"}, {"labels", {{"rack", "r7"}}}}},
          {"result", std::move(result)},
          {"warnings", Json::array()},
          {"error", nullptr},
          {"status", "ok"}};
}

Json run_result() {
  return {
      {"verdict", {{"ok", true}, {"text", "800 samples/s; decode is the bottleneck"}, {"remedy", "use more cores"}}},
      {"stages",
       {{{"stage", "read"}, {"measured_per_second", 12000.0}, {"required_per_second", 1786.0}, {"headroom_ratio", 6.7}},
        {{"stage", "decode"},
         {"measured_per_second", 800.0},
         {"required_per_second", 1786.0},
         {"headroom_ratio", 0.45},
         {"interval", {{"low", 780.0}, {"high", 820.0}}}}}},
      {"pipeline",
       {{"stages",
         {{{"name", "decode"},
           {"threads", 2},
           {"busy_ratio", 0.9},
           {"starved_ratio", 0.1},
           {"blocked_ratio", 0.0},
           {"cpu_seconds_per_sample", 0.001}}}}}},
      {"environment", {{"findings", Json::array()}, {"usable_threads", 2}, {"storage", {{"file_system", "ext4"}}}}}};
}

std::vector<std::string> headings(const Page& page) {
  std::vector<std::string> all;
  for (const Section& section : page.sections) all.push_back(section.heading);
  return all;
}

/// What a browser saves when the link to the JSON is followed.
std::string attached_json(const std::string& page) {
  const std::string start = "id=\"result\" download=\"iobench-run.json\" href=\"data:application/json;charset=utf-8,";
  const std::size_t from = page.find(start) + start.size();
  std::string json;
  for (std::size_t i = from; page.at(i) != '"'; ++i) {
    if (page[i] != '%') {
      json += page[i];
      continue;
    }
    json += static_cast<char>(std::stoi(page.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return json;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a run begins with its verdict, node, date and version") {
  const Page page = page_of(envelope("run", run_result()));
  CHECK(page.headline == "800 samples/s; decode is the bottleneck");
  CHECK(page.remarks == std::vector<std::string>{"use more cores"});
  const std::string text = html(page);
  for (const char* fact : {"node17", "2026-11-26T07:51:49Z", "iobench 0.9.0", "r7"}) CHECK(has(text, fact));
  CHECK(text.find("<h1>") < text.find("<h2"));
}

TEST_CASE("what a result does not contain is left out") {
  CHECK(headings(page_of(envelope("run", run_result()))) ==
        std::vector<std::string>{"Needed and measured", "Where the time of a batch goes", "Environment", "Machine"});
  CHECK(headings(page_of(envelope("run", Json::object()))).empty());
}

TEST_CASE("a page begins with the first line of the terminal, and an undecided one keeps what was measured") {
  Json undecided = envelope("run", run_result());
  undecided["headline"] = "undecided: decode 800 of 1,786 samples/s";
  undecided["error"] = {{"code", "in_use"}, {"text", "other processes disturbed the measurement"}};
  undecided["status"] = "failed";
  const Page page = page_of(undecided);
  CHECK(page.headline == "undecided: decode 800 of 1,786 samples/s");
  CHECK(page.tone == shardkit::Tone::unclear);
  CHECK(page.remarks.front() == "other processes disturbed the measurement");
  CHECK(headings(page).front() == "Needed and measured");
}

TEST_CASE("the bottleneck is first, and more headroom than twice the need does not hide it") {
  const Section section = page_of(envelope("run", run_result())).sections.front();
  const std::string& svg = section.figures.front().svg;
  CHECK(svg.find("decode") < svg.find("read"));
  CHECK(has(svg, "width=\"94.5\""));   // 0.45 of the half that is the need
  CHECK(has(svg, "width=\"420.0\""));  // 6.7 x, cut off
}

TEST_CASE("a sentence that begins with a number is no number, and a change of nothing has no sign") {
  Json result = run_result();
  result["environment"]["findings"] = {
      {{"severity", "warning"}, {"text", "x"}, {"remedy", "2 GiB are enough: mount -o remount,size=2G /dev/shm"}}};
  CHECK(has(html(page_of(envelope("run", result))), "<td data-h=\"remedy\">2 GiB are enough"));
  const Json compared{{"rows", {{{"metric", "m"}, {"change_ratio", -0.0001}, {"verdict", "pass"}}}}};
  CHECK(has(html(page_of(envelope("compare", compared))), "pass, 0.0 %"));
}

TEST_CASE("of many nodes the page counts states, and a comparison names both files") {
  const Json fleet{{"text", "2 of 3 judged"},
                   {"nodes_judged", 2},
                   {"nodes_expected", 3},
                   {"nodes", {{{"name", "a"}, {"state", "healthy"}}, {{"name", "b"}, {"state", "missing"}}}}};
  using Fact = std::pair<std::string, std::string>;
  const Page page = page_of(envelope("aggregate", fleet));
  CHECK(page.facts.at(0) == Fact{"Nodes", "3"});
  CHECK(page.facts.at(1) == Fact{"Judged", "2"});
  CHECK(std::ranges::find(page.facts, Fact{"missing", "1"}) != page.facts.end());
  Json compared = envelope("compare", {{"text", "pass"}});
  compared["options"] = {{"base", "old.json"}, {"new", "new.json"}};
  CHECK(page_of(compared).facts.front() == Fact{"BASE", "old.json"});
}

TEST_CASE("a comparison has an axis in percent with thresholds and runs, and one from zero beside it") {
  const Json row{{"metric", "read.bytes_per_second"}, {"base", 2e9},           {"new", 1e9}, {"change_ratio", -0.5},
                 {"threshold_ratio", 0.05},           {"verdict", "regressed"}};
  Json result = envelope("compare", {{"verdict", "regressed"}, {"rows", {row}}});
  result["status"] = "findings";
  const Page page = page_of(result, {.runs = {{"read.bytes_per_second", {1.9e9, 2.1e9}, {0.9e9, 1.1e9, 1e9}}}});
  CHECK(page.tone == Tone::bad);
  const Section& section = page.sections.front();
  REQUIRE(section.figures.size() == 2);
  const std::string& zoomed = section.figures[0].svg;
  CHECK(count_of(zoomed, "class=\"before\"") == 2);
  CHECK(count_of(zoomed, "class=\"after\"") == 3);
  CHECK(count_of(zoomed, "class=\"threshold\"") == 2);
  CHECK(has(zoomed, ">-45 %</text>"));
  CHECK(has(zoomed, ">0 %</text>"));
  const std::string& from_zero = section.figures[1].svg;
  CHECK(has(from_zero, "width=\"210.0\""));  // half of BASE
  CHECK(has(from_zero, "2.00 GB/s to 1.00 GB/s"));
  CHECK(has(from_zero, ">100 %</text>"));
}

TEST_CASE("two single results are overlaid, folders are not") {
  const auto with_seconds = [](double rate) {
    Json rows = Json::array();
    for (int i = 0; i < 3; ++i) {
      rows.push_back({{"unix_time_seconds", 100 + i}, {"stage", "read"}, {"bytes", rate}, {"measured_seconds", 1.0}});
    }
    return envelope("run", {{"seconds", rows}});
  };
  const Json base = with_seconds(1e9);
  const Json changed = with_seconds(2e9);
  const Json compared = envelope("compare", {{"verdict", "pass"}});
  CHECK(headings(page_of(compared, {.base = &base, .changed = &changed})) ==
        std::vector<std::string>{"Both runs over time"});
  CHECK(headings(page_of(compared, {.base = &base})).empty());
}

TEST_CASE("a history is red while a metric is worse, and each metric has a zoomed plot in percent") {
  const auto history = [](const char* now, const char* change, double apart = 1e5) {
    Json points = Json::array();
    for (int i = 0; i < 4; ++i) points.push_back({{"unix_time_seconds", 1e9 + i * apart}, {"value", 1e9 + i * 1e7}});
    const Json band{{"from_seconds", 1e9}, {"to_seconds", 1e9 + 3e5}, {"median", 1e9}, {"low", 9e8}, {"high", 11e8}};
    Json metric{
        {"metric", "read.bytes_per_second"}, {"points", points}, {"bands", {band}}, {"now", {{"verdict", now}}}};
    metric["changes"] = {{{"unix_time_seconds", 1e9 + 1e5}, {"change_ratio", -0.2}, {"verdict", change}}};
    return page_of(envelope("history", {{"metrics", {metric}}}));
  };
  CHECK(history("pass", "improved").tone == Tone::neutral);
  CHECK(history("regressed", "improved").tone == Tone::bad);
  CHECK(has(history("pass", "pass", 3600).sections.back().figures[0].svg, ">04:46</text>"));  // all of one day
  const Page page = history("pass", "regressed");
  CHECK(page.tone == Tone::bad);
  const Section& section = page.sections.back();
  REQUIRE(section.figures.size() == 2);
  CHECK(has(section.figures[0].svg, ">0.00 B/s</text>"));
  for (const char* tick : {">-10 %</text>", ">0 %</text>", ">+10 %</text>"}) CHECK(has(section.figures[1].svg, tick));
  CHECK(count_of(section.figures[1].svg, "class=\"threshold\"") == 2);
  CHECK(count_of(section.figures[1].svg, "<circle") == 4);  // each run
  CHECK(page.sections.front().table.rows.front() ==
        std::vector<std::string>{"read.bytes_per_second", "regressed", "-20.0 %", "2001-09-10"});
}

TEST_CASE("a fleet has a line for each rack, short names, and hollow squares for nodes without a rate") {
  Json nodes = Json::array();
  for (int i = 0; i < 4; ++i) {
    const Json rate{{"metric", "read.bytes_per_second"}, {"value", 1e9}, {"of_median_ratio", i == 3 ? 0.5 : 1.0}};
    nodes.push_back({{"name", fmt::format("n{}.cluster.example", i)},
                     {"state", i == 3 ? "suspect" : "healthy"},
                     {"group", i < 2 ? "rack=r1" : "rack=r2"},
                     {"slowest_ratio", i == 3 ? 0.5 : 1.0},
                     {"slowest_metric", "read.bytes_per_second"},
                     {"rates", {rate}}});
  }
  nodes.push_back({{"name", "n4.cluster.example"}, {"state", "missing"}, {"group", ""}, {"slowest_ratio", 1.0}});
  const Page page = page_of(envelope("aggregate", {{"nodes", nodes}}));
  const std::string& map = page.sections[0].figures[0].svg;
  for (const char* label : {">r1</text>", ">r2</text>", ">no group</text>"}) CHECK(has(map, label));
  CHECK(count_of(map, "class=\"hollow\"") == 1);
  CHECK(has(map, "n4.cluster.example: missing"));
  const std::string& bars = page.sections[1].figures[0].svg;
  CHECK(has(bars, ">n3</text>"));
  CHECK(has(bars, "1.00 GB/s, 50 %, read bytes/s"));
  for (const char* name : {">n0</text>", ">n3</text>"}) CHECK(has(map, name));
  CHECK(page.sections[1].paragraphs.back() == "Repaired to the median, they add: n3 +1.00 GB/s (read bytes/s).");
  CHECK(has(bars, "class=\"unclear\""));  // slow in one run only
  CHECK_FALSE(has(bars, ">n4</text>"));
  CHECK(std::ranges::find(page.sections[1].table.columns, "misses the gate") == page.sections[1].table.columns.end());
  CHECK(page.sections[1].table.rows.back()[4].empty());  // not 1.00 x: it was not measured
}

TEST_CASE("results of single verbs have what they measured") {
  const Json decoded{{"samples_per_second", 2000.0}, {"threads", 2}, {"failures", {{"total", 0}}}};
  CHECK(headings(page_of(envelope("decode", decoded))) == std::vector<std::string>{"Measured"});
  const Json saved{{"rows", {{{"mode", "sync"}, {"block_seconds", 0.2}, {"durable_seconds", 0.3}}}}};
  CHECK(headings(page_of(envelope("checkpoint", saved))) == std::vector<std::string>{"Time of a checkpoint"});
  const Json modeled{{"required", {{"samples_per_second", 10.0}}}, {"supply", {{"read_bytes_per_second", 1e9}}}};
  CHECK(headings(page_of(envelope("model", modeled))) ==
        std::vector<std::string>{"What the job needs", "What the node delivers"});
  const Json listed{{"presets", {{{"name", "resnet50-h100"}, {"samples_per_second", 1786.0}}}}};
  CHECK(headings(page_of(envelope("model", listed))) == std::vector<std::string>{"Published workloads"});
  const Json repeated{{"repeated", {{{"metric", "read.bytes_per_second"}, {"median", 1.5e9}}}},
                      {"repetitions", {{{"bytes_per_second", 1e9}}, {{"bytes_per_second", 2e9}}}}};
  CHECK(headings(page_of(envelope("read", repeated))) == std::vector<std::string>{"Repetitions"});
  CHECK(count_of(html(page_of(envelope("read", repeated))), "class=\"after\"") == 2);
}

TEST_CASE("seconds without data are part of the plot, and the table has the rates of the plot") {
  Json rows = Json::array();
  for (const int samples : {100, 0, 50}) {
    rows.push_back({{"unix_time_seconds", 1000 + rows.size()},
                    {"stage", "decode"},
                    {"samples", samples},
                    {"measured_seconds", 0.5}});
  }
  const Section section = page_of(envelope("run", {{"seconds", rows}})).sections.front();
  CHECK(count_of(section.figures.front().svg, "<circle") == 3);
  CHECK(section.table.columns == std::vector<std::string>{"second", "stage", "samples/s", "measured for"});
  CHECK(section.table.rows.front()[2] == "200/s");
}

TEST_CASE("each repetition is a dot, and times below 0.1 ms have no leading zeros") {
  const Json result{
      {"repeated", {{{"metric", "run.predicted.samples_per_second"}, {"median", 10.0}, {"low", 9.0}}}},
      {"repetitions",
       {{{"predicted", {{"samples_per_second", 9.0}}}}, {{"predicted", {{"samples_per_second", 11.0}}}}}}};
  CHECK(count_of(html(page_of(envelope("run", result))), "class=\"after\"") == 2);
  const Json read{{"latency_seconds", {{"p50", 0.0000126}, {"p99", 0.0126}}}};
  const std::vector<std::string> row = page_of(envelope("read", read)).sections.front().table.rows.front();
  CHECK(row == std::vector<std::string>{"one read", "12.6 us", "12.6 ms"});  // without the columns that nothing has
}

TEST_CASE("long names may be broken after their signs, and letters of several bytes stay whole") {
  Json result = run_result();
  result["environment"]["findings"] = {{{"severity", "hint"}, {"text", "/srv/größe/äöüäöüäöü_äöüäöü/x"}}};
  CHECK(has(html(page_of(envelope("run", result))), "/srv/größe/<wbr>äöüäöüäöü_<wbr>äöüäöü/<wbr>x"));
}

TEST_CASE("a failed run begins with its error") {
  Json failed = envelope("run", nullptr);
  failed["error"] = {{"text", "cannot read 'shards'"}};
  failed["status"] = "failed";
  const Page page = page_of(failed);
  CHECK(page.headline == "cannot read 'shards'");
  CHECK(page.tone == Tone::bad);
}

TEST_CASE("every plot has its table") {
  const std::string text = html(page_of(envelope("run", run_result())));
  CHECK(has(text, "<svg role=\"img\""));
  CHECK(has(text, "<details><summary>Table: Needed and measured</summary>"));
  CHECK(has(text, "0.45 x"));
}

TEST_CASE("a page loads nothing and runs nothing") {
  const std::string text = html(page_of(envelope("run", run_result())));
  CHECK(has(text, "default-src 'none'"));
  for (const char* loader : {"src=", "http://", "https://", "url(", "@import", "<script>", "onload", "style=\""})
    CHECK_FALSE(has(text, loader));
}

TEST_CASE("names with HTML and quotes stay texts, and the attached JSON cannot end its attribute") {
  Json hostile = envelope("run", run_result());
  hostile["host"]["node"] = "<img onerror=\"x\">";
  hostile["result"]["verdict"]["text"] = "</script><!-- '\"& ";
  const std::string text = html(page_of(hostile));
  CHECK_FALSE(has(text, "<img"));
  CHECK_FALSE(has(text, "<!--"));
  CHECK_FALSE(has(text, "</script>"));
  CHECK(Json::parse(attached_json(text)) == hostile);
}

TEST_CASE("any JSON is an envelope, however wrong its types are") {
  const std::vector<Json> wrong{nullptr,
                                7,
                                "text",
                                Json::array({1, 2}),
                                {{"result", {{"stages", {1, "two", nullptr}}}}},
                                {{"schema", 5}, {"result", {{"pipeline", {{"stages", "none"}}}, {"seconds", {{}}}}}},
                                {{"schema", "shardkit/run"}, {"result", {{"repeated", {{{"median", "x"}}}}}}}};
  for (const Json& one : wrong) {
    CAPTURE(one.dump());
    CHECK_NOTHROW(html(page_of(one)));
    CHECK_NOTHROW(markdown(page_of(one)));
  }
}

TEST_CASE("10,000 points of each curve stay below 2 MB") {
  Json result = run_result();
  Json& seconds = result["seconds"] = Json::array();
  for (const char* stage : {"read", "decode", "pipeline"}) {
    for (int i = 0; i < 10'000; ++i) {
      seconds.push_back({{"unix_time_seconds", 1764143509 + i},
                         {"stage", stage},
                         {"bytes", 1000 + i % 97},
                         {"samples", i % 89},
                         {"measured_seconds", 1.0}});
    }
  }
  const std::string text = html(page_of(envelope("run", result)));
  CHECK(has(text, "Bytes per second over time"));
  CHECK(has(text, "of JSON are too large for a page: keep the file."));
  CHECK(text.size() < 2'000'000);
}

TEST_CASE("Markdown has the same sections without plots") {
  const std::string text = markdown(page_of(envelope("run", run_result())));
  CHECK(text.starts_with("### iobench run: 800 samples/s; decode is the bottleneck\n"));
  CHECK(has(text, "#### Needed and measured"));
  CHECK(has(text, "| decode | 1,786/s | 800/s |"));
  CHECK_FALSE(has(text, "<svg"));
}

TEST_CASE("a comparison shows each metric and its verdict") {
  const Json result{{"verdict", "regressed"},
                    {"text", "regressed: read.bytes_per_second typically -9.8 %"},
                    {"rows",
                     {{{"metric", "read.bytes_per_second"},
                       {"change_ratio", -0.098},
                       {"verdict", "regressed"},
                       {"interval", {{"low_ratio", -0.12}, {"high_ratio", -0.07}}}}}}};
  const Page page = page_of(envelope("compare", result));
  CHECK(headings(page) == std::vector<std::string>{"Changes by metric"});
  CHECK(has(html(page), "regressed, -9.8 %"));
}

TEST_CASE("results of shardctl have sizes, balance and problems by shard") {
  const Json stat{{"shards", 1},
                  {"samples", 600},
                  {"classes", {{{"label", 0}, {"name", "cat"}, {"samples", 60}}}},
                  {"sample_size_bytes",
                   {{"min", 1511},
                    {"median", 107264},
                    {"max", 768003},
                    {"histogram", {{{"from", 1024}, {"to", 2047}, {"values", 2}}}}}}};
  CHECK(headings(page_of(envelope("stat", stat))) ==
        std::vector<std::string>{"The set", "Sizes of samples", "Balance of classes"});
  const Json verify{
      {"verdict", "1 error in 1 shard"},
      {"shards", 1},
      {"problems", {{{"severity", "error"}, {"code", "duplicate_key"}, {"shard", "a.tar"}, {"text", "t"}}}}};
  CHECK(headings(page_of(envelope("verify", verify))) == std::vector<std::string>{"Problems by shard", "The set"});
}

}  // namespace
}  // namespace shardkit::report
