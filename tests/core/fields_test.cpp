#include "core/fields.hpp"

#include <doctest/doctest.h>

using namespace shardkit;

namespace {

std::string name(std::string_view field, Unit unit, Unit group = Unit::none) {
  return json_name({field, unit, ""}, group);
}

}  // namespace

TEST_CASE("a JSON name says its unit") {
  CHECK(name("step-time", Unit::seconds) == "step_time_seconds");
  CHECK(name("size", Unit::bytes) == "size_bytes");
  CHECK(name("stall", Unit::ratio) == "stall_ratio");
  CHECK(name("files", Unit::per_second) == "files_per_second");
  CHECK(name("network", Unit::bytes_per_second) == "network_bytes_per_second");
  CHECK(name("samples", Unit::count) == "samples");
  CHECK(name("depth", Unit::none) == "depth");
}

TEST_CASE("a name that says its unit already stays as it is") {
  CHECK(name("bytes", Unit::bytes) == "bytes");
  CHECK(name("bytes_fetched", Unit::bytes) == "bytes_fetched");
  CHECK(name("bytes_per_second", Unit::bytes_per_second) == "bytes_per_second");
  CHECK(name("elapsed_seconds", Unit::seconds) == "elapsed_seconds");
  CHECK(name("files_per_second", Unit::per_second) == "files_per_second");
}

TEST_CASE("only whole words count as a unit") {
  CHECK(name("kilobytes", Unit::bytes) == "kilobytes_bytes");
  CHECK(name("aspect_ratios", Unit::ratio) == "aspect_ratios_ratio");
}

TEST_CASE("a group's unit is not said again by its members") {
  CHECK(name("p50", Unit::seconds, Unit::seconds) == "p50");
  CHECK(name("p50", Unit::none, Unit::seconds) == "p50");
  CHECK(name("size", Unit::bytes, Unit::seconds) == "size_bytes");
}

TEST_CASE("operands are lower-case in JSON") { CHECK(name("SRC", Unit::none) == "src"); }

TEST_CASE("of a result only the metrics can be described, with the groups that contain them") {
  struct Times {
    double p50 = 1;
    double p99 = 2;
    void describe(FieldList& v) {
      v.field({"p50", "half"}, p50);
      v.field({"p99", "nearly all", kJudged}, p99);
    }
  };
  struct Result {
    double rate = 3;
    double seconds = 4;
    std::string name = "x";
    Times latency;
    Times other;
    std::optional<Times> stage;
    std::optional<Times> absent;
    std::vector<Times> rows{Times{}};
    void describe(FieldList& v) {
      v.field({"rate", "r", metric(Better::higher)}, rate);
      v.field({"seconds", "s", kCondition}, seconds);
      v.field({"name", "n"}, name);
      v.field({"latency", "l", metric(Better::lower)}, latency);
      v.field({"other", "o"}, other);
      v.field({"stage", "s", kStage}, stage);
      v.field({"absent", "a"}, absent);
      v.field({"rows", "r"}, rows);
    }
  };
  Result result;
  FieldList fields(FieldList::Of::values);
  fields.field({"before", "stays"}, result.seconds);
  fields.metrics([&] { result.describe(fields); });
  const std::vector<FieldNode> tree = fields.take();
  REQUIRE(tree.size() == 4);
  CHECK(tree[0].name == "before");
  CHECK(tree[1].name == "rate");
  CHECK(tree[2].name == "latency");
  REQUIRE(tree[2].children.size() == 1);
  CHECK(tree[2].children[0].name == "p99");
  CHECK(tree[3].name == "stage");
  CHECK(tree[3].absent);
}
