#include "bench/compare/file_schemas.hpp"

#include <nlohmann/json.hpp>

#include "bench/compare/compare_metrics.hpp"
#include "bench/compare/gate.hpp"
#include "stats/rank_test.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::ordered_json;

/// A file that says what it is, with one member that holds all.
Json file(const char* title, const char* schema, const char* member, const Json& content) {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", title},
          {"type", "object"},
          {"properties", {{"schema", {{"const", schema}}}, {"schema_version", {{"const", 1}}}, {member, content}}},
          {"required", {"schema", "schema_version", member}}};
}

/// An object whose members have names of their own, each of one kind.
Json map_of(const Json& value, const char* names) {
  return {{"type", "object"}, {"additionalProperties", value}, {"description", names}};
}

Json limit(const char* what) {
  return {{"type", {"number", "string"}},
          {"minimum", 0},
          {"description", std::string(what) + " in the metric's unit, or a size or rate as text: \"1.5GB/s\""}};
}

Json metric_names() {
  Json names = Json::array();
  for (const CompareMetric& metric : compare_metrics()) names.push_back(metric.name());
  return names;
}

Json requirement() {
  return {{"type", "object"},
          {"properties",
           {{"metric", {{"enum", metric_names()}, {"description", "what is required"}}},
            {"min", limit("least value")},
            {"max", limit("largest value")},
            {"cache", {{"enum", kGateCacheStates}, {"description", "state of the page cache; none: any"}}}}},
          {"additionalProperties", false},
          {"required", Json::array({"metric"})},
          {"anyOf", {{{"required", Json::array({"min"})}}, {{"required", Json::array({"max"})}}}}};
}

std::string text_of(const Json& schema) { return schema.dump(1) + "\n"; }

}  // namespace

std::string gate_schema() {
  return text_of(file("what a fleet asks of its nodes: iobench compare --gate FILE", "shardkit/gate", "requirements",
                      {{"type", "array"}, {"minItems", 1}, {"items", requirement()}}));
}

std::string baseline_schema() {
  const Json values = {{"type", "array"}, {"maxItems", kMostRankedValues}, {"items", {{"type", "number"}}}};
  const Json measured = {{"type", "object"},
                         {"properties",
                          {{"conditions", map_of({{"type", "string"}}, "how it was measured, by key")},
                           {"values", map_of(values, "by metric, one for each repetition")}}},
                         {"required", {"conditions", "values"}}};
  return text_of(file("what machines of each class gave: iobench compare --save-baseline FILE", "shardkit/baseline",
                      "classes", map_of(map_of(measured, "by verb"), "by machine class")));
}

}  // namespace shardkit
