#include "catalog/set_folders.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;

namespace {

struct Source {
  TempDir dir;
  Context context;

  explicit Source(std::initializer_list<const char*> files) {
    for (const char* file : files) write_file(dir.path("src/" + std::string(file)), "x");
  }
  SetFolders find() { return find_set_folders(dir.path("src"), context); }
  std::string warning() const { return context.warnings().empty() ? "" : context.warnings().back().code; }
};

}  // namespace

TEST_CASE("train and val folders are sets, and their classes are numbered together") {
  Source source{"train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg", "val/dog/2.jpg", "README.txt"};
  const SetFolders sets = source.find();
  CHECK(sets.names == std::vector<std::string>{"train", "val"});
  CHECK(sets.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(source.context.warnings().empty());
}

TEST_CASE("a set that lacks a class is warned of: torchvision would number its classes anew") {
  Source source{"train/cat/1.jpg", "train/dog/1.jpg", "validation/dog/2.jpg", "test/cat/1.jpg", "test/dog/3.jpg"};
  const SetFolders sets = source.find();
  CHECK(sets.names == std::vector<std::string>{"test", "train", "validation"});
  CHECK(sets.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(source.warning() == "set_lacks_classes");
  CHECK(source.context.warnings().size() == 1);
}

TEST_CASE("test images without class folders are left out with a warning") {
  Source source{"train/cat/1.jpg", "val/cat/1.jpg", "test/1.jpg"};
  CHECK(source.find().names == std::vector<std::string>{"train", "val"});
  CHECK(source.warning() == "set_without_classes");
}

TEST_CASE("folders of other names, train alone, or sets with images beside their class folders make no sets") {
  CHECK(Source{"cat/1.jpg", "dog/1.jpg"}.find().names.empty());
  CHECK(Source{"train/1.jpg", "val/1.jpg"}.find().names.empty());
  CHECK(Source{"train/cat/1.jpg", "train/1.jpg", "val/cat/1.jpg"}.find().names.empty());
  CHECK(Source{"train/cat/1.jpg", "val/cat/1.jpg", "val/1.jpg"}.find().names.empty());
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

namespace {

/// The refusal of a source with these files; empty if it is accepted.
std::string refusal(const std::vector<std::string>& files) {
  Source source{};
  for (const std::string& file : files) write_file(source.dir.path("src/" + file), "x");
  REQUIRE(source.find().names.empty());
  try {
    refuse_unclear_folders(source.dir.path("src"), {}, source.context, true);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    return error.what();
  }
  return {};
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a folder that is named as a set never becomes a class, whatever it contains") {
  for (const char* name :
       {"train",        "Train",       "TRAIN",          "train2017",  "train_2017", "training", "trainval",
        "train-val",    "trainset",    "train_images",   "val",        "Val",        "val2017",  "valid",
        "valset",       "validation",  "validating_set", "dev",        "test",       "test-1",   "testing",
        "test-dev2017", "images_test", "eval",           "evaluation", "train.0"}) {
    CAPTURE(name);
    for (const char* content : {"1.jpg", "cat/1.jpg", "labels.json"}) {
      CAPTURE(content);
      const std::string set = fmt::format("{}/{}", name, content);
      CHECK(says(refusal({set}), fmt::format("the set {}, which is not a class", name)));
      CHECK(says(refusal({set, "bus/1.jpg", "car/1.jpg"}), "the set "));
      CHECK(says(refusal({set, "annotations/instances.json"}), "the set "));
    }
  }
  for (const char* name :
       {"trainer", "trains", "train_station", "trainers", "settings", "devices", "value", "valley", "tester",
        "testtube", "evaluator", "validated", "images", "data", "2017", "0", "_", "n01443537", "trein"}) {
    CAPTURE(name);
    CHECK(refusal({fmt::format("{}/1.jpg", name), "bus/1.jpg"}).empty());
    CHECK(refusal({fmt::format("{}/cat/1.jpg", name)}).empty());
  }
}

TEST_CASE("the refusal of sets has the commands for their shape") {
  const std::string flat = refusal({"train2017/1.jpg", "val2017/2.jpg", "annotations/instances.json"});
  CHECK(says(flat, "the sets train2017 and val2017, and also 'annotations', which are not classes: "));
  CHECK(says(flat, "/src/train2017 DST --unlabeled`"));
  CHECK(says(flat, "/src/train2017 DST --list FILE.csv --label-column NAME`"));
  CHECK(!says(flat, "move"));

  const std::string alone = refusal({"train/cat/1.jpg"});
  CHECK(says(alone, "convert it alone: `shardctl convert "));
  CHECK(says(alone, "/src/train DST`"));

  const std::string others = refusal({"train/cat/1.jpg", "val/cat/1.jpg", "extra/1.jpg"});
  CHECK(says(others, "move 'extra' away, or convert each with the classes of all: `(set -C; find "));
  CHECK(says(others, "/src/train DST --class-map classes.txt`"));

  CHECK(says(refusal({"Train/cat/1.jpg", "val2017/cat/1.jpg"}), "rename them to train, val and test, or convert each"));
  for (const std::vector<std::string>& stray :
       {std::vector<std::string>{"train/x.jpg"}, {"val/x.jpg", "train/x.jpg"}}) {
    std::vector<std::string> files{"train/cat/1.jpg", "val/cat/1.jpg"};
    files.insert(files.end(), stray.begin(), stray.end());
    CHECK(says(refusal(files), "/src/train/x.jpg' to a class folder or away, or convert each"));
  }
  CHECK(says(refusal({"train/cat/1.jpg", "test/1.jpg", "dev.txt/x"}), "convert it alone"));
}

TEST_CASE("sets are also named together, by what differs between their folders") {
  CHECK(says(refusal({"seg_train/sea/1.jpg", "seg_test/sea/1.jpg"}), "the sets seg_test and seg_train, which"));
  CHECK(says(refusal({"trainA/1.jpg", "trainB/1.jpg", "testA/1.jpg", "testB/1.jpg"}), "the sets testA and testB and"));
  CHECK(says(refusal({"x/train/sea/1.jpg", "x/test/sea/1.jpg"}),
             "/src/x' is not a class: it contains the sets test and"));
  CHECK(says(refusal({"train2017/1.jpg", "val2017/1.jpg", "notes/instances_train2017.json"}),
             "/src/notes/instances_train2017.json`"));
  for (const char* name : {"bus_station", "test_station"})
    CHECK(refusal({"train_station/1.jpg", fmt::format("{}/1.jpg", name)}).empty() == (name[0] == 'b'));
}

TEST_CASE("a set whose only folder is the one in the classes of another set has no classes") {
  Source source{"train/n1/images/1.jpg", "train/n2/images/1.jpg", "val/images/1.jpg"};
  const SetFolders sets = source.find();
  CHECK(sets.names == std::vector<std::string>{"train"});
  CHECK(sets.classes == std::vector<std::string>{"n1", "n2"});
  CHECK(source.warning() == "set_without_classes");
  Source disjoint{"train/n1/images/1.jpg", "val/n2/images/1.jpg"};
  CHECK(disjoint.find().names == std::vector<std::string>{"train", "val"});
  CHECK(disjoint.warning() == "set_lacks_classes");
}

TEST_CASE("without labels several sets in one are reported") {
  Source source{"train2017/1.jpg", "val2017/1.jpg"};
  refuse_unclear_folders(source.dir.path("src"), {}, source.context, false);
  CHECK(source.warning() == "sets_joined");
  Source one{"train2017/1.jpg", "annotations/1.json"};
  refuse_unclear_folders(one.dir.path("src"), {}, one.context, false);
  CHECK(one.context.warnings().empty());
}

TEST_CASE("a source that is not there is an error") {
  Context context;
  CHECK_THROWS_AS(find_set_folders(std::string("/nonexistent/src"), context), Error);
}
