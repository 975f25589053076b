#include "catalog/set_state.hpp"

#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "catalog/set_rules.hpp"
#include "core/error.hpp"
#include "formats/shard_index.hpp"
#include "formats/stage_records.hpp"

using namespace shardkit;
using namespace shardkit::catalog;

namespace {

class Text final : public ByteSink {
 public:
  void write(Bytes bytes) override { text += as_text(bytes); }
  std::string text;
};

constexpr std::uint64_t kShardBytes = 10240;

/// Files in memory, by name. A tar is as many bytes as its text says.
using TextFiles = std::map<std::string, std::string>;

struct Plan {
  std::string text;
  std::string hash;
};

Plan plan_of(std::uint64_t shards, std::optional<formats::PlanStart> start = {}) {
  Text text;
  formats::PlanHead head;
  head.name = "shard";
  head.classes = {{"cat", 0, shards}};
  head.start = start;
  formats::PlanWriter writer(text, head);
  for (std::uint64_t i = 0; i < shards; ++i) {
    writer.begin_shard();
    formats::PlannedSample sample;
    sample.stem = std::to_string(i);
    sample.image.extension = "jpg";
    sample.image.size = 100 + i;
    writer.add(sample);
  }
  const Hash128 hash = writer.finish();
  return {text.text, to_hex(hash)};
}

std::string manifest_of(std::uint64_t shards, const std::string& plan) {
  formats::Manifest manifest;
  for (std::uint64_t i = 0; i < shards; ++i) {
    manifest.shards.push_back({formats::shard_name("shard", i), 1, kShardBytes, {i + 1, 0}});
    ++manifest.samples;
    manifest.bytes += kShardBytes;
  }
  manifest.plan_hash = plan;
  return formats::write_manifest(manifest);
}

std::string index_of(const std::string& shard, bool has_samples) {
  Text text;
  formats::ShardIndexWriter writer(text, shard, "");
  if (has_samples) writer.add(formats::IndexSample{"0/1", 0, "0/1.jpg", {{"jpg", 512, 100, 1}}});
  writer.finish(has_samples ? kShardBytes : 0, {}, {});
  return text.text;
}

std::string marker_of(std::vector<std::string> subsets = {}) {
  formats::StagedMarker marker{"/source", formats::Verified::checksum, "2026-01-01T00:00:00Z"};
  marker.subsets = std::move(subsets);
  return formats::write_staged_marker(marker);
}

std::string journal_of(const TextFiles& files) {
  formats::StageJournalState journal;
  journal.set = formats::StagedSetId{{}, 0, "/source"};
  for (const auto& [name, text] : files)
    journal.files[name] = {name.ends_with(".tar") ? kShardBytes : text.size(), "pin", xxh3_128(as_bytes(text))};
  return journal.text();
}

TextFiles with_shards(std::uint64_t shards, TextFiles files = {}) {
  for (std::uint64_t i = 0; i < shards; ++i) files[formats::shard_name("shard", i)] = "tar";
  return files;
}

enum class Medium { folder, web };

SeenSet see(const TextFiles& files, Medium medium = Medium::folder,
            const std::map<std::string, std::uint64_t>& sizes = {}) {
  Listing listing{"SET", {}, medium == Medium::folder};
  for (const auto& [name, text] : files) {
    const auto size = sizes.find(name);
    listing.files.push_back({name, size != sizes.end()      ? size->second
                                   : name.ends_with(".tar") ? kShardBytes
                                                            : text.size()});
  }
  if (medium == Medium::web) {  // as a verb that looks up every listed shard
    for (const char* name : {"manifest.json", ".shardkit/plan", ".shardkit/stage.journal", ".shardkit/staged.json",
                             ".shardkit/uploads/upload.json"}) {
      if (!files.contains(name)) listing.absent.insert(name);
    }
    for (std::uint64_t i = 0; i < 8; ++i) {
      const std::string shard = formats::shard_name("shard", i);
      if (!files.contains(shard)) listing.absent.insert(shard);
    }
  }
  return look(listing,
              [&](const std::string& name) { return std::make_unique<MemorySource>(as_bytes(files.at(name))); });
}

const Plan kPlan = plan_of(3);
const TextFiles kWhole =
    with_shards(3, {{"manifest.json", manifest_of(3, kPlan.hash)}, {".shardkit/plan", kPlan.text}});

TextFiles without(TextFiles files, const std::string& name) {
  files.erase(name);
  return files;
}

TextFiles with(TextFiles files, const std::string& name, const std::string& text) {
  files[name] = text;
  return files;
}

Reaction reaction(SetVerb verb, const SeenSet& seen) { return rulings(verb, seen).front().reaction; }

}  // namespace

TEST_CASE("a folder without tars and records is empty, or has files") {
  CHECK(see({}).as<Empty>());
  CHECK(see({{"cat/1.jpg", "x"}, {"README", "x"}}).as<catalog::Files>());
  CHECK(see({{".shardkit/stage.lock", ""}}).as<Empty>());
  CHECK(see({{"manifest.json", "{}"}}).as<catalog::Files>());
  CHECK(see({{"manifest.json", "{}"}}).other_manifest);
}

TEST_CASE("a set is complete on every medium that shows its manifest and its shards") {
  for (const Medium medium : {Medium::folder, Medium::web}) {
    const SeenSet seen = see(kWhole, medium);
    CHECK(seen.as<Complete>());
    CHECK(seen.shards().size() == 3);
    CHECK(seen.extra.empty());
    CHECK(reaction(SetVerb::read, seen) == Reaction::ok);
  }
}

TEST_CASE("missing and cut shards are named, on every medium") {
  for (const Medium medium : {Medium::folder, Medium::web}) {
    const SeenSet lost = see(without(kWhole, "shard-000001.tar"), medium);
    REQUIRE(lost.as<Incomplete>());
    CHECK(lost.as<Incomplete>()->missing == std::vector<std::string>{"shard-000001.tar"});
    CHECK(lost.as<Incomplete>()->left == 2);
    CHECK(lost.shards().size() == 2);
    CHECK(reaction(SetVerb::copy, lost) == Reaction::refuse);
    CHECK(reaction(SetVerb::list, lost) == Reaction::warn);
    CHECK(reaction(SetVerb::verify, lost) == Reaction::finding);
    const SeenSet cut = see(kWhole, medium, {{"shard-000002.tar", 512}});
    REQUIRE(cut.as<Incomplete>());
    CHECK(cut.as<Incomplete>()->resized == std::vector<std::string>{"shard-000002.tar"});
    const SeenSet gone = see({{"manifest.json", manifest_of(3, kPlan.hash)}}, medium);
    REQUIRE(gone.as<Incomplete>());
    CHECK(gone.as<Incomplete>()->left == 0);
    CHECK(reaction(SetVerb::list, gone) == Reaction::refuse);
  }
}

TEST_CASE("without a manifest, the plan says what is missing") {
  const TextFiles plan{{".shardkit/plan", kPlan.text}};
  for (const Medium medium : {Medium::folder, Medium::web}) {
    const SeenSet begun = see(with_shards(2, plan), medium);
    REQUIRE(begun.as<Writing>());
    CHECK(begun.as<Writing>()->missing == std::vector<std::string>{"shard-000002.tar"});
    CHECK(begun.as<Writing>()->planned == 3);
    CHECK(see(with_shards(3, plan), medium).as<Unmerged>());
  }
  CHECK(see({{".shardkit/0123456789abcdef.run", ""}}).as<Writing>());
}

TEST_CASE("an index stands for its shard only if it has no samples") {
  const TextFiles two = with_shards(2, {{".shardkit/plan", kPlan.text}});
  CHECK(see(with(two, ".shardkit/shard-000002.tar.index", index_of("shard-000002.tar", false))).as<Unmerged>());
  CHECK(see(with(two, ".shardkit/shard-000002.tar.index", index_of("shard-000002.tar", true))).as<Writing>());
  CHECK(see(with(two, ".shardkit/shard-000002.tar.index", "damaged")).as<Writing>());
}

TEST_CASE("the parts that are missing are known if one has ended") {
  const SeenSet seen =
      see(with_shards(1, {{".shardkit/plan", kPlan.text}, {".shardkit/part-00000-of-00003.json", ""}}));
  REQUIRE(seen.as<Writing>());
  CHECK(seen.as<Writing>()->missing_parts == std::vector<std::uint64_t>{1, 2});
  CHECK(state_text(seen) == "parts 1-2 of 'SET' are missing");
}

TEST_CASE("a manifest that is damaged, or of another plan, is not believed") {
  for (const Medium medium : {Medium::folder, Medium::web}) {
    for (const std::string& text : {kWhole.at("manifest.json").substr(0, 100), manifest_of(2, plan_of(2).hash)}) {
      const SeenSet seen = see(with(kWhole, "manifest.json", text), medium);
      CHECK(seen.as<Damaged>());
      CHECK(reaction(SetVerb::copy, seen) == Reaction::refuse);
      CHECK(reaction(SetVerb::merge, seen) == Reaction::ok);
    }
  }
  const SeenSet alone =
      see(with(without(kWhole, ".shardkit/plan"), "manifest.json", "{\"format\": \"shardkit-manifest\""));
  CHECK(alone.as<Damaged>());
  CHECK(reaction(SetVerb::merge, alone) == Reaction::refuse);
}

TEST_CASE("records of a newer version are not read") {
  std::string manifest = kWhole.at("manifest.json");
  manifest.replace(manifest.find("\"version\": 1"), 12, "\"version\": 2");
  CHECK(see(with(kWhole, "manifest.json", manifest)).as<Newer>());
  std::string plan = kPlan.text;
  plan.replace(plan.find("\t1"), 2, "\t2");
  CHECK(see(with(kWhole, ".shardkit/plan", plan)).as<Newer>());
}

TEST_CASE("a damaged plan is a flag of a set with a manifest") {
  const SeenSet seen = see(with(kWhole, ".shardkit/plan", kPlan.text.substr(0, 40)));
  CHECK(seen.as<Complete>());
  CHECK(seen.plan == PlanState::damaged);
  CHECK(rulings(SetVerb::verify, seen).back().reaction == Reaction::finding);
}

TEST_CASE("a stage is unfinished from its first file to its marker, also where it was copied to") {
  const TextFiles brought = with_shards(3, {{"manifest.json", manifest_of(3, kPlan.hash)}});
  for (const Medium medium : {Medium::folder, Medium::web}) {
    const TextFiles half = with(with_shards(2), ".shardkit/stage.journal", journal_of(with_shards(2)));
    CHECK(see(half, medium).as<Staging>());
    const TextFiles whole =
        with(with(brought, ".shardkit/stage.journal", journal_of(brought)), ".shardkit/staged.json", marker_of());
    REQUIRE(see(whole, medium).as<Complete>());
    CHECK(see(whole, medium).as<Complete>()->is_staged);
    REQUIRE(see(without(whole, "shard-000000.tar"), medium).as<Incomplete>());
    CHECK(see(without(whole, "shard-000000.tar"), medium).as<Incomplete>()->is_staged);
  }
  CHECK(see(with(kWhole, ".shardkit/stage.journal", journal_of({}))).as<Complete>());  // it names no file
}

TEST_CASE("a staged part is whole if every file of its journal is there") {
  const TextFiles part = with_shards(1, {{"manifest.json", manifest_of(3, kPlan.hash)}});
  const TextFiles staged = with(with(part, ".shardkit/stage.journal", journal_of(part)), ".shardkit/staged.json",
                                marker_of({"ranks 0-0 of 3"}));
  for (const Medium medium : {Medium::folder, Medium::web}) {
    const SeenSet seen = see(staged, medium);
    REQUIRE(seen.as<Partial>());
    CHECK(state_text(seen) == "'SET' has the part ranks 0-0 of 3 of a set");
    CHECK(see(without(staged, "shard-000000.tar"), medium).as<Incomplete>());
  }
}

TEST_CASE("an upload is unfinished until its manifest") {
  for (const Medium medium : {Medium::folder, Medium::web}) {
    CHECK(see(with_shards(3, {{".shardkit/uploads/upload.json", "{}"}}), medium).as<Uploading>());
    CHECK(see(with(kWhole, ".shardkit/uploads/upload.json", "{}"), medium).as<Complete>());
  }
}

TEST_CASE("an append is read as the old set until it has ended") {
  const Plan second = plan_of(1, formats::PlanStart{3, {}, 0});
  formats::Manifest added;
  added.shards = {{"shard-000003.tar", 1, kShardBytes, {}}};
  added.samples = 1;
  added.bytes = kShardBytes;
  added.plan_hash = second.hash;
  const TextFiles begun = with(kWhole, ".shardkit/append-1/.shardkit/plan", second.text);
  CHECK(see(begun).as<Appending>());
  const TextFiles complete = with(with(begun, ".shardkit/append-1/manifest.json", formats::write_manifest(added)),
                                  ".shardkit/append-1/shard-000003.tar", "tar");
  CHECK(see(complete).as<Appended>());
  const SeenSet moved = see(with(without(complete, ".shardkit/append-1/shard-000003.tar"), "shard-000003.tar", "tar"));
  REQUIRE(moved.as<Appended>());
  CHECK(moved.extra.empty());
  CHECK(moved.shards().size() == 3);
}

TEST_CASE("shards that a later upload or stage has brought are no part of the set before its manifest, and not extra") {
  const auto check = [](const TextFiles& files, bool is_staged) {
    const SeenSet seen = see(with(files, "shard-000003.tar", "tar"));
    REQUIRE(seen.as<Growing>());
    CHECK(seen.as<Growing>()->shards == std::vector<std::string>{"shard-000003.tar"});
    CHECK(seen.as<Growing>()->is_staged == is_staged);
    CHECK(seen.extra.empty());
    CHECK(seen.shards().size() == 3);
  };
  const TextFiles set{{formats::kManifestName, manifest_of(3, "")}};
  check(with(with_shards(3, set), formats::kUploadRecord, "{}"), false);
  formats::StageJournalState journal;
  journal.set = formats::StagedSetId{{7, 7}, 0, "/source"};  // not that of the marker
  for (const auto& [name, text] : with_shards(4)) journal.files[name] = {kShardBytes, "pin", {}};
  TextFiles staged = with(with_shards(3, set), formats::kStagedMarkerPath, marker_of());
  check(with(staged, formats::kStageJournalPath, journal.text()), true);
}

TEST_CASE("tars that nothing lists are extra, and no shards of the set") {
  const SeenSet seen = see(with(kWhole, "zz.tar", "tar"));
  CHECK(seen.as<Complete>());
  CHECK(seen.extra == std::vector<std::string>{"zz.tar"});
  CHECK(seen.shards().size() == 3);
  CHECK(see(with_shards(2)).as<Foreign>());
  CHECK(see(with_shards(2)).extra.empty());
}

TEST_CASE("folders with states of their own are a group") {
  TextFiles files;
  for (const auto& [name, text] : kWhole) files["train/" + name] = text;
  files["val/.shardkit/plan"] = kPlan.text;
  files["docs/a.txt"] = "x";
  const SeenSet seen = see(files);
  REQUIRE(seen.as<Group>());
  REQUIRE(seen.members.size() == 2);
  CHECK(seen.members[0].seen.as<Complete>());
  CHECK(seen.members[1].seen.as<Writing>());
  Context context;
  CHECK_THROWS_AS(enforce(SetVerb::copy, seen, context), Error);  // val has not finished
  CHECK_THROWS_AS(enforce(SetVerb::read, seen, context), Error);
}

TEST_CASE("a plain ImageFolder whose classes hold files is no group") {
  CHECK(see({{"cat/1.jpg", "x"}, {"dog/manifest.json", "{}"}}).as<catalog::Files>());
}
