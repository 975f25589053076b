#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;
namespace fs = std::filesystem;

TEST_CASE("folders are opened, and made only when asked for") {
  const TempDir dir;
  const ContainedFolder root(dir.path());
  CHECK_FALSE(root.folder("a/b", false));
  CHECK_FALSE(fs::exists(dir.path("a")));
  REQUIRE(root.folder("a/b", true));
  CHECK(fs::is_directory(dir.path("a/b")));
  CHECK(root.folder("a/b", false)->path() == dir.path("a/b"));
  CHECK(root.folder("", false)->path() == dir.path());
}

TEST_CASE("neither links nor files on the way are taken for folders") {
  const TempDir dir;
  const TempDir outside;
  fs::create_directories(outside.path("inner"));
  fs::create_symlink(outside.path(), dir.path("link"));
  write_file(dir.path("file"), "f");
  const ContainedFolder root(dir.path());
  for (const char* path : {"link", "link/inner", "link/new", "file", "file/x"}) {
    CHECK_THROWS_AS(root.folder(path, false), Error);
    CHECK_THROWS_AS(root.folder(path, true), Error);
  }
  CHECK_FALSE(fs::exists(outside.path("new")));
}

TEST_CASE("the folder itself may be named through a link") {
  const TempDir dir;
  fs::create_directories(dir.path("real"));
  fs::create_symlink("real", dir.path("link"));
  CHECK(ContainedFolder(dir.path("link")).folder("x", true));
  CHECK(fs::is_directory(dir.path("real/x")));
}

TEST_CASE("what stands under a name is itself, not what it leads to") {
  const TempDir dir;
  write_file(dir.path("file"), "f");
  fs::create_symlink("file", dir.path("link"));
  ::mkfifo(dir.path("fifo").c_str(), 0600);
  const File folder = *ContainedFolder(dir.path()).folder("", false);
  CHECK(standing_at(folder, "file") == Standing::file);
  CHECK(standing_at(folder, "link") == Standing::other);
  CHECK(standing_at(folder, "fifo") == Standing::other);
  CHECK(standing_at(folder, "none") == Standing::nothing);
  CHECK_THROWS_AS(open_below(folder, "link"), Error);
}

TEST_CASE("a new file takes no name that is taken, when it is made or when it is moved") {
  const TempDir dir;
  const ContainedFolder root(dir.path());
  const File from = *root.folder("from", true);
  const File to = *root.folder("to", true);
  const auto files = posix_file_system();
  files->create_below(from, "1")->write(as_bytes("one"));
  CHECK_THROWS_AS(files->create_below(from, "1"), Error);
  CHECK(files->rename_new_below(from, "1", to, "x"));
  CHECK(read_file(dir.path("to/x")) == "one");
  CHECK_FALSE(fs::exists(dir.path("from/1")));
  files->create_below(from, "2")->write(as_bytes("two"));
  CHECK_FALSE(files->rename_new_below(from, "2", to, "x"));
  CHECK(read_file(dir.path("to/x")) == "one");
  fs::create_symlink("nowhere", dir.path("to/link"));
  CHECK_FALSE(files->rename_new_below(from, "2", to, "link"));
  files->remove_below(from, "2");
  files->remove_below(from, "2");
  CHECK(fs::is_empty(dir.path("from")));
}

TEST_CASE("a folder is removed when it is empty, and never through a link") {
  const TempDir dir;
  fs::create_directories(dir.path("root/a/b"));
  fs::create_directories(dir.path("other/empty"));
  fs::create_symlink(dir.path("other"), dir.path("root/link"));
  const ContainedFolder root(dir.path("root"));
  root.remove_if_empty("a");
  CHECK(fs::exists(dir.path("root/a/b")));
  root.remove_if_empty("a/b");
  root.remove_if_empty("a/b");
  root.remove_if_empty("absent/b");
  CHECK_FALSE(fs::exists(dir.path("root/a/b")));
  CHECK_THROWS_AS(root.remove_if_empty("link/empty"), Error);
  root.remove_if_empty("link");
  CHECK(fs::exists(dir.path("root/link")));
  CHECK(fs::exists(dir.path("other/empty")));
}
