#include <doctest/doctest.h>
#include <fmt/format.h>

#include "bench/compare/compare.hpp"
#include "bench/compare/measurements.hpp"
#include "compare_support.hpp"
#include "support/json_schema.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
using shardkit_test::schema_faults;

namespace {

const std::string kGateSchema = read_file(CHECKOUT "/docs/schema/gate.json");
const std::string kBaselineSchema = read_file(CHECKOUT "/docs/schema/baseline.json");

std::string gate_of(const std::string& requirements) {
  return R"({"schema":"shardkit/gate","schema_version":1,"requirements":[)" + requirements + "]}";
}

bool can_be_read(const std::string& gate) {
  const TempDir dir;
  write_file(dir.path("gate.json"), gate);
  return !shardkit_test::failure_of([&] { read_gate(dir.path("gate.json")); }).failed;
}

}  // namespace

TEST_CASE("the gate of samples/ci fits its schema and can be read") {
  const std::string gate = read_file(CHECKOUT "/samples/ci/gate.json");
  CHECK(schema_faults(kGateSchema, gate).empty());
  CHECK(can_be_read(gate));
}

TEST_CASE("a gate fits its schema exactly when it can be read") {
  for (const ComparedField& metric : compare_metrics()) {
    CHECK(schema_faults(kGateSchema, gate_of(fmt::format(R"({{"metric":"{}","min":1}})", metric.name()))).empty());
  }
  for (const std::string_view state : kGateCacheStates) {
    const std::string gate =
        gate_of(fmt::format(R"({{"metric":"read.bytes_per_second","min":1,"cache":"{}"}})", state));
    CHECK(schema_faults(kGateSchema, gate).empty());
  }
  for (const char* requirement :
       {R"({"metric":"read.bytes_per_second","min":"1.5GB/s","max":2e9,"cache":"direct"})", R"({"min":1})",
        R"({"metric":"read.bytes_per_second"})", R"({"metric":"read.speed","min":1})",
        R"({"metric":"read.bytes_per_second","min":-1})",
        R"({"metric":"read.bytes_per_second","min":1,"cache":"cool"})",
        R"({"metric":"read.bytes_per_second","minimum":1,"min":1})", R"({"metric":"read.bytes_per_second","min":true})",
        "3", ""}) {
    CAPTURE(requirement);
    CHECK(schema_faults(kGateSchema, gate_of(requirement)).empty() == can_be_read(gate_of(requirement)));
  }
  CHECK_FALSE(schema_faults(kGateSchema, R"({"schema":"shardkit/gate","schema_version":2,"requirements":[]})").empty());
}

TEST_CASE("what is kept as a baseline fits its schema, and what is damaged does not") {
  const TempDir dir;
  const std::string file = dir.path("fleet.json");
  for (const char* name : {"h100", "b200"}) {
    CompareOptions options;
    options.changed = write_repetitions(dir, name, {});
    options.save_baseline = file;
    options.machine_class = name;
    Context context;
    compare(options, context);
  }
  CHECK(schema_faults(kBaselineSchema, read_file(file)).empty());
  for (const char* classes :
       {"[]", R"({"x":3})", R"({"x":{"read":{"values":{}}}})", R"({"x":{"read":{"conditions":{"a":1},"values":{}}}})",
        R"({"x":{"read":{"conditions":{},"values":{"a":["b"]}}}})"}) {
    CAPTURE(classes);
    CHECK_FALSE(
        schema_faults(kBaselineSchema,
                      fmt::format(R"({{"schema":"shardkit/baseline","schema_version":1,"classes":{}}})", classes))
            .empty());
  }
}
