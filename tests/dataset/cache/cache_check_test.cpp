#include "dataset/cache/cache_check.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/cache/cache_support.hpp"
#include "io/file_system.hpp"
#include "staging/stage_target.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::io;
using namespace std::chrono_literals;

namespace {

CacheCheckOptions options_of(const SampleCache& cache) {
  CacheCheckOptions options;
  options.folder = cache.dir.path();
  options.threads = 2;
  return options;
}

CacheCheckResult check_of(const CacheCheckOptions& options) {
  Context context;
  return cache_check(options, context);
}

/// "code place" of each problem.
std::vector<std::string> found(const CacheCheckResult& result) {
  std::vector<std::string> texts;
  for (const Problem& problem : result.problems) texts.push_back(problem.code + " " + problem.where.path);
  return texts;
}

using Texts = std::vector<std::string>;

void damage(const SampleCache& cache) { write_file(cache.dir.path("sub/new/2.tar"), std::string(2000, 'x')); }

}  // namespace

TEST_CASE("what is as it was staged has no problems") {
  const SampleCache cache;
  const CacheCheckResult result = check_of(options_of(cache));
  CHECK(result.problems.empty());
  CHECK_FALSE(result.has_findings());
  CHECK(result.folders == 2);
  CHECK(result.files == 3);
  CHECK(result.bytes == 4000);
}

TEST_CASE("a set of several sources has no single command that stages it again") {
  const TempDir dir;
  const StagedSample set{dir.path("set"), {{"1.tar", "1"}, {"2.tar", "2"}}, true, "s3://bucket/train and 2 more"};
  set.make();
  std::filesystem::remove(set.path("1.tar"));
  CacheCheckOptions options;
  options.folder = dir.path();
  CHECK(check_of(options).remedies ==
        Texts{"# run the command again that staged " + set.folder + ": all of 's3://bucket/train and 2 more'"});
}

TEST_CASE("a folder in which nothing was staged is a warning") {
  const TempDir dir;
  CacheCheckOptions options;
  options.folder = dir.path();
  Context context;
  CHECK_FALSE(cache_check(options, context).has_findings());
  CHECK(context.warnings().at(0).code == "nothing_staged");
}

TEST_CASE("missing, short and wrong files are errors, each with its place, and the stage that repairs them is named") {
  const SampleCache cache;
  std::filesystem::remove(cache.dir.path("old/1.tar"));
  write_file(cache.dir.path("sub/new/1.tar"), "short");
  damage(cache);
  CacheCheckOptions options = options_of(cache);
  const CacheCheckResult result = check_of(options);
  CHECK(found(result) == Texts{"missing old/1.tar", "wrong_size sub/new/1.tar", "wrong_bytes sub/new/2.tar"});
  CHECK(result.has_findings());
  CHECK(result.errors == 3);
  CHECK(result.problems_total == 3);
  REQUIRE(result.remedies.size() == 3);
  CHECK(result.remedies[0].starts_with("shardctl stage /src/old " + cache.dir.path("old")));
  CHECK(result.remedies[1].starts_with("shardctl cache check " + cache.dir.path("sub/new")));
  CHECK(result.remedies[2].starts_with("shardctl stage /src/new " + cache.dir.path("sub/new")));
  options.depth = CacheCheckDepth::structure;
  CHECK(found(check_of(options)) == Texts{"missing old/1.tar", "wrong_size sub/new/1.tar"});
}

TEST_CASE("--repair marks damaged files, and removes them with the marker unless somebody leases the set") {
  const SampleCache cache;
  damage(cache);
  CacheCheckOptions options = options_of(cache);
  options.repair = true;
  SUBCASE("leased") {
    cache.lease("sub/new", "job-7", 1h);
    Context context;
    const CacheCheckResult result = cache_check(options, context);
    CHECK(result.discarded == 1);
    CHECK(context.warnings().empty());
    CHECK(cache.holds("sub/new/2.tar"));
    CHECK_FALSE(cache.holds("sub/new/.shardkit/staged.json"));
  }
  SUBCASE("free") {
    const CacheCheckResult result = check_of(options);
    CHECK(result.discarded == 1);
    CHECK(result.has_findings());
    CHECK_FALSE(cache.holds("sub/new/2.tar"));
    CHECK_FALSE(cache.holds("sub/new/.shardkit/staged.json"));
    CHECK(cache.holds("sub/new/1.tar"));
  }
}

TEST_CASE("a marker without the journal and the files that it speaks of is an error that a stage mends") {
  const SampleCache cache;
  std::filesystem::remove(cache.dir.path("sub/new/.shardkit/stage.journal"));
  for (const char* name : {"1.tar", "2.tar"}) std::filesystem::remove(cache.dir.path("sub/new") + "/" + name);
  CacheCheckOptions options = options_of(cache);
  for (const auto depth : {CacheCheckDepth::structure, CacheCheckDepth::checksum}) {
    options.depth = depth;
    const CacheCheckResult result = check_of(options);
    CHECK(found(result) == Texts{"marker_mismatch sub/new"});
    CHECK(result.has_findings());
    REQUIRE(result.remedies.size() == 1);
    CHECK(result.remedies[0].starts_with("shardctl stage /src/new " + cache.dir.path("sub/new")));
  }
  options.repair = true;
  check_of(options);
  CHECK_FALSE(cache.holds("sub/new/.shardkit/staged.json"));
}

TEST_CASE("--repair takes the marker of a folder that lacks files or whose files were cut, and what was cut") {
  const SampleCache cache;
  CacheCheckOptions options = options_of(cache);
  options.repair = true;
  options.depth = CacheCheckDepth::structure;
  SUBCASE("missing") {
    std::filesystem::remove(cache.dir.path("sub/new/1.tar"));
    CHECK(check_of(options).discarded == 0);
  }
  SUBCASE("cut") {
    write_file(cache.dir.path("sub/new/1.tar"), "short");
    CHECK(check_of(options).discarded == 1);
  }
  SUBCASE("missing and leased") {
    cache.lease("sub/new", "job-7", 1h);
    std::filesystem::remove(cache.dir.path("sub/new/1.tar"));
    CHECK(check_of(options).errors == 1);
  }
  CHECK_FALSE(cache.holds("sub/new/.shardkit/staged.json"));
  CHECK_FALSE(cache.holds("sub/new/1.tar"));
  CHECK(cache.holds("sub/new/2.tar"));
}

TEST_CASE("files that no stage brought are warnings") {
  const SampleCache cache;
  write_file(cache.dir.path("old/9.tar"), "mine");
  write_file(cache.dir.path("old/.hidden"), "mine");
  const CacheCheckResult result = check_of(options_of(cache));
  CHECK(found(result) == Texts{"stray old/9.tar"});
  CHECK(result.warnings == 1);
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("a copy that was left is an error, one under way is passed over") {
  const SampleCache cache;
  StagedSample{cache.dir.path("part"), {{"1.tar", "x"}, {"2.tar", "y"}}, false}.make();
  std::filesystem::remove(cache.dir.path("part/2.tar"));
  CHECK(found(check_of(options_of(cache))) == Texts{"incomplete part", "missing part/2.tar"});
  FolderLock lock(cache.dir.path("part/.shardkit/stage.lock"));
  REQUIRE(lock.try_take(LockMode::shared));
  const CacheCheckResult result = check_of(options_of(cache));
  CHECK(found(result) == Texts{"in_progress part"});
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("a part of a set is named, and a file that a killed stage had not renamed yet is not missing") {
  const TempDir dir;
  const StagedSample set{dir.path("set"), {{"1.tar", "one"}}};
  set.make();
  staging::StagedMarker marker = *staging::find_staged_marker(set.folder);
  marker.subsets = {"ranks 0-0 of 2 by webdataset"};
  write_file(set.path(staging::kStagedMarkerPath), formats::write_staged_marker(marker));
  staging::StageJournal::State journal = staging::StageJournal::read(set.path(staging::kStageJournalPath));
  journal.files["2.tar"] = {3, "pin", xxh3_128(as_bytes("two"))};
  staging::StageJournal::rewrite(*posix_file_system(), set.path(staging::kStageJournalPath), journal);
  write_file(staging::partial_path(set.folder, "2.tar"), "two");
  CacheCheckOptions options;
  options.folder = dir.path();
  const CacheCheckResult result = check_of(options);
  CHECK(found(result) == Texts{"partial set", "unfinished set/2.tar"});
  CHECK_FALSE(result.has_findings());
  std::filesystem::remove(staging::partial_path(set.folder, "2.tar"));
  CHECK(check_of(options).has_findings());
}

TEST_CASE("a lease that cannot be read is named") {
  const SampleCache cache;
  write_file(cache.dir.path("old/.shardkit/leases/z.json"), "?");
  CHECK(found(check_of(options_of(cache))) == Texts{"bad_lease old"});
}
