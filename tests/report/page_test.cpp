#include "report/page.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
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
  CHECK(has(html(page_of(envelope("run", result))), "<td>2 GiB are enough"));
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

TEST_CASE("names with HTML and quotes stay texts, and the attached JSON cannot end its element") {
  Json hostile = envelope("run", run_result());
  hostile["host"]["node"] = "<img onerror=\"x\">";
  hostile["result"]["verdict"]["text"] = "</script><!-- '\"& ";
  const std::string text = html(page_of(hostile));
  CHECK_FALSE(has(text, "<img"));
  CHECK_FALSE(has(text, "<!--"));
  const std::size_t start = text.find("id=\"result\">") + 12;
  const std::string attached = text.substr(start, text.find("</script>", start) - start);
  CHECK(Json::parse(attached) == hostile);
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
