#include "catalog/image_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
namespace fs = std::filesystem;

namespace {

using Kinds = decltype(IgnoredFiles::kinds);

ImageFolderScan scan(const TempDir& dir, Context& context, bool allow_empty = false) {
  ImageFolderScan result = scan_image_folder(dir.path("src"), {allow_empty, 2}, context);
  choose_keys(result);
  return result;
}

std::vector<std::string> names(const ScannedClass& item) {
  std::vector<std::string> list;
  for (const ScannedFile& file : item.files) list.emplace_back(item.name_of(file));
  return list;
}

Error scan_failure(const TempDir& dir, bool allow_empty = false) {
  Context context;
  try {
    scan(dir, context, allow_empty);
  } catch (const Error& error) {
    return error;
  }
  FAIL("was scanned as if nothing were wrong");
  return {ErrorCode::usage, ""};
}

}  // namespace

TEST_CASE("classes and files are sorted bytewise, folders below a class after its own files") {
  const TempDir dir;
  for (const char* name : {"b/2.jpg", "b/10.jpg", "b/sub/1.jpg", "b/a/9.jpg", "B/x.png", "a-1/x.jpg", "a/x.JPEG"}) {
    write_file(dir.path("src/" + std::string(name)), "x");
  }
  Context context;
  const ImageFolderScan result = scan(dir, context);
  std::vector<std::string> classes;
  for (const ScannedClass& item : result.classes) classes.push_back(item.name);
  CHECK(classes == std::vector<std::string>{"B", "a", "a-1", "b"});
  CHECK(names(result.classes[3]) == std::vector<std::string>{"10.jpg", "2.jpg", "a/9.jpg", "sub/1.jpg"});
  CHECK(result.images() == 7);
}

TEST_CASE("image extensions are torchvision's, in any case; other files are counted") {
  const TempDir dir;
  for (const char* name : {"a.jpg", "b.JPEG", "c.Png", "d.ppm", "e.bmp", "f.pgm", "g.tif", "h.TIFF", "i.webp"}) {
    write_file(dir.path("src/c/" + std::string(name)), "x");
  }
  for (const char* name : {"x.gif", "jpg", "readme", "y.jpg.txt", "z.json"})
    write_file(dir.path("src/c/" + std::string(name)), "x");
  write_file(dir.path("src/top.jpg"), "x");
  Context context;
  const ImageFolderScan result = scan(dir, context);
  CHECK(result.images() == 9);
  CHECK(result.ignored.kinds == Kinds{{".gif", 1}, {".jpg", 1}, {".json", 1}, {".txt", 1}, {"without extension", 2}});
}

TEST_CASE("side-cars ride with the image whose stem they share") {
  const TempDir dir;
  for (const char* name : {"a.jpg", "a.json", "a.txt", "ab.jpg", "a.b.jpg", "a.b.json", "lonely.json"}) {
    write_file(dir.path("src/c/" + std::string(name)), "x");
  }
  Context context;
  const ImageFolderScan result = scan(dir, context);
  const ScannedClass& item = result.classes[0];
  std::set<std::pair<std::string, std::string>> pairs;
  for (const ScannedMember& sidecar : item.members) {
    pairs.emplace(item.name_of(item.files[sidecar.image]), item.name_of(sidecar.file));
  }
  CHECK(pairs == std::set<std::pair<std::string, std::string>>{
                     {"a.jpg", "a.json"}, {"a.jpg", "a.txt"}, {"a.b.jpg", "a.b.json"}});
  CHECK(result.ignored.kinds == Kinds{{".json", 1}});
}

TEST_CASE("what macOS, notebooks and disk stations leave behind is neither a class nor an image") {
  const TempDir dir;
  for (const char* name : {"a/1.jpg", "a/._1.jpg", "a/__MACOSX/x.jpg", "a/@eaDir/x.jpg", "__MACOSX/a/1.jpg",
                           "@eaDir/x.jpg", "lost+found/x.jpg", ".ipynb_checkpoints/x.jpg", ".DS_Store"}) {
    write_file(dir.path("src/" + std::string(name)), "x");
  }
  Context context;
  const ImageFolderScan result = scan(dir, context);
  REQUIRE(result.classes.size() == 1);
  CHECK(names(result.classes[0]) == std::vector<std::string>{"1.jpg"});
  CHECK(context.warnings().size() == 6);
  CHECK(result.ignored.kinds == Kinds{{"hidden", 2}});
}

TEST_CASE("hidden folders are skipped and said so") {
  const TempDir dir;
  for (const char* name : {"c/a.jpg", ".cache/a.jpg", "c/.ipynb_checkpoints/a.jpg"}) {
    write_file(dir.path("src/" + std::string(name)), "x");
  }
  Context context;
  CHECK(scan(dir, context).images() == 1);
  CHECK(context.warnings().size() == 2);
  CHECK(context.warnings()[0].code == "hidden_folder_skipped");
}

TEST_CASE("links to files and folders are followed") {
  const TempDir dir;
  write_file(dir.path("store/a.jpg"), "12345");
  write_file(dir.path("src/c/own.jpg"), "x");
  fs::create_symlink(dir.path("store/a.jpg"), dir.path("src/c/link.jpg"));
  fs::create_directory_symlink(dir.path("store"), dir.path("src/d"));
  Context context;
  const ImageFolderScan result = scan(dir, context);
  CHECK(result.images() == 3);
  CHECK(result.classes[0].files[0].size == 5);
}

TEST_CASE("a link that leads into itself is an error that names it") {
  const TempDir dir;
  write_file(dir.path("src/c/a.jpg"), "x");
  fs::create_directory_symlink(dir.path("src/c"), dir.path("src/c/loop"));
  const Error error = scan_failure(dir);
  CHECK(error.code() == ErrorCode::conflict);
  CHECK(error.path() == dir.path("src/c/loop"));
}

TEST_CASE("where a link leads back, it is named and not a real folder seen through it") {
  const TempDir dir;
  write_file(dir.path("src/a/x.jpg"), "x");
  write_file(dir.path("src/b/sub/x.jpg"), "x");
  fs::create_directory_symlink("..", dir.path("src/a/loop"));
  CHECK(std::string(scan_failure(dir).what()) ==
        "'" + dir.path("src/a/loop") +
            "', a link to '..', leads back into a folder that contains it, so the files in it would be found again and "
            "again");
  fs::remove(dir.path("src/a/loop"));
  fs::create_directory_symlink("../..", dir.path("src/b/sub/up"));
  CHECK(std::string(scan_failure(dir).what()).starts_with("'" + dir.path("src/b/sub/up") + "', a link to"));
}

TEST_CASE("a broken link and a pipe are problems of one file, not of the scan") {
  const TempDir dir;
  write_file(dir.path("src/c/a.jpg"), "x");
  fs::create_symlink("nowhere", dir.path("src/c/broken.jpg"));
  fs::create_symlink("self.jpg", dir.path("src/c/self.jpg"));
  REQUIRE(::mkfifo(dir.path("src/c/pipe.jpg").c_str(), 0600) == 0);
  Context context;
  const ImageFolderScan result = scan(dir, context);
  CHECK(result.images() == 1);
  REQUIRE(result.problems.size() == 3);
  CHECK(result.problems[0].path == "c/broken.jpg");
  CHECK(result.problems[0].error.code() == ErrorCode::not_found);
  CHECK(result.problems[1].path == "c/pipe.jpg");
  CHECK(result.problems[2].path == "c/self.jpg");
}

TEST_CASE("side-cars stay with their image when files before it drop out") {
  const TempDir dir;
  fs::create_directories(dir.path("src/c"));
  fs::create_symlink("nowhere", dir.path("src/c/a.jpg"));
  write_file(dir.path("src/c/a.json"), "x");
  write_file(dir.path("src/c/b.jpg"), "x");
  write_file(dir.path("src/c/b.json"), "xyz");
  Context context;
  const ImageFolderScan result = scan(dir, context);
  REQUIRE(result.classes[0].members.size() == 1);
  CHECK(result.classes[0].members[0].image == 0);
  CHECK(result.classes[0].members[0].file.size == 3);
}

TEST_CASE("what is no ImageFolder is refused with what was expected") {
  const TempDir dir;
  CHECK(scan_failure(dir).code() == ErrorCode::not_found);
  fs::create_directories(dir.path("src"));
  CHECK(std::string(scan_failure(dir).what()).find("no class folders") != std::string::npos);
  write_file(dir.path("src/c/readme.md"), "x");
  CHECK(std::string(scan_failure(dir).what()).find("no images") != std::string::npos);
  CHECK(scan_failure(dir, true).code() == ErrorCode::not_found);
}

TEST_CASE("an empty class is an error unless it is allowed; it keeps its label then") {
  const TempDir dir;
  write_file(dir.path("src/b/a.jpg"), "x");
  fs::create_directories(dir.path("src/a"));
  CHECK(scan_failure(dir).path() == dir.path("src/a"));
  Context context;
  CHECK(scan(dir, context, true).classes.size() == 2);
}

namespace {

/// The keys of a tree with these files, in the scan's order.
std::vector<std::string> keys_of(const std::vector<std::string>& files) {
  const TempDir dir;
  for (const std::string& name : files) write_file(dir.path("src/" + name), "x");
  Context context;
  ImageFolderScan result = scan_image_folder(dir.path("src"), {false, 2}, context);
  choose_keys(result);
  std::vector<std::string> keys;
  for (const ScannedClass& owner : result.classes) {
    for (const ScannedFile& file : owner.files) keys.push_back(image_key(result, owner, file));
  }
  return keys;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("folders below the class stay in the key, so that equal names of clips do not meet") {
  CHECK(keys_of({"walk/v1/f1.jpg", "walk/v2/f1.jpg", "walk/a b/x.y.jpg"}) ==
        Keys{"walk/a~20b/x~2Ey", "walk/v1/f1", "walk/v2/f1"});
}

TEST_CASE("names that differ only in the extension keep it in the key, whatever looks like such a key") {
  CHECK(keys_of({"c/a.jpg", "c/a.png", "c/a.JPG", "c/b.jpg"}) == Keys{"c/a~2EJPG", "c/a~2Ejpg", "c/a~2Epng", "c/b"});
  CHECK(keys_of({"c/a.jpg", "c/a.jpg.png", "c/a.png"}) == Keys{"c/a~2Ejpg", "c/a~2Ejpg~2Epng", "c/a~2Epng"});
}

TEST_CASE("keys of a tree without folders below classes are class and name") {
  CHECK(keys_of({"c/a.jpg", "d/a.png"}) == Keys{"c/a", "d/a"});
}

TEST_CASE("odd names are kept byte for byte") {
  const TempDir dir;
  const std::vector<std::string> odd = {
      "a b.jpg", "new\nline.jpg", "\xc3\xa4.jpg", "\xff.jpg", std::string(250, 'n') + ".jpg", "a.b.c.jpg", ".jpg"};
  for (const std::string& name : odd) write_file(dir.path("src/c/" + name), "x");
  Context context;
  std::vector<std::string> expected = odd;
  std::ranges::sort(expected);
  CHECK(names(scan(dir, context).classes[0]) == expected);
}

TEST_CASE("many classes and files are found with many requests in flight") {
  const TempDir dir;
  for (int c = 0; c < 50; ++c) {
    for (int i = 0; i < 70; ++i)
      write_file(dir.path("src/" + std::to_string(c) + "/" + std::to_string(i) + ".jpg"), "xy");
  }
  Context context;
  const ImageFolderScan result = scan(dir, context);
  CHECK(result.images() == 3500);
  CHECK(std::ranges::all_of(result.classes, [](const ScannedClass& item) {
    return item.files.size() == 70 && std::ranges::all_of(item.files, [](const ScannedFile& f) { return f.size == 2; });
  }));
}

TEST_CASE("a stop ends the scan") {
  const TempDir dir;
  write_file(dir.path("src/c/a.jpg"), "x");
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK_THROWS_AS(scan(dir, context), Error);
}
