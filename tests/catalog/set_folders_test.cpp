#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;

namespace {

struct Source {
  TempDir dir;
  Context ctx;

  explicit Source(std::initializer_list<const char*> files) {
    for (const char* file : files) write_file(dir.path("src/" + std::string(file)), "x");
  }
  SetFolders find() { return find_set_folders(dir.path("src"), ctx); }
  std::string warning() const { return ctx.warnings().empty() ? "" : ctx.warnings().back().code; }
};

}  // namespace

TEST_CASE("train and val folders are sets, and their classes are numbered together") {
  Source source{"train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg", "val/dog/2.jpg", "README.txt"};
  const SetFolders sets = source.find();
  CHECK(sets.names == std::vector<std::string>{"train", "val"});
  CHECK(sets.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(source.ctx.warnings().empty());
}

TEST_CASE("a set that lacks a class is warned of: torchvision would number its classes anew") {
  Source source{"train/cat/1.jpg", "train/dog/1.jpg", "validation/dog/2.jpg", "test/cat/1.jpg", "test/dog/3.jpg"};
  const SetFolders sets = source.find();
  CHECK(sets.names == std::vector<std::string>{"test", "train", "validation"});
  CHECK(sets.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(source.warning() == "set_lacks_classes");
  CHECK(source.ctx.warnings().size() == 1);
}

TEST_CASE("test images without class folders are left out with a warning") {
  Source source{"train/cat/1.jpg", "val/cat/1.jpg", "test/1.jpg"};
  CHECK(source.find().names == std::vector<std::string>{"train", "val"});
  CHECK(source.warning() == "set_without_classes");
}

TEST_CASE("folders of other names, train alone, or a train folder of images make no sets") {
  CHECK(Source{"cat/1.jpg", "dog/1.jpg"}.find().names.empty());
  CHECK(Source{"train/1.jpg", "val/1.jpg"}.find().names.empty());  // classes called train and val
  CHECK(Source{"train/cat/1.jpg", "train/1.jpg", "val/cat/1.jpg"}.find().names.empty());
  CHECK(Source{"train/cat/1.jpg", "val/cat/1.jpg", "plane/x/1.jpg"}.find().names.empty());
  CHECK(Source{"train/cat/1.jpg"}.find().names.empty());
  CHECK(Source{"val/cat/1.jpg", "test/cat/1.jpg"}.find().names.empty());
  CHECK(Source{"notes.txt"}.find().names.empty());
}

TEST_CASE("hidden folders do not hide the sets") {
  Source source{"train/cat/1.jpg", "val/cat/1.jpg", ".cache/x/1.jpg", "train/.git/x"};
  CHECK(source.find().names == std::vector<std::string>{"train", "val"});
  CHECK(source.find().classes == std::vector<std::string>{"cat"});
}

TEST_CASE("folders that look like sets but are none to convert are refused, or without labels reported") {
  const auto refused = [](std::initializer_list<const char*> files) {
    Source source(files);
    REQUIRE(source.find().names.empty());
    try {
      refuse_unclear_sets(source.dir.path("src"), source.ctx, true);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused({"train/cat/1.jpg", "val/cat/1.jpg", "extra/1.jpg"}).find("move 'extra' away") != std::string::npos);
  CHECK(refused({"train/cat/1.jpg"}).find("only the set train") != std::string::npos);
  for (const char* other : {"Val", "validating_set", "val2017", "valset", "testing", "test-1"}) {
    CHECK(refused({"Train/cat/1.jpg", fmt::format("{}/cat/1.jpg", other).c_str()}).find("Train") != std::string::npos);
  }
  CHECK(refused({"train/1.jpg", "bus/1.jpg"}).empty());  // a class of trains
  CHECK(refused({"trainer/x/1.jpg", "settings/x/1.jpg"}).empty());
  Source source{"train2017/1.jpg", "val2017/1.jpg"};
  refuse_unclear_sets(source.dir.path("src"), source.ctx, false);
  CHECK(source.warning() == "sets_joined");
}

TEST_CASE("a source that is not there is an error") {
  Context ctx;
  CHECK_THROWS_AS(find_set_folders(std::string("/nonexistent/src"), ctx), Error);
}
