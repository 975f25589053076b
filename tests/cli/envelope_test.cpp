#include <filesystem>
#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/documents/documents.hpp"
#include "cli/fake_app.hpp"
#include "cli/report_formats.hpp"
#include "core/error.hpp"
#include "support/json_schema.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit_test;
using Json = nlohmann::json;

namespace {

FakeResult rich_result(const FakeOptions& options, shardkit::Context& context) {
  context.warn("odd", "an odd thing");
  FakeResult result;
  result.samples = 3;
  result.bytes = 300;
  result.fetched = 100;
  result.files_per_second = std::numeric_limits<double>::quiet_NaN();
  result.headroom = std::numeric_limits<double>::infinity();
  result.latency = {0.001, 0.5};
  result.problems.push_back({"pax_header", 512});
  result.text = options.source;
  return result;
}

FakeResult fail_at(const FakeOptions&, shardkit::Context&) {
  throw shardkit::Error(shardkit::ErrorCode::corrupt, "bad \xff", "/x/\xfe.tar", 512);
}

/// The schemas of the fake program, by file name.
std::map<std::string, std::string> schemas() {
  const auto files = shardkit::cli::schemas({fake_app(succeed)});
  return {files.begin(), files.end()};
}

std::vector<std::string> faults_of(const std::string& document, const std::string& name = "fake-work.json") {
  return schema_faults(schemas().at(name), document, schemas());
}

/// Runs with --json - and checks standard output against the schema.
Json json_of(Behavior behavior, std::vector<std::string> args) {
  args.insert(args.begin(), "work");
  args.insert(args.end(), {"--json", "-"});
  const Ran ran = run_fake(behavior, args);
  for (const std::string& fault : faults_of(ran.out)) FAIL_CHECK(fault);
  const Json json = Json::parse(ran.out);
  CHECK(json["exit_code"] == ran.exit_code);
  return json;
}

}  // namespace

TEST_CASE("an option that is an address is shown without its login and its query") {
  CHECK(json_of(succeed, {"https://me:hush@host/x.tar?sig=hush"})["options"]["src"] == "https://host/x.tar?...");
}

TEST_CASE("no result, warning or error shows the login or the query of a URL") {
  const auto echo = [](const FakeOptions& options, shardkit::Context& context) {
    context.warn("odd", "read " + options.source);
    FakeResult result;
    result.text = result.checked.emplace_back("fake work " + options.source + " OUT");
    return result;
  };
  const auto fail = [](const FakeOptions& options, shardkit::Context&) -> FakeResult {
    throw shardkit::Error(shardkit::ErrorCode::corrupt, "'" + options.source + "' is bad", options.source);
  };
  const std::string url = "http://me:hush@host/x.tar?sig=hush";
  for (const Behavior behavior : {Behavior(echo), Behavior(fail)}) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--json", "-"}, {"--log", "json"}, {"more", "too many " + url}}) {
      std::vector<std::string> args{"work", url};
      args.insert(args.end(), more.begin(), more.end());
      const Ran ran = run_fake(behavior, args);
      CHECK((ran.out + ran.err).find("hush") == std::string::npos);
    }
  }
  CHECK(json_of(echo, {url})["result"]["text"] == "fake work http://host/x.tar?... OUT");
  CHECK(json_of(fail, {url})["error"]["path"] == "http://host/x.tar?...");
}

TEST_CASE("the envelope holds options, result and warnings under names that carry units") {
  const Json json = json_of(rich_result, {"photos", "--size", "1MiB"});
  CHECK(json["schema"] == "shardkit/work");
  CHECK(json["schema_version"] == 1);
  CHECK(json["tool"]["name"] == "fake");
  CHECK(json["status"] == "findings");
  CHECK(json["options"]["src"] == "photos");
  CHECK(json["options"]["size_bytes"] == 1048576);
  CHECK(json["options"]["timeout_seconds"] == 90);
  CHECK(json["options"]["headroom_ratio"].is_null());
  CHECK(json["options"]["depth"] == "structure");
  CHECK(json["result"]["bytes"] == 300);
  CHECK(json["result"]["bytes_fetched"] == 100);
  CHECK(json["result"]["latency_seconds"]["p99"] == 0.5);
  CHECK(json["result"]["problems"][0]["code"] == "pax_header");
  CHECK(json["warnings"][0]["code"] == "odd");
  CHECK(json["error"].is_null());
}

TEST_CASE("a verb of two words has a hyphen in its schema's name") {
  const Ran ran = run_fake(succeed, {"cache", "ls", "photos", "--json", "-"});
  CHECK(Json::parse(ran.out)["schema"] == "shardkit/cache-ls");
  CHECK(faults_of(ran.out, "fake-cache-ls.json").empty());
}

TEST_CASE("what is absent, NaN or infinite is null") {
  const Json result = json_of(rich_result, {"photos"})["result"];
  CHECK(result["files_per_second"].is_null());
  CHECK(result["headroom_ratio"].is_null());
  CHECK(result["cold_seconds"].is_null());
}

TEST_CASE("a failure has an error with path and offset, and no result") {
  const Json json = json_of(fail_at, {"photos"});
  CHECK(json["status"] == "failed");
  CHECK(json["result"].is_null());
  CHECK(json["error"]["code"] == "corrupt");
  CHECK(json["error"]["offset"] == 512);
  CHECK(json["error"]["text"] == "bad \xef\xbf\xbd");  // U+FFFD in place of a byte that is not UTF-8
}

TEST_CASE("a path that is not UTF-8 still gives valid JSON") {
  CHECK(json_of(rich_result, {"\xff\xfe"})["result"]["text"] == "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("wrong usage is in the envelope too") {
  const Ran ran = run_fake(succeed, {"work", "x", "--json", "-", "--samples", "many"});
  CHECK(ran.exit_code == 2);
  CHECK(faults_of(ran.out).empty());
  CHECK(Json::parse(ran.out)["error"]["code"] == "usage");
}

TEST_CASE("with --json FILE the report stays on standard output and the file is whole") {
  const TempDir dir;
  const std::string path = dir.path("result.json");
  const Ran ran = run_fake(succeed, {"work", "x", "--json", path});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("samples:") != std::string::npos);
  std::ifstream file(path);
  CHECK(Json::parse(file)["result"]["samples"] == 5000);
}

TEST_CASE("a --json file in a folder that is not there fails before the work, and names the folder") {
  const TempDir dir;
  const Ran ran = run_fake(succeed, {"work", "x", "--json", dir.path("absent/result.json")});
  CHECK(ran.exit_code == 4);
  CHECK(ran.out.empty());
  CHECK(ran.err.find(dir.path("absent")) != std::string::npos);
}

TEST_CASE("a --json file that cannot be written makes a success a failure") {
  const TempDir dir;
  std::filesystem::create_directories(dir.path("taken/inside"));
  const Ran ran = run_fake(succeed, {"work", "x", "--json", dir.path("taken")});
  CHECK(ran.exit_code != 0);
  CHECK(ran.err.find("taken") != std::string::npos);
}

TEST_CASE("each group of fields is a definition, in the file of its verb or in the one of all") {
  const Json own = Json::parse(schemas().at("fake-work.json"));
  const Json shared = Json::parse(schemas().at("shardkit-objects.json"))["$defs"];
  CHECK(own["$ref"] == "shardkit-objects.json#/$defs/envelope");
  CHECK(shared["envelope"]["properties"].contains("host"));
  CHECK(own["properties"]["result"]["properties"]["problems"]["items"]["$ref"] ==
        "shardkit-objects.json#/$defs/problems");
  CHECK(shared["problems"]["properties"].contains("code"));
  shardkit::cli::App alone = fake_app(succeed);
  alone.commands.erase(alone.commands.begin() + 1, alone.commands.end());
  const Json only = Json::parse(shardkit::cli::schemas({alone}).front().second);
  CHECK(only["properties"]["result"]["properties"]["latency_seconds"]["$ref"] == "#/$defs/latency_seconds");
  CHECK(only["$defs"]["problems"]["properties"].contains("code"));
}

TEST_CASE("the schema check itself finds faults") {
  CHECK(schema_faults(R"({"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}})", "4").size() == 1);
  CHECK(schema_faults(R"({"$ref":"b#/a"})", "4", {{"b", R"({"a":{"type":"string"}})"}}).size() == 1);
  CHECK(schema_faults(R"({"type":"object","required":["a"]})", R"({"b":1})").size() == 1);
  CHECK(schema_faults(R"({"properties":{"a":{"type":"integer","minimum":0}}})", R"({"a":-1})").size() == 1);
  CHECK(schema_faults(R"({"items":{"enum":["x"]}})", R"(["x","y"])").size() == 1);
  CHECK(schema_faults(R"({"anyOf":[{"type":"null"},{"const":3}]})", "4").size() == 1);
  CHECK(schema_faults(R"({"pattern":"x"})", "4").size() == 1);
}
