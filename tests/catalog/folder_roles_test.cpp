#include "catalog/folder_roles.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "catalog/set_folders.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;

namespace {

using Files = std::vector<std::string>;

struct Tree {
  TempDir dir;
  Context context;
  SourceFolder source{dir.path("src")};

  explicit Tree(const Files& files) {
    for (const std::string& file : files) write_file(dir.path("src/" + file), "x");
  }

  /// The options of the commands, "FOLDER OPTIONS".
  Files commands(const std::string& parent = {}) {
    Files found = commands_for_parts(source, parent);
    const std::string start = "shardctl convert " + dir.path("src/");
    for (std::string& command : found) {
      REQUIRE(command.starts_with(start));
      command.erase(0, start.size());
      const std::size_t target = command.find(" DST");
      command.replace(target, 4, command[target + 4] == '/' ? " " : "");
    }
    return found;
  }

  std::optional<UndeclaredFields> undeclared(bool unlabeled) {
    ScanOptions options;
    options.unlabeled = unlabeled;
    return find_undeclared_fields(scan_image_folder(source, options, context));
  }

  std::string refusal() {
    try {
      refuse_unclear_folders(source, find_set_folders(source, context), context, true);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::usage);
      return error.what();
    }
    return {};
  }
};

}  // namespace

TEST_CASE("a folder's name says which part of samples it contains, in any case and with a set's name in it") {
  using Role = FolderName::Role;
  for (const char* name : {"images", "IMG", "JPEGImages", "leftImg8bit", "rgb", "images-2017"}) {
    CAPTURE(name);
    CHECK(read_folder_name(name).role == Role::images);
    CHECK(read_folder_name(name).is_part());
  }
  for (const char* name : {"masks", "Mask", "annotations", "Annotations_trainval2017", "labels", "SegmentationClass",
                           "gtFine", "ground_truth", "depth", "train_masks", "labels-val", "test_labels"}) {
    CAPTURE(name);
    CHECK(read_folder_name(name).role == Role::annotations);
    CHECK(read_folder_name(name).is_part());
    CHECK_FALSE(read_folder_name(name).is_only_set());
  }
  for (const char* name : {"train", "val2017", "train_images", "testset"}) CHECK(read_folder_name(name).is_only_set());
  for (const char* name :
       {"cat", "with_mask", "unlabeled", "normal", "imaging", "segments", "0", "_", "maskers", "data"}) {
    CAPTURE(name);
    CHECK_FALSE(read_folder_name(name).is_part());
    CHECK_FALSE(read_folder_name(name).is_only_set());
  }
  CHECK(read_folder_name("val_masks").field == "mask");
}

TEST_CASE("the commands for images and what lies beside them fit the tree") {
  const auto commands = [](const Files& files) { return Tree(files).commands(); };
  CHECK(commands({"images/1.jpg", "images/2.jpg", "masks/1.png", "masks/2.png"}) ==
        Files{"images --unlabeled --field 'mask.png=../masks/{stem}.png'"});
  CHECK(commands({"images/1.jpg", "images/2.jpg", "masks/1_mask.png"}) ==
        Files{"images --unlabeled --field 'mask.png?=../masks/{stem}_mask.png'"});
  CHECK(commands({"images/a/1.jpg", "images/b/1.jpg", "masks/a/1.png", "masks/b/1.png"}) ==
        Files{"images --field 'mask.png=../masks/{dir}/{stem}.png'"});
  CHECK(commands({"images/train/1.jpg", "images/val/2.jpg", "labels/train/1.txt", "labels/val/2.txt"}) ==
        Files{"images --unlabeled --field 'txt=../labels/{dir}/{stem}.txt'"});
  CHECK(commands({"images/train2017/1.jpg", "images/val2017/2.jpg", "labels/train2017/1.txt"}) ==
        Files{"images/train2017 /train2017 --unlabeled --field 'txt=../../labels/train2017/{stem}.txt'"});
  CHECK(commands({"train_images/1.jpg", "train_masks/1.png", "test_images/2.jpg", "test_masks/2.png"}) ==
        Files{"test_images /test_images --unlabeled --field 'mask.png=../test_masks/{stem}.png'",
              "train_images /train_images --unlabeled --field 'mask.png=../train_masks/{stem}.png'"});
  CHECK(commands({"JPEGImages/1.jpg", "JPEGImages/2.jpg", "Annotations/1.xml", "Annotations/2.xml",
                  "SegmentationClass/1.png", "SegmentationObject/1.png", "ImageSets/Main/train.txt"}) ==
        Files{"JPEGImages --unlabeled --field 'xml=../Annotations/{stem}.xml' --field "
              "'seg.png?=../SegmentationClass/{stem}.png' --field 'object.png?=../SegmentationObject/{stem}.png'"});
  CHECK(commands({"rgb/1_rgb.png", "depth/1_depth.png"}) ==
        Files{"rgb --unlabeled --field 'depth.png=../depth/{stem-_rgb}_depth.png'"});
  CHECK(commands({"images/1.jpg", "labels/other.txt"}).empty());
  Tree coco(
      {"train2017/1.jpg", "val2017/2.jpg", "annotations/captions_val2017.json", "annotations/instances_val2017.json"});
  CHECK(coco.commands() ==
        Files{"val2017 /val2017 --unlabeled --metadata " + coco.dir.path("src/annotations/instances_val2017.json")});
  CHECK(Tree({"train/images/1.jpg", "train/labels/1.txt"}).commands("train") ==
        Files{"train/images /train --unlabeled --field 'txt=../labels/{stem}.txt'"});
}

TEST_CASE("folders with roles side by side are no classes, and one alone may be") {
  for (const Files& files : std::initializer_list<Files>{
           {"images/1.jpg", "masks/1.png"},
           {"images/1.jpg", "labels/1.txt", "cats/1.jpg"},
           {"depth/1.png", "masks/1.png"},
           {"images/train/1.jpg", "images/val/2.jpg"},
           {"train/images/1.jpg", "train/labels/1.txt", "val/images/1.jpg", "val/labels/1.txt"},
       }) {
    CAPTURE(files.front());
    CHECK(doctest::String(Tree(files).refusal().c_str()) == doctest::Contains("parts of samples"));
  }
  for (const Files& files : std::initializer_list<Files>{
           {"images/1.jpg", "cats/1.jpg"}, {"mask/1.jpg", "no_mask/1.jpg"}, {"images/cat/1.jpg", "images/dog/2.jpg"}}) {
    CAPTURE(files.front());
    CHECK(Tree(files).refusal().empty());
  }
}

TEST_CASE("a stem that occurs twice with the name of a role behind it is a field that nobody declared") {
  struct Row {
    Files files;
    Files sidecars;
    Files fields;
  };
  for (const auto& [files, sidecars, fields] : std::initializer_list<Row>{
           {{"a/x.jpg", "a/x_mask.png"}, {"_mask.png"}, {}},
           {{"a/x.jpg", "a/y.jpg", "a/x_Seg.PNG", "b/z.jpg", "b/z_depth.png"}, {"_Seg.PNG", "_depth.png"}, {}},
           {{"a/1_img.png", "a/1_mask.png"}, {}, {"mask.png={dir}/{stem-_img}_mask.png"}},
           {{"a/x (1).png", "a/x (1)_mask.png", "a/x (1)_mask_1.png"},
            {"_mask.png"},
            {"mask.png={dir}/{stem}_mask*.png"}},
       }) {
    CAPTURE(files.front());
    const auto found = Tree(files).undeclared(false);
    REQUIRE(found);
    CHECK(found->sidecars == sidecars);
    CHECK(found->fields == fields);
  }
  for (const Files& files :
       std::initializer_list<Files>{{"a/x.jpg", "a/y_mask.png"},
                                    {"a/x.jpg", "a/x_1.jpg"},
                                    {"a/x.jpg", "b/x_mask.jpg"},
                                    {"a/1.jpg", "a/2.jpg", "a/3.jpg", "a/4.jpg", "a/5.jpg", "a/5_mask.jpg"}}) {
    CAPTURE(files.front());
    CHECK_FALSE(Tree(files).undeclared(false));
  }
}

TEST_CASE("folders with roles below a class, or without classes, contain parts of samples") {
  const auto fields = [](const Files& files, bool unlabeled) {
    const auto found = Tree(files).undeclared(unlabeled);
    REQUIRE(found);
    CHECK(found->folders.size() == 2);
    return found->fields;
  };
  CHECK(fields({"cat/images/1.jpg", "cat/masks/1.png"}, false) == Files{"mask.png={dir}/../masks/{stem}.png"});
  CHECK(fields({"7f/images/7f.png", "7f/masks/a.png", "7f/masks/b.png"}, true) ==
        Files{"mask.png={dir}/../masks/*.png"});
  CHECK(fields({"images/1.jpg", "masks/1.png"}, true) == Files{"mask.png={dir}/../masks/{stem}.png"});
  CHECK(fields({"images/1.jpg", "masks/1.png", "masks/2.png"}, true).empty());  // 2.png would be a sample still
  CHECK_FALSE(Tree({"images/1.jpg", "labels/1.txt"}).undeclared(true));
  CHECK_FALSE(Tree({"images/1.jpg", "masks/1.png"}).undeclared(false));  // classes are refused before
}
