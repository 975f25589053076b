#include "catalog/set_listing.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "formats/manifest.hpp"
#include "formats/stage_records.hpp"
#include "net/store_server.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit_test;

namespace {

std::string manifest_of(const std::vector<std::string>& shards) {
  formats::Manifest manifest;
  for (const std::string& shard : shards) {
    manifest.shards.push_back({shard, 1, 3, {}});
    manifest.samples += 1;
    manifest.bytes += 3;
  }
  return formats::write_manifest(manifest);
}

/// Below "bucket/set/".
StoreServer::Files files_of_set() {
  StoreServer::Files files{{"bucket/set/manifest.json", manifest_of({"a.tar", "b.tar", "c.tar"})}};
  for (const char* shard : {"a.tar", "b.tar", "c.tar"}) {
    files["bucket/set/" + std::string(shard)] = "tar";
    files["bucket/set/.shardkit/" + std::string(shard) + ".index"] = "index";
  }
  return files;
}

std::size_t count(const StoreServer& server, const std::string& method, const std::string& text) {
  const auto all = server.requests();
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const ServedRequest& request) {
    return request.method == method && request.target.find(text) != std::string::npos;
  }));
}

SeenSet look_at_operand(Inputs& inputs, const std::string& operand, LookFor wanted) {
  return look_at(inputs, resolve_operands({operand}, inputs).front(), wanted);
}

}  // namespace

TEST_CASE("a look below a prefix is one listing and one request for the manifest") {
  const StoreServer server(files_of_set());
  Inputs inputs(server.options());
  const SeenSet seen = look_at_operand(inputs, "s3://bucket/set/", {});
  CHECK(seen.as<Complete>());
  CHECK(seen.folder == "s3://bucket/set");
  CHECK(count(server, "GET", "list-type=2") == 1);
  CHECK(count(server, "GET", "/manifest.json") == 1);
  CHECK(count(server, "GET", ".index") == 0);
  CHECK(count(server, "GET", ".tar") == 0);
  CHECK(count(server, "HEAD", ".tar") == 0);
}

TEST_CASE("a look at a web server asks for the records, and for each listed shard only if that is wanted") {
  const StoreServer server(files_of_set());
  for (const bool shards : {false, true}) {
    Inputs inputs(server.options());
    const std::size_t before = server.requests().size();
    const SeenSet seen = look_at_operand(inputs, server.url("/bucket/set/"), {.shards = shards});
    CHECK(seen.as<Complete>());
    CHECK(seen.shards().size() == 3);
    // Five records are looked up, the manifest is read, and then each shard is looked up.
    CHECK(server.requests().size() - before == (shards ? 9 : 6));
  }
}

TEST_CASE("the same files have the same state in a folder, in a bucket and on a web server") {
  for (const char* lost : {"", "a.tar", "manifest.json"}) {
    StoreServer::Files files = files_of_set();
    files.erase(std::string("bucket/set/") + lost);
    const TempDir dir;
    for (const auto& [name, text] : files) write_file(dir.path(name), text);
    const StoreServer server(files);
    const std::string web = server.url("/bucket/set/");
    std::vector<std::size_t> states;
    for (const std::string& operand : {dir.path("bucket/set"), std::string("s3://bucket/set/"), web}) {
      if (operand == web && lost == std::string("manifest.json")) continue;  // nothing there shows a set
      Inputs inputs(server.options());
      states.push_back(look_at_operand(inputs, operand, {.shards = true}).state.index());
    }
    CHECK(std::ranges::count(states, states.front()) == static_cast<std::ptrdiff_t>(states.size()));
  }
}

TEST_CASE("a folder has one name, also if it was given with a slash at its end") {
  const TempDir dir;
  write_file(dir.path("set/a.tar"), "tar");
  Inputs inputs;
  CHECK(look_at_operand(inputs, dir.path("set") + "/", {}).folder == dir.path("set"));
}

TEST_CASE("a folder below one that a stage has not finished is of that stage") {
  const TempDir dir;
  write_file(dir.path("out/train/a.tar"), "tar");
  formats::StageJournalState journal;
  journal.set = formats::StagedSetId{{}, 3, "/source"};
  journal.files["train/a.tar"] = {3, "pin", {}};
  write_file(dir.path("out/.shardkit/stage.journal"), journal.text());
  Inputs inputs;
  CHECK(look_at_operand(inputs, dir.path("out/train"), {}).as<Staging>());
  CHECK(look_at_operand(inputs, dir.path("out"), {.groups = true}).as<Staging>());
}

TEST_CASE("a link that leads nowhere is a shard of another size; a folder named like a tar is none") {
  const TempDir dir;
  write_file(dir.path("manifest.json"), manifest_of({"a.tar"}));
  std::filesystem::create_symlink("nowhere", dir.path("a.tar"));
  std::filesystem::create_directory(dir.path("b.tar"));
  Inputs inputs;
  const SeenSet seen = look_at_operand(inputs, dir.path(""), {});
  REQUIRE(seen.as<Incomplete>());
  CHECK(seen.as<Incomplete>()->resized == std::vector<std::string>{"a.tar"});
  CHECK(seen.extra.empty());
}
