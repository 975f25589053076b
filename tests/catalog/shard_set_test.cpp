#include "catalog/shard_set.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit::formats;
namespace fs = std::filesystem;

namespace {

ShardSet resolved(const std::vector<std::string>& operands, FolderTars tars = FolderTars::plain) {
  Context context;
  return resolve_shards(operands, SetVerb::list, context, {}, tars);
}

std::vector<std::string> names(const ShardSet& set) {
  std::vector<std::string> result;
  for (const ShardFile& shard : set.shards) result.push_back(shard.name);
  return result;
}

ErrorCode code_of(const std::vector<std::string>& operands) {
  try {
    resolved(operands);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("resolved");
  return ErrorCode::io;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a folder gives its tars by name, without hidden ones and other files") {
  TempDir dir;
  for (const char* name : {"b.tar", "a.tar", ".c.tar", "d.txt", "e.tar.tmp"}) write_file(dir.path(name), "12345");
  const ShardSet set = resolved({dir.path()});
  CHECK(names(set) == Names{"a.tar", "b.tar"});
  CHECK(set.shards[0].path == dir.path("a.tar"));
  CHECK(set.shards[0].bytes == 5);
  CHECK(set.folder == dir.path());
  CHECK_FALSE(set.manifest);
}

TEST_CASE("a folder's compressed tars are taken where they are asked for, else passed over and named") {
  TempDir dir;
  for (const char* name : {"d.tar", "a.tar.gz", "b.tgz", "c.tar.zst", ".e.tar.gz", "f.tar.tmp", "g.gz"}) {
    write_file(dir.path(name), "x");
  }
  CHECK(names(resolved({dir.path()}, FolderTars::all)) == Names{"a.tar.gz", "b.tgz", "c.tar.zst", "d.tar"});
  Context context;
  const ShardSet set = resolve_shards({dir.path()}, SetVerb::list, context);
  CHECK(names(set) == Names{"d.tar"});
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "compressed_passed_over");
  CHECK(context.warnings()[0].text.find("and 2 more are compressed and skipped; `shardctl reshard ") !=
        std::string::npos);
}

TEST_CASE("a folder of compressed tars alone is refused with the command that unpacks them") {
  TempDir dir;
  write_file(dir.path("a.tar.gz"), "x");
  CHECK(code_of({dir.path()}) == ErrorCode::unsupported);
  CHECK_THROWS_WITH_AS(resolved({dir.path()}), doctest::Contains(("`shardctl reshard " + dir.path()).c_str()), Error);
  CHECK(names(resolved({dir.path()}, FolderTars::all)) == Names{"a.tar.gz"});
  fs::create_directory(dir.path("empty"));
  CHECK(code_of({dir.path(), dir.path("empty")}) == ErrorCode::unsupported);
}

TEST_CASE("a folder of sets names them; a hidden folder is none") {
  TempDir dir;
  write_file(dir.path("sets/train/a.tar"), "x");
  write_file(dir.path("sets/.trash/b.tar"), "");
  write_file(dir.path("sets/notes/a.txt"), "x");
  CHECK_THROWS_WITH_AS(resolved({dir.path("sets")}), doctest::Contains("sets/train'"), Error);
  CHECK(code_of({dir.path("sets")}) == ErrorCode::conflict);
  Context context;
  const ShardSet set = resolve_shards({dir.path("sets")}, SetVerb::verify, context);
  CHECK(set.operands == Names{dir.path("sets/train")});
  CHECK(names(set) == Names{"a.tar"});
}

TEST_CASE("a part of a split archive is refused with the command that joins all parts in their order") {
  const TempDir dir;
  for (const char* name : {"x.tar.9", "x.tar.10", "x.tar.8", "y.tar.gz.aa", "y.tar.gz.ab", "z.tar.1"})
    write_file(dir.path(name), "a piece");
  const std::string parts = fmt::format("`cat {0}8 {0}9 {0}10 >{1}`", dir.path("x.tar."), dir.path("x.tar"));
  CHECK_THROWS_WITH_AS(resolved({dir.path("x.tar.9")}), doctest::Contains(parts.c_str()), Error);
  CHECK(code_of({dir.path("y.tar.gz.aa")}) == ErrorCode::usage);
  CHECK(names(resolved({dir.path("z.tar.1")})) == Names{"z.tar.1"});  // there is no other
  write_file(dir.path("x.tar.9"), "\x1f\x8b of its own");
  CHECK(names(resolved({dir.path("x.tar.9")})) == Names{"x.tar.9"});
}

TEST_CASE("names say what is a compressed tar") {
  for (const char* name : {"x.tar.gz", "d.tar/x.tgz", "x.tar.zst", "x.tar.xz"}) CHECK(is_compressed_tar_name(name));
  for (const char* name : {"x.tar", "x.zip", "x.gz", "x.tar.tmp"}) CHECK_FALSE(is_compressed_tar_name(name));
}

TEST_CASE("the manifest beside the shards comes along; shards that it lists may be missing") {
  TempDir dir;
  write_file(dir.path("a.tar"), "");
  Manifest manifest;
  manifest.shards = {{"a.tar", 1, 10, {}}, {"gone.tar", 2, 20, {}}};
  manifest.samples = 3;
  manifest.bytes = 30;
  write_file(dir.path(kManifestName), write_manifest(manifest));
  const ShardSet set = resolved({dir.path("a.tar")});
  CHECK(set.manifest == manifest);
  CHECK(set.manifest_path == dir.path(kManifestName));
}

TEST_CASE("a damaged manifest is an error of its folder, and none of tars that are named") {
  TempDir dir;
  write_file(dir.path("a.tar"), "");
  for (const char* text : {"{", "", R"({"format": "shardkit-manifest", "version": 1})"}) {
    write_file(dir.path(kManifestName), text);
    CHECK(code_of({dir.path()}) == ErrorCode::corrupt);
    CHECK_THROWS_WITH_AS(resolved({dir.path()}), doctest::Contains("shardctl index "), Error);
    CHECK_FALSE(resolved({dir.path("a.tar")}).manifest);
  }
  fs::remove(dir.path(kManifestName));
  CHECK_FALSE(resolved({dir.path()}).manifest);
}

TEST_CASE("another program's manifest.json is none; of a named folder a warning says so") {
  TempDir dir;
  write_file(dir.path("a.tar"), "");
  for (const char* text : {"{}", R"({"foo":1})", "[1]", R"({"format":"other"})", "\n<html>not there</html>"}) {
    write_file(dir.path(kManifestName), text);
    for (const char* name : {"", "a.tar"}) {
      Context context;
      CHECK_FALSE(resolve_shards({dir.path(name)}, SetVerb::list, context).manifest);
      CHECK(context.warnings().size() == (*name == '\0' ? 1 : 0));
    }
  }
}

TEST_CASE("a brace pattern names shards in its order, and each must be there") {
  TempDir dir;
  for (const char* name : {"s-0.tar", "s-1.tar", "{x}.tar"}) write_file(dir.path(name), "");
  CHECK(names(resolved({dir.path("s-{1..0}.tar")})) == Names{"s-1.tar", "s-0.tar"});
  CHECK_THROWS_WITH_AS(resolved({dir.path("s-{0..2}.tar")}), doctest::Contains("s-2.tar"), Error);
  CHECK(names(resolved({dir.path("{x}.tar")})) == Names{"{x}.tar"});
}

TEST_CASE("a list file names shards relative to itself") {
  TempDir dir;
  fs::create_directory(dir.path("sub"));
  write_file(dir.path("sub/a.tar"), "");
  write_file(dir.path("b.tar"), "");
  write_file(dir.path("list.txt"), "sub/a.tar\r\n\n" + dir.path("b.tar"));
  const ShardSet set = resolved({dir.path("list.txt")});
  CHECK(names(set) == Names{"a.tar", "b.tar"});
  CHECK(set.folder.empty());
}

TEST_CASE("a wids index names shards relative to itself") {
  TempDir dir;
  write_file(dir.path("a.tar"), "");
  write_file(dir.path("index.json"), R"({"wids_version":1,"shardlist":[{"url":"a.tar","nsamples":1}]})");
  CHECK(names(resolved({dir.path("index.json")})) == Names{"a.tar"});
}

TEST_CASE("a shard named twice, also by another spelling, is taken once") {
  TempDir dir;
  write_file(dir.path("a.tar"), "");
  CHECK(resolved({dir.path(), dir.path("a.tar"), dir.path("./a.tar")}).shards.size() == 1);
}

TEST_CASE("operands that name nothing are distinguished") {
  TempDir dir;
  write_file(dir.path("photo.jpg"), "");
  write_file(dir.path("other.json"), R"({"shards":[]})");
  write_file(dir.path("empty.txt"), "\n");
  write_file(dir.path("gone.txt"), "nowhere.tar\n");
  CHECK(code_of({}) == ErrorCode::usage);
  CHECK(code_of({dir.path()}) == ErrorCode::not_found);
  CHECK(code_of({dir.path("nowhere")}) == ErrorCode::not_found);
  CHECK(code_of({dir.path("photo.jpg/x.tar")}) == ErrorCode::not_found);
  CHECK(code_of({dir.path("photo.jpg")}) == ErrorCode::usage);
  CHECK(code_of({dir.path("other.json")}) == ErrorCode::usage);
  CHECK(code_of({dir.path("empty.txt")}) == ErrorCode::not_found);
  CHECK(code_of({dir.path("gone.txt")}) == ErrorCode::not_found);
  CHECK(code_of({"abfs://bucket/a.tar"}) == ErrorCode::unsupported);
}

TEST_CASE("a pattern may be longer than any file name") {
  TempDir dir;
  std::string pattern = "s-{";
  for (int i = 0; i < 60; ++i) {
    const std::string number = std::to_string(100000 + i);
    write_file(dir.path("s-" + number + ".tar"), "");
    pattern += (i == 0 ? "" : ",") + number;
  }
  CHECK(resolved({dir.path(pattern + "}.tar")}).shards.size() == 60);
}

TEST_CASE("a pipe is refused, whether named or found in a folder: who opens it may wait for ever") {
  TempDir dir;
  ::mkfifo(dir.path("p.tar").c_str(), 0600);
  CHECK(code_of({dir.path("p.tar")}) == ErrorCode::usage);
  CHECK(code_of({"/dev/null"}) == ErrorCode::usage);
  CHECK(code_of({dir.path()}) == ErrorCode::unsupported);
}

TEST_CASE("a folder is no shard, whatever its name, but may hold some") {
  TempDir dir;
  write_file(dir.path("set/a.tar"), "12345");
  write_file(dir.path("set/old.tar/b.tar"), "");
  CHECK(names(resolved({dir.path("set")})) == Names{"a.tar"});
  CHECK(names(resolved({dir.path("set/*.tar")})) == Names{"a.tar"});
  CHECK(names(resolved({dir.path("set/old.tar")})) == Names{"b.tar"});
  fs::remove(dir.path("set/a.tar"));
  CHECK(code_of({dir.path("set")}) == ErrorCode::conflict);  // a folder of sets
}

TEST_CASE("a folder named behind its shards is still one that has shards") {
  TempDir dir;
  write_file(dir.path("a.tar"), "");
  CHECK(resolved({dir.path("a.tar"), dir.path()}).shards.size() == 1);
}

TEST_CASE("a name in a folder that is no readable file is a shard of no bytes, for verify to report") {
  TempDir dir;
  write_file(dir.path("a.tar"), "12345");
  fs::create_symlink("nowhere", dir.path("b.tar"));
  const ShardSet set = resolved({dir.path()});
  CHECK(names(set) == Names{"a.tar", "b.tar"});
  CHECK(set.of_folder);
  CHECK(set.shards[1].bytes == 0);
  CHECK(code_of({dir.path("b.tar")}) == ErrorCode::not_found);
}
