#include "staging/stage_journal.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::staging;

namespace {

const Hash128 kHash{1, 2};

struct JournalFixture {
  JournalFixture() {
    StageJournal::State state;
    state.set = StagedSetId{kHash, 100, "s3://bucket/train\twith tab"};
    state.files["a\n.tar"] = {10, "pin of\ta", {3, 4}};
    StageJournal::rewrite(*files, path, state);
  }

  TempDir dir;
  std::string path = dir.path("stage.journal");
  std::unique_ptr<FileSystem> files = posix_file_system();
};

}  // namespace

TEST_CASE("a journal reads back what it was given, whatever the names") {
  const JournalFixture fixture;
  const auto state = StageJournal::read(fixture.path);
  REQUIRE(state.set);
  CHECK(state.set->is({kHash, 0, ""}));
  CHECK(state.set->bytes == 100);
  CHECK(state.set->source == "s3://bucket/train\twith tab");
  REQUIRE(state.files.size() == 1);
  CHECK(state.files.at("a\n.tar").bytes == 10);
  CHECK(state.files.at("a\n.tar").pin == "pin of\ta");
  CHECK(state.files.at("a\n.tar").hash == Hash128{3, 4});
  CHECK(StageJournal::read(fixture.dir.path("absent")).files.empty());
}

TEST_CASE("commands are kept, each once, and one of the whole set replaces those of its parts") {
  const JournalFixture fixture;
  const StagedCommand part{"'a\tb'", " --include 'x*'", false};
  const StagedCommand other{"'a\tb'", " --rank 1 --world 2", false};
  const StagedCommand whole{"'a\tb'", "", true};
  StageJournal journal(*fixture.files, fixture.path);
  for (const StagedCommand& command : {part, other, part}) journal.add(command);
  CHECK(StageJournal::read(fixture.path).commands == std::vector{part, other});
  journal.add(whole);
  journal.add(part);
  StageJournal::rewrite(*fixture.files, fixture.path, StageJournal::read(fixture.path));
  CHECK(StageJournal::read(fixture.path).commands == std::vector{whole});
  CHECK(StageJournal::read(fixture.path).files.size() == 1);
}

TEST_CASE("several processes append, and each learns of the others' records") {
  const JournalFixture fixture;
  StageJournal one(*fixture.files, fixture.path);
  StageJournal two(*fixture.files, fixture.path);
  one.record("b", {20, "v1", {}});
  two.record("c", {30, "v1", {}});
  one.record("b", {21, "v2", {}});
  CHECK_FALSE(one.find("c"));
  CHECK(two.find("a\n.tar"));
  one.refresh();
  two.refresh();
  CHECK(one.find("c")->bytes == 30);
  CHECK(two.find("b")->pin == "v2");
  CHECK(StageJournal::read(fixture.path).files.size() == 3);
}

TEST_CASE("half a line that one process left on a full disk spoils no line of another") {
  const JournalFixture fixture;
  StageJournal one(*fixture.files, fixture.path);
  StageJournal two(*fixture.files, fixture.path);
  fixture.files->open_append(fixture.path)->write(as_bytes("file\t10\t0011"));
  one.record("b", {20, "v1", {}});
  two.refresh();
  CHECK(two.find("b")->bytes == 20);
  CHECK(StageJournal::read(fixture.path).files.contains("b"));
}

TEST_CASE("a line that was cut, and lines of another kind, are left out") {
  const JournalFixture fixture;
  const std::string text = read_file(fixture.path);
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    StageJournal::State state;
    state.take(text.substr(0, cut));
    CHECK(state.files.empty());
  }
  StageJournal::State state;
  state.take("x\t1\t2\nfile\t1\tnot a hash\tpin\tname\n\nfile\tx\t" + to_hex(kHash) + "\tp\tn\n");
  CHECK(state.files.empty());
  CHECK_FALSE(state.set);
}

TEST_CASE("a changed byte never makes a file look complete and unchanged that the journal does not know so") {
  const TempDir dir;
  const auto files = posix_file_system();
  for (const char* name : {"a", "b"}) write_file(dir.path(name), "0123456789");
  const auto entry = [&](const char* name, const char* pin) {
    return StagedFile{10, pin, {1, 2}, false, seen_at(dir.path(name))};
  };
  StageJournal::State state;
  state.set = StagedSetId{kHash, 100, "source"};
  state.files = {{"a", entry("a", "v1")}, {"b", entry("b", "v1")}};
  StageJournal::rewrite(*files, dir.path("journal"), state);
  StageJournal(*files, dir.path("journal")).record("a", entry("a", std::string(kDamagedPin).c_str()));
  const std::string text = read_file(dir.path("journal"));
  for (std::size_t at = 0; at < text.size(); ++at) {
    CAPTURE(at);
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    StageJournal::State read;
    read.take(changed);
    for (const auto& [name, file] : read.files) {
      REQUIRE(state.files.contains(name));
      if (name == "a") CHECK_FALSE(is_unchanged_at(file, dir.path(name)));
      if (name == "b" && is_unchanged_at(file, dir.path(name))) CHECK(file.pin == "v1");
    }
    CHECK((!read.set || read.set->source == "source"));
  }
}

TEST_CASE("what is announced of the set grows, and never shrinks, whoever announces") {
  const JournalFixture fixture;
  StageJournal one(*fixture.files, fixture.path);
  StageJournal two(*fixture.files, fixture.path);
  one.announce(200);
  two.announce(150);
  CHECK(StageJournal::read(fixture.path).set->bytes == 200);
  two.announce(300);
  const auto state = StageJournal::read(fixture.path);
  CHECK(state.set->bytes == 300);
  CHECK(state.set->source == "s3://bucket/train\twith tab");
  CHECK(state.files.size() == 1);
}

TEST_CASE("a file is unchanged as long as size, modification time and inode are those that the journal knows") {
  const JournalFixture fixture;
  const std::string path = fixture.dir.path("data");
  write_file(path, "0123456789");
  StageJournal journal(*fixture.files, fixture.path);
  const std::string seen = seen_at(path);
  journal.record("data", {10, "v1", {5, 6}, false, seen});
  const auto known = [&] { return StageJournal::read(fixture.path).files.at("data"); };
  CHECK(known().seen == seen);
  CHECK(is_unchanged_at(known(), path));
  SUBCASE("of another file") {
    write_file(path + "2", "0123456789");
    std::filesystem::last_write_time(path + "2", std::filesystem::last_write_time(path));
    std::filesystem::rename(path + "2", path);
    CHECK_FALSE(is_unchanged_at(known(), path));
  }
  SUBCASE("written again") {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
    CHECK_FALSE(is_unchanged_at(known(), path));
  }
  SUBCASE("a pipe") {
    std::filesystem::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    CHECK_FALSE(is_unchanged_at(known(), path));
    CHECK_FALSE(size_on_disk(path));
  }
  SUBCASE("never seen") {
    journal.record("data", {10, "v1", {5, 6}});
    CHECK_FALSE(is_unchanged_at(known(), path));
  }
  SUBCASE("marked as damaged") {
    journal.record("data", {10, std::string(kDamagedPin), {5, 6}, false, seen});
    CHECK_FALSE(is_unchanged_at(known(), path));
  }
}
