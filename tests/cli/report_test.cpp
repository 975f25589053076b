#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "cli/fake_app.hpp"
#include "cli/field_text.hpp"
#include "cli/report_formats.hpp"
#include "cli/text_report.hpp"
#include "core/error.hpp"
#include "support/temp_dir.hpp"
#include "system/host.hpp"

using namespace shardkit_test;
using shardkit::FieldList;
using shardkit::Unit;

namespace {

FakeResult full(const FakeOptions& options, shardkit::Context&) {
  FakeResult result;
  result.samples = 1200;
  result.bytes = 3U << 20U;
  result.files_per_second = 3200;
  result.latency = {0.002, 1.5};
  for (std::uint64_t i = 0; i < options.samples; ++i) result.problems.push_back({"pax_header", i * 512});
  return result;
}

FakeResult fail_denied(const FakeOptions&, shardkit::Context&) {
  throw shardkit::Error(shardkit::ErrorCode::denied, "no");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a result is shown with human units, groups indented and lists as tables") {
  const Ran ran = run_fake(full, {"work", "x", "--samples", "2"});
  CHECK(ran.out == R"(samples:       1,200
bytes:         3.00 MiB
bytes fetched: 0 B
files:         3,200/s
latency:
  p50: 2 ms
  p99: 1.50 s
problems:
  code        offset
  pax_header       0
  pax_header     512
)");
  CHECK(ran.err.empty());
}

TEST_CASE("a column that no row has anything in is left out of a table") {
  const auto behavior = [](const FakeOptions&, shardkit::Context&) {
    FakeResult result;
    result.problems = {{"", 512}, {"", 1024}};
    return result;
  };
  CHECK(contains(run_fake(behavior, {"work", "x"}).out, "problems:\n  offset\n     512\n   1,024\n"));
}

TEST_CASE("each text of a list has a line of its own") {
  const auto behavior = [](const FakeOptions&, shardkit::Context&) {
    FakeResult result;
    result.checked = {"headers of 1 shard", "every byte"};
    return result;
  };
  CHECK(contains(run_fake(behavior, {"work", "x"}).out,
                 "checked:       headers of 1 shard\n"
                 "               every byte\n"));
}

TEST_CASE("a long list ends with how many more there are") {
  const Ran ran = run_fake(full, {"work", "x", "--samples", "1030"});
  CHECK(contains(ran.out, "... and 1,010 more; --json lists them\n"));
  CHECK(contains(ran.out, "  9,728\n"));
  CHECK_FALSE(contains(ran.out, "10,240\n"));
}

TEST_CASE("control characters of file names do not reach the terminal") {
  const Ran ran = run_fake(succeed, {"work", "a\nb\x1b[31m"});
  CHECK(contains(ran.out, "a\\x0ab\\x1b[31m\n"));
}

struct CodeOnly {
  std::string code = "first\nsecond\n";
  void describe(shardkit::FieldList& v) { v.field({"code", "of two lines", shardkit::kLines}, code); }
};

TEST_CASE("code is shown in its lines, as it can be pasted") {
  CodeOnly object;
  CHECK(shardkit::cli::text_report(shardkit::field_tree([&](auto& v) { object.describe(v); })) ==
        "code:\nfirst\nsecond\n");
}

/// Of a run of `work x`: the node and the operand.
std::string labels_of_node() { return "host=\"" + shardkit::system::node_name() + "\",src=\"x\""; }

TEST_CASE("metrics hold every number of the result and how the run ended") {
  const TempDir dir;
  const std::string path = dir.path("fake.prom");
  CHECK(run_fake(full, {"work", "x", "--samples", "0", "--prometheus", path}).exit_code == 0);
  const std::string text = text_of(path);
  const std::string labels = labels_of_node();
  CHECK(contains(text, "# HELP shardkit_work_bytes Bytes written.\n# TYPE shardkit_work_bytes gauge\n"));
  CHECK(contains(text, "\nshardkit_work_bytes{" + labels + "} 3145728\n"));
  CHECK(contains(text, "\nshardkit_work_latency_seconds_p99{" + labels + "} 1.5\n"));
  CHECK(contains(text, "\nshardkit_work_success{" + labels + "} 1\n"));
  CHECK_FALSE(contains(text, "problems"));
  CHECK_FALSE(contains(text, "headroom"));
}

TEST_CASE("metrics of a verb of two words are joined by underscores") {
  const TempDir dir;
  const std::string path = dir.path("fake.prom");
  CHECK(run_fake(full, {"cache", "ls", "x", "--samples", "0", "--prometheus", path}).exit_code == 0);
  CHECK(contains(text_of(path), "\nshardkit_cache_ls_bytes{" + labels_of_node() + "} 3145728\n"));
}

TEST_CASE("metrics of a list's items are series with the item's label") {
  struct Set {
    std::string path;
    std::uint64_t bytes = 0;
    void describe(FieldList& v) {
      v.field({"path", "where it lies", shardkit::kLabel}, path);
      v.field({"bytes", Unit::bytes, "its bytes"}, bytes);
    }
  };
  std::vector<Set> sets{{"/a \"b\"\\c", 1}, {"/d", 2}};
  shardkit::cli::Report report;
  report.verb = "work";
  report.result = shardkit::field_tree([&](FieldList& v) { v.field({"sets", "what there is"}, sets); });
  const std::string text = shardkit::cli::prometheus_text(report);
  const std::string host = "host=\"" + shardkit::system::node_name() + "\"";
  CHECK(contains(text,
                 "# HELP shardkit_work_sets_bytes Its bytes.\n# TYPE shardkit_work_sets_bytes gauge\n"
                 "shardkit_work_sets_bytes{" +
                     host +
                     ",path=\"/a \\\"b\\\"\\\\c\"} 1\n"
                     "shardkit_work_sets_bytes{" +
                     host + ",path=\"/d\"} 2\n"));
  report.labels = {{"mypath", "x"}};
  CHECK(contains(shardkit::cli::prometheus_text(report), ",mypath=\"x\",path=\"/d\"} 2\n"));
  report.labels = {{"path", "x"}};
  CHECK(contains(shardkit::cli::prometheus_text(report), ",path=\"x\",item_path=\"/d\"} 2\n"));
}

TEST_CASE("metrics have the labels of the run, and names that other types of metrics may not have") {
  struct Failures {
    std::uint64_t total = 3;
    double epoch_hours = 1;
    void describe(FieldList& v) {
      v.field({"total", Unit::count, "all of them"}, total);
      v.field({"epoch_hours", "time"}, epoch_hours);
    }
  };
  Failures failures;
  shardkit::cli::Report report;
  report.verb = "work";
  report.labels = {{"rack", "r7"}};
  report.result = shardkit::field_tree([&](FieldList& v) { v.field({"failures", "failures"}, failures); });
  const std::string text = shardkit::cli::prometheus_text(report);
  CHECK(contains(text, "\nshardkit_work_failures_all{host=\"" + shardkit::system::node_name() + "\",rack=\"r7\"} 3\n"));
  CHECK_FALSE(contains(text, "hours"));
}

TEST_CASE("metrics of a failed run say so and hold no result") {
  const TempDir dir;
  const std::string path = dir.path("fake.prom");
  CHECK(run_fake(fail_denied, {"work", "x", "--prometheus", path}).exit_code == 4);
  const std::string text = text_of(path);
  CHECK(contains(text, "\nshardkit_work_success{" + labels_of_node() + "} 0\n"));
  CHECK(contains(text, "\nshardkit_work_exit_code{" + labels_of_node() + "} 4\n"));
  CHECK_FALSE(contains(text, "shardkit_work_bytes"));
}

TEST_CASE("wrap breaks at blanks, keeps paragraphs and lets a long word stand out") {
  using Lines = std::vector<std::string>;
  CHECK(shardkit::cli::wrap("one two three", 7) == Lines{"one two", "three"});
  CHECK(shardkit::cli::wrap("one\ntwo\n\nthree", 20) == Lines{"one two", "", "three"});
  CHECK(shardkit::cli::wrap("a incomprehensible b", 5) == Lines{"a", "incomprehensible", "b"});
  CHECK(shardkit::cli::wrap("", 5) == Lines{""});
  using shardkit::cli::broken_at_blanks;
  CHECK(broken_at_blanks("one  two three", 8) == "one  two\nthree");  // blanks of a path stay
  CHECK(broken_at_blanks("\x1b[31mone\x1b[0m two", 7) == "\x1b[31mone\x1b[0m two");
  CHECK(broken_at_blanks("incomprehensible b", 5) == "incomprehensible\nb");
}

TEST_CASE("values read as their units ask for") {
  using shardkit::Unit;
  using shardkit::cli::format_value;
  CHECK(format_value(std::uint64_t{5000}, Unit::count) == "5,000");
  CHECK(format_value(0.9731, Unit::ratio) == "97.3 %");
  CHECK(format_value(0.9731, Unit::factor) == "0.973");
  CHECK(format_value(1200.0, Unit::factor) == "more than 1000");
  CHECK(format_value(3.3e9, Unit::bytes_per_second) == "3.30 GB/s");
  CHECK(format_value(12.34, Unit::per_second) == "12.3/s");
  CHECK(format_value(-1500.0, Unit::none) == "-1,500");
  CHECK(format_value(2.4e25, Unit::bytes) == "21,316,282,073 PiB");  // more than 64 bits hold
  CHECK(format_value(1e300, Unit::bytes) == "10,000,000,000,000,000,000 PiB");
  CHECK(format_value(std::numeric_limits<double>::quiet_NaN(), Unit::seconds) == "unknown");
}

TEST_CASE("a spread has two ends, or one if all are equal") {
  CHECK(shardkit::cli::spread_text(40, 1200, "sample") == "40 to 1,200 samples");
  CHECK(shardkit::cli::spread_text(1, 1, "sample") == "1 sample each");
}

TEST_CASE("a label leaves out the unit that the value shows") {
  const auto label = [](std::string_view name, shardkit::Unit unit) {
    shardkit::FieldNode node;
    node.field.name = name;
    node.unit = unit;
    node.kind = shardkit::FieldKind::number;
    return shardkit::cli::label(node);
  };
  CHECK(label("scan_seconds", shardkit::Unit::seconds) == "scan time");
  CHECK(label("cpu_seconds_per_sample", shardkit::Unit::seconds) == "cpu time per sample");
  CHECK(label("largest_shard_bytes", shardkit::Unit::bytes) == "largest shard");
  CHECK(label("bytes", shardkit::Unit::bytes) == "bytes");
  CHECK(label("bytes_fetched", shardkit::Unit::bytes) == "bytes fetched");
  CHECK(label("files_per_second", shardkit::Unit::per_second) == "files per second");
}

TEST_CASE("a terminal breaks long lines of tables at blanks, and never the code") {
  const shardkit::cli::Answer answer{.headline = "h", .body = "one two\nthree four\n", .code = "x = f(1, 2, 3)\n"};
  CHECK(shardkit::cli::answer_text(answer, 1, {.columns = 8}) == "h (1.00\ns)\none two\nthree\nfour\nx = f(1, 2, 3)\n");
  CHECK(shardkit::cli::answer_text(answer, 1, {}) == "h (1.00 s)\none two\nthree four\nx = f(1, 2, 3)\n");
}
