#include "catalog/tree_meaning.hpp"

#include <algorithm>
#include <string>
#include <string_view>
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
using Kind = TreeEvidence::Kind;

/// A tree of files of 20 kB, or of a few bytes behind "-": "masks/-1.png" is small.
struct Tree {
  TempDir dir;
  Context context;
  SourceFolder source{dir.path("src")};

  explicit Tree(const Files& files) {
    for (std::string file : files) {
      const std::size_t small = file.find("/-");
      const bool is_small = small != std::string::npos;
      if (is_small) file.erase(small + 1, 1);
      write_file(dir.path("src/" + file), std::string(is_small ? 1 : 20000, 'x'));
    }
  }

  std::vector<TreeEvidence> read(bool unlabeled = false) {
    ScanOptions options;
    options.unlabeled = unlabeled;
    return read_tree(scan_image_folder(source, options, context));
  }

  /// "FOLDER OPTIONS" of the command for the first evidence.
  std::string command(bool unlabeled = false) {
    const std::vector<TreeEvidence> found = read(unlabeled);
    REQUIRE(!found.empty());
    CHECK(found.front().certain);
    std::string command = command_for_parts(source, found.front(), "");
    const std::string start = "`shardctl convert " + dir.path("src/");
    REQUIRE(command.starts_with(start));
    command.erase(0, start.size());
    return command.erase(command.find(" DST"), 4);
  }

  std::string refusal() {
    try {
      const SetFolders sets = find_set_folders(source, context);
      refuse_unclear_folders(source, sets, context, true);
      scan_image_folder(sets.names.empty() ? source : source.below(sets.names.front()), {}, context);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::usage);
      return error.what();
    }
    return {};
  }
};

/// "certain" or "ambiguous" with the kind of the first evidence; empty for none.
std::string first_of(const std::vector<TreeEvidence>& found) {
  constexpr const char* kinds[] = {"parts", "suffixes", "wrappers"};
  if (found.empty()) return {};
  return std::string(found.front().certain ? "certain " : "ambiguous ") + kinds[static_cast<int>(found.front().kind)];
}

}  // namespace

TEST_CASE("a name that consists of words for sets is one of a set, in any case") {
  for (const char* name : {"train", "Val2017", "train_images", "testset", "trainval", "test-dev2017", "images_test"}) {
    CAPTURE(name);
    CHECK(is_named_as_set(name));
  }
  for (const char* name : {"cat", "train_masks", "labels-val", "trains", "train_station", "settings", "2017", "_"}) {
    CAPTURE(name);
    CHECK_FALSE(is_named_as_set(name));
  }
}

TEST_CASE("files of two kinds that share their names are parts of samples, whatever their folders are called") {
  struct Row {
    Files files;
    std::string_view command;
  };
  for (const auto& [files, command] : std::initializer_list<Row>{
           {{"x/1.jpg", "x/2.jpg", "y/1.png", "y/2.png"}, "x --unlabeled --field 'y.png=../y/{stem}.png'`"},
           {{"images/1.jpg", "images/2.jpg", "masks/1_mask.png", "masks/2_mask.png"},
            "images --unlabeled --field 'mask.png=../masks/{stem}_mask.png'`"},
           {{"images/p.jpg", "images/q.jpg", "images/r.jpg", "masks/p.png", "masks/r.png"},
            "images --unlabeled --field 'mask.png?=../masks/{stem}.png'`"},
           {{"images/a/1.jpg", "images/b/1.jpg", "masks/a/1.png", "masks/b/1.png"},
            "images --field 'mask.png=../masks/{dir}/{stem}.png'`"},
           {{"rgb/1_rgb.png", "rgb/2_rgb.png", "depth/-1_depth.png", "depth/-2_depth.png"},
            "rgb --unlabeled --field 'depth.png=../depth/{stem-_rgb}_depth.png'`"},
           {{"x/p.png", "x/q.png", "y/-p.png", "y/-q.png"}, "x --unlabeled --field 'y.png=../y/{stem}.png'`"},
       }) {
    CAPTURE(files.front());
    CHECK(Tree(files).command() == command);
  }
}

TEST_CASE("classes whose files are numbered alike, or share names and are of one kind, stay classes") {
  struct Row {
    Files files;
    std::string_view evidence;
  };
  for (const auto& [files, evidence] : std::initializer_list<Row>{
           {{"cat/1.jpg", "dog/1.jpg"}, ""},
           {{"cat/1.jpg", "cat/2.jpg", "cat/3.jpg", "dog/1.jpg", "dog/2.jpg", "dog/3.jpg"}, "ambiguous parts"},
           {{"cat/1.jpg", "cat/2.jpg", "cat/3.jpg", "dog/1.jpg", "dog/2.jpg", "dog/3.jpg", "dog/4.jpg"}, ""},
           {{"0/1.jpg", "0/2.jpg", "0/3.jpg", "1/1.jpg", "1/2.jpg", "1/3.jpg"}, ""},
           {{"cat/cat_1.jpg", "cat/cat_2.jpg", "cat/cat_3.jpg", "dog/dog_1.jpg", "dog/dog_2.jpg", "dog/dog_3.jpg"}, ""},
           {{"real/p.jpg", "real/q.jpg", "real/r.jpg", "fake/p.jpg", "fake/q.jpg", "fake/r.jpg"}, "ambiguous parts"},
           {{"photo/-1.jpg", "photo/-2.jpg", "photo/-3.jpg", "drawing/1.png", "drawing/2.png", "drawing/3.png"},
            "ambiguous parts"},
           {{"photo/1.jpg", "photo/2.jpg", "photo/3.jpg", "drawing/-1.png", "drawing/-2.png"}, "ambiguous parts"},
           {{"cat/cat_1.jpg", "cat/cat_2.jpg", "dog/dog_1.png", "dog/dog_2.png"}, "ambiguous parts"},
           {{"images/1.jpg", "cats/2.jpg"}, ""},
           {{"mask/1.jpg", "no_mask/1.jpg"}, ""},
           {{"run/v1/f1.jpg", "run/v1/f2.jpg", "run/v2/f1.jpg", "walk/v1/f1.jpg", "walk/v3/f1.jpg", "walk/v3/f2.jpg"},
            ""},
           {{"A/p.png", "A/q.png", "A/r.png", "B/p.png", "B/q.png", "B/r.png", "label/-p.png", "label/-q.png",
             "label/-r.png"},
            "certain parts"},
       }) {
    CAPTURE(files.front());
    CAPTURE(files.back());
    CHECK(first_of(Tree(files).read()) == evidence);
  }
}

TEST_CASE("a folder without images is no class, and is described by what it contains") {
  const auto refusal = [](const Files& files) { return Tree(files).refusal(); };
  for (const Files& files : std::initializer_list<Files>{
           {"img/p.jpg", "img/q.jpg", "ann/p.jpg.json", "ann/q.jpg.json"},
           {"images/1.jpg", "images/2.jpg", "labels/1.txt", "labels/2.txt"},
           {"train/images/1.jpg", "train/labels/1.txt", "val/images/1.jpg", "val/labels/1.txt"}}) {
    CAPTURE(files.front());
    const std::string text = refusal(files);
    CHECK(doctest::String(text.c_str()) == doctest::Contains("' is not a class: it has no images, but "));
    CHECK(doctest::String(text.c_str()) == doctest::Contains(" named like images in '"));
    CHECK(doctest::String(text.c_str()) == doctest::Contains("`shardctl convert "));
  }
  const std::string others = refusal({"images/1.jpg", "labels/1.txt", "cats/2.jpg"});
  CHECK(doctest::String(others.c_str()) == doctest::Contains("1 .txt"));
  CHECK(others.find("shardctl convert") == std::string::npos);  // it would leave out cats
  const std::string more = refusal({"images/1.jpg", "labels/1.txt", "labels/classes.txt"});
  CHECK(doctest::String(more.c_str()) == doctest::Contains("which leaves out 1 file of 'labels'"));
  CHECK(doctest::String(refusal({"images/train/1.jpg", "images/val/2.jpg"}).c_str()) ==
        doctest::Contains("contains the sets train and val"));
}

TEST_CASE("files whose names continue others, or differ in their last word, are fields that nobody declared") {
  struct Row {
    Files files;
    std::string_view evidence;
    Files sidecars;
    Files fields;
  };
  for (const auto& [files, evidence, sidecars, fields] : std::initializer_list<Row>{
           {{"a/x.jpg", "a/x_mask.png", "a/y.jpg", "a/y_mask.png"}, "certain suffixes", {"_mask.png"}, {}},
           {{"a/x.jpg", "a/x_mask.png"}, "ambiguous suffixes", {"_mask.png"}, {}},
           {{"a/x.jpg", "a/y.jpg", "a/x_Seg.PNG", "b/z.jpg", "b/z_Seg.PNG"}, "certain suffixes", {"_Seg.PNG"}, {}},
           {{"a/1_img.png", "a/-1_mask.png", "a/2_img.png", "a/-2_mask.png"},
            "certain suffixes",
            {},
            {"mask.png={dir}/{stem-_img}_mask.png"}},
           {{"a/x (1).png", "a/-x (1)_mask.png", "a/-x (1)_mask_1.png"},
            "certain suffixes",
            {},
            {"mask.png={dir}/{stem}_mask*.png"}},
           {{"a/x.jpg", "a/x_flip.jpg", "a/y.jpg", "a/y_flip.jpg", "a/z.jpg", "a/z_flip.jpg"},
            "ambiguous suffixes",
            {"_flip.jpg"},
            {}},
           {{"p/p_t1.png", "p/p_t2.png", "p/p_flair.png", "q/q_t1.png", "q/q_t2.png", "q/q_flair.png"},
            "certain suffixes",
            {},
            {"t1.png={dir}/{stem-_flair}_t1.png", "t2.png={dir}/{stem-_flair}_t2.png"}},
           {{"a/p_up.png", "a/p_down.png", "a/p_back.png", "b/p_up.png", "b/p_down.png", "b/p_back.png"},
            "ambiguous parts",
            {},
            {}},
           {{"a/ISIC_3f.jpg", "a/ISIC_7b.jpg", "a/ISIC_a0.jpg"}, "", {}, {}},
           {{"a/x.jpg", "a/y_mask.png"}, "", {}, {}},
           {{"a/x.jpg", "a/x_1.jpg"}, "", {}, {}},
           {{"a/1.jpg", "a/2.jpg", "a/3.jpg", "a/4.jpg", "a/5.jpg", "a/5_mask.jpg"}, "", {}, {}},
       }) {
    CAPTURE(files.front());
    CAPTURE(files.back());
    const std::vector<TreeEvidence> found = Tree(files).read();
    CHECK(first_of(found) == evidence);
    if (found.empty()) continue;
    CHECK(found.front().sidecars == sidecars);
    CHECK(found.front().fields == fields);
  }
}

TEST_CASE("folders below a class, or without classes, contain parts of samples") {
  const auto fields = [](const Files& files, bool unlabeled) {
    const auto found = Tree(files).read(unlabeled);
    CHECK(first_of(found) == "certain parts");
    return found.empty() ? Files() : found.front().fields;
  };
  CHECK(fields({"cat/images/1.jpg", "cat/masks/1.png", "dog/images/1.jpg", "dog/masks/1.png"}, false) ==
        Files{"mask.png={dir}/../masks/{stem}.png"});
  CHECK(fields({"7f/images/7f.png", "7f/masks/a.png", "7f/masks/b.png"}, true) ==
        Files{"mask.png={dir}/../masks/*.png"});
  CHECK(fields({"a/images/p.jpg", "a/masks/p.png", "b/images/p.jpg", "b/masks/p.png", "b/masks/q.png", "c/images/p.jpg",
                "c/masks/p.png"},
               false)
            .empty());  // q.png would be a sample still
  CHECK(Tree({"images/1.jpg", "images/2.jpg", "masks/1.png", "masks/2.png"}).command(true) ==
        "images --unlabeled --field 'mask.png=../masks/{stem}.png'`");
  CHECK(Tree({"images/1.jpg", "labels/1.txt"}).read(true).empty());
}

TEST_CASE("class folders with the same folders in them are folds if their names differ in a number") {
  const auto of = [](const std::vector<std::string>& folders) {
    Files files;
    for (const std::string& folder : folders) files.push_back(folder + "/x.jpg");
    return first_of(Tree(files).read());
  };
  CHECK(of({"fold_0/all", "fold_0/hem", "fold_1/all", "fold_1/hem"}) == "certain wrappers");
  CHECK(of({"cats/indoor", "cats/outdoor", "dogs/indoor", "dogs/outdoor"}) == "ambiguous wrappers");
  CHECK(of({"0/indoor", "0/outdoor", "1/indoor", "1/outdoor"}) == "ambiguous wrappers");
  CHECK(of({"n1/images", "n2/images"}).empty());
  CHECK(of({"run/clip1", "run/clip2", "walk/clip1", "walk/clip2"}).empty());
}
