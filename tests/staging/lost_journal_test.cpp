#include "staging/lost_journal.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "formats/manifest.hpp"
#include "staging/node_cache.hpp"
#include "support/staged_folder.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::staging;

namespace {

using Names = std::vector<std::string>;

Names names_in(const StageJournal::State& journal) {
  Names names;
  for (const auto& [name, file] : journal.files) names.push_back(name);
  return names;
}

/// A staged set with a manifest, its index and a file that the manifest does not list, as a stage leaves them.
struct Staged {
  Staged() {
    formats::Manifest manifest;
    manifest.shards = {{"1.tar", 1, 3, xxh3_128(as_bytes("one")), {}}, {"2.tar", 1, 3, xxh3_128(as_bytes("two")), {}}};
    manifest.samples = 2;
    manifest.bytes = 6;
    const std::string text = formats::write_manifest(manifest);
    const StagedSample sample{dir.path(),
                              {{"1.tar", "one"},
                               {"2.tar", "two"},
                               {".shardkit/1.tar.index", "i"},
                               {"manifest.json", text},
                               {"README", "read"}}};
    sample.make();
    StagedMarker marker = *find_staged_marker(dir.path());
    marker.manifest = xxh3_128(as_bytes(text));
    write_file(dir.path(kStagedMarkerPath), formats::write_staged_marker(marker));
  }
  void lose_journal() const { std::filesystem::remove(dir.path(kStageJournalPath)); }
  bool evict() const {
    return staging::evict(*io::posix_file_system(), dir.path(), system::WallTime(std::chrono::hours(1)), {});
  }

  TempDir dir;
  Names listed{".shardkit/1.tar.index", "1.tar", "2.tar", "manifest.json"};
  Names all{".shardkit/1.tar.index", "1.tar", "2.tar", "README", "manifest.json"};
};

}  // namespace

TEST_CASE("a lost journal is restored from the marker if its number and size are those of the files") {
  const Staged staged;
  staged.lose_journal();
  const StageJournal::State journal = journal_of(staged.dir.path());
  CHECK(names_in(journal) == staged.all);
  CHECK(journal.set->source == "/source");
  CHECK(journal.files.at("1.tar").pin == to_hex(xxh3_128(as_bytes("one"))));
  CHECK_FALSE(journal.files.at("1.tar").found);
  CHECK_FALSE(is_unchanged_at(journal.files.at("1.tar"), staged.dir.path("1.tar")));  // the next stage reads it
}

TEST_CASE("among other files, those that the manifest of the marker lists are restored") {
  const Staged staged;
  staged.lose_journal();
  write_file(staged.dir.path("mine.tar"), "mine");
  CHECK(names_in(journal_of(staged.dir.path())) == staged.listed);
  write_file(staged.dir.path("manifest.json"), read_file(staged.dir.path("manifest.json")) + "\n");
  CHECK(names_in(journal_of(staged.dir.path())).empty());  // another manifest
}

TEST_CASE("a journal that was cut is completed, and what it has counts") {
  const Staged staged;
  StageJournal::State journal;
  journal.files["1.tar"] = {3, "its own", {}};
  StageJournal::rewrite(*io::posix_file_system(), staged.dir.path(kStageJournalPath), journal);
  const StageJournal::State restored = journal_of(staged.dir.path());
  CHECK(names_in(restored) == staged.all);
  CHECK(restored.files.at("1.tar").pin == "its own");
}

TEST_CASE("a file that is older than the lock was there before the stage, and stays") {
  const Staged staged;
  staged.lose_journal();
  const auto lock = std::filesystem::last_write_time(staged.dir.path(kStageLockPath));
  std::filesystem::last_write_time(staged.dir.path("2.tar"), lock - std::chrono::seconds(1));
  CHECK(journal_of(staged.dir.path()).files.at("2.tar").found);
  CHECK(staged.evict());
  CHECK(read_file(staged.dir.path("2.tar")) == "two");
  CHECK_FALSE(std::filesystem::exists(staged.dir.path("1.tar")));
  CHECK(names_in(StageJournal::read(staged.dir.path(kStageJournalPath))) == Names{"2.tar"});
}

TEST_CASE("an eviction without a journal removes the files, and one that is stopped leaves a journal of them") {
  const Staged staged;
  staged.lose_journal();
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS(evict(*io::posix_file_system(), staged.dir.path(), system::WallTime(), stop.get_token()));
  CHECK_FALSE(std::filesystem::exists(staged.dir.path(kStagedMarkerPath)));
  CHECK(names_in(StageJournal::read(staged.dir.path(kStageJournalPath))) == staged.all);
  CHECK(staged.evict());
  for (const std::string& name : staged.all) CHECK_FALSE(std::filesystem::exists(staged.dir.path(name)));
}

TEST_CASE("a repair keeps what the marker says of the files") {
  const Staged staged;
  staged.lose_journal();
  CHECK(discard(*io::posix_file_system(), staged.dir.path(), {}, system::WallTime()));
  CHECK(names_in(StageJournal::read(staged.dir.path(kStageJournalPath))) == staged.all);
}

TEST_CASE("folders within that were staged themselves, links and temporary files are no part of a set") {
  const Staged staged;
  staged.lose_journal();
  StagedSample{staged.dir.path("inner"), {{"1.tar", "one"}}}.make();
  std::filesystem::create_symlink(staged.dir.path("1.tar"), staged.dir.path("link.tar"));
  write_file(staged.dir.path(".3.tar.host-1-2.tmp"), "temporary");
  write_file(staged.dir.path(".shardkit/.shardkit-cache.lock"), "");
  CHECK(names_in(journal_of(staged.dir.path())) == staged.all);
}
