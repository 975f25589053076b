#include "catalog/sample_fields.hpp"

#include <doctest/doctest.h>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;

namespace {

using Kinds = decltype(IgnoredFiles::kinds);

std::string template_of(const char* declared, const char* path) {
  const auto pattern = FieldTemplate(declared).pattern_for(path);
  return pattern ? pattern->text() : "none";
}

std::string refusal(const char* declared) {
  try {
    FieldTemplate{declared};
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    return error.what();
  }
  return "accepted";
}

/// The members of each sample, as "name=path", by the path of the file that starts it.
std::map<std::string, std::vector<std::string>> samples_of(const ImageFolderScan& scan) {
  std::map<std::string, std::vector<std::string>> samples;
  for (const ScannedClass& owner : scan.classes) {
    for (const ScannedFile& file : owner.files) samples[owner.path_of(file)];
    for (const ScannedMember& member : owner.members) {
      samples[owner.path_of(owner.files[member.image])].push_back(scan.member_name(member) + "=" +
                                                                  owner.path_of(member.file));
    }
  }
  return samples;
}

struct Tree {
  TempDir dir;
  ScanOptions options{.fields = {}, .unlabeled = true};

  Tree(std::initializer_list<const char*> files) {
    for (const char* file : files) write_file(dir.path(file), file);
  }

  ImageFolderScan scan(std::initializer_list<const char*> fields, const char* source = "src") {
    for (const char* field : fields) options.fields.emplace_back(field);
    Context context;
    return scan_image_folder(dir.path(source), options, context);
  }

  std::map<std::string, std::vector<std::string>> samples(std::initializer_list<const char*> fields) {
    return samples_of(scan(fields));
  }
};

using Samples = std::map<std::string, std::vector<std::string>>;

}  // namespace

TEST_CASE("a template's words stand for parts of the path that starts the sample") {
  CHECK(template_of("m=../gt/{dir}/{stem-_img}_gt.png", "train/a/x_img.png") == "../gt/train/a/x_gt.png");
  CHECK(template_of("m={class}.txt", "train/a/x.png") == "train.txt");
  CHECK(template_of("m=notes/{name}.json", "a/x.v2.png") == "notes/x.v2.png.json");
  CHECK(template_of("m={dir}/{stem}.xml", "x.png") == "x.xml");
  CHECK(template_of("m=../a/{dir}/./../{stem}", "b/x.png") == "../a/x");
  CHECK(template_of("m={dir}/{stem}_*.png", "b/x.png") == "b/x_*.png");
  CHECK(template_of("m=../gt/{stem-_img}.png", "a/x_photo.png") == "none");
}

TEST_CASE("a declaration that cannot be followed is refused with the reason") {
  CHECK(refusal("mask.png").find("NAME=TEMPLATE") != std::string::npos);
  CHECK(refusal("m={folder}/x").find("unknown {folder}") != std::string::npos);
  CHECK(refusal("m={stem-}").find("unknown {stem-}") != std::string::npos);
  CHECK(refusal("m={dir").find("no '}'") != std::string::npos);
  CHECK(refusal("m=/data/{stem}").find("relative to the source") != std::string::npos);
  CHECK(refusal("m=*/{stem}").find("after the last '/'") != std::string::npos);
  CHECK(refusal("m=").find("empty") != std::string::npos);
  CHECK(refusal("=x").find("1 to 24") != std::string::npos);
  CHECK(refusal("a/b=x").find("1 to 24") != std::string::npos);
  CHECK(refusal("CLS=x").find("label") != std::string::npos);
  CHECK(FieldTemplate("Mask.PNG?=x").name() == "mask.png");
  CHECK(FieldTemplate("Mask.PNG?=x").optional());
}

TEST_CASE("the number of one file of several stands before the last part of the field's name") {
  CHECK(numbered_field("mask.png", 2) == "mask.2.png");
  CHECK(numbered_field("png", 0) == "0.png");
}

TEST_CASE("a star matches any text, piece by piece") {
  const auto pattern = FieldTemplate("m={stem}_*-*.png").pattern_for("x.jpg");
  CHECK(pattern->matches("x_a-b.png"));
  CHECK(pattern->matches("x_-.png"));
  CHECK_FALSE(pattern->matches("x_ab.png"));
  CHECK_FALSE(pattern->matches("y_a-b.png"));
  CHECK_FALSE(FieldTemplate("m={stem}_*_b").pattern_for("x.jpg")->matches("x_b"));
}

TEST_CASE("files of a declared field are members of their sample and start none of their own") {
  Tree tree{"src/a/1.jpg", "src/a/1_mask.png", "src/a/2.jpg", "src/masks/2.png", "src/b/3.jpg"};
  CHECK(tree.samples({"mask.png?={dir}/{stem}_mask.png", "seg.png?=masks/{stem}.png"}) ==
        Samples{{"a/1.jpg", {"mask.png=a/1_mask.png"}}, {"a/2.jpg", {"seg.png=masks/2.png"}}, {"b/3.jpg", {}}});
}

TEST_CASE("several files of a field are numbered in bytewise order") {
  Tree tree{"src/x.jpg", "src/x_parts_10.png", "src/x_parts_2.png", "src/x.txt"};
  CHECK(tree.samples({"parts.png={dir}/{stem}_parts_*.png"}) ==
        Samples{{"x.jpg", {"txt=x.txt", "parts.0.png=x_parts_10.png", "parts.1.png=x_parts_2.png"}}});
}

TEST_CASE("fields may lie outside of the source, and in its sets") {
  Tree tree{"root/images/train/a/1_img.png", "root/gt/train/a/1_gt.png"};
  tree.options.set = "train";
  const ImageFolderScan scan = tree.scan({"gt.png=../gt/{dir}/{stem-_img}_gt.png"}, "root/images/train");
  CHECK(samples_of(scan) == Samples{{"a/1_img.png", {"gt.png=../../gt/train/a/1_gt.png"}}});
  CHECK(scan.classes.at(0).members.at(0).file.size == std::string("root/gt/train/a/1_gt.png").size());
}

TEST_CASE("a file that is declared does not ride along under its usual name, and is not ignored") {
  Tree tree{"src/a.jpg", "src/a.txt", "src/words/a.lab", "src/words/b.lab"};
  const ImageFolderScan scan = tree.scan({"caption.txt={dir}/{stem}.txt", "lab=words/{stem}.lab"});
  CHECK(samples_of(scan) == Samples{{"a.jpg", {"caption.txt=a.txt", "lab=words/a.lab"}}});
  CHECK(scan.ignored.kinds == Kinds{{".lab", 1}});
}

TEST_CASE("other files than images start samples where --primary says so") {
  Tree tree{"src/a.FLAC", "src/a.txt", "src/b.wav", "src/c.jpg"};
  tree.options.primary = {"flac", "wav"};
  const ImageFolderScan scan = tree.scan({});
  CHECK(samples_of(scan) == Samples{{"a.FLAC", {"txt=a.txt"}}, {"b.wav", {}}});
  CHECK(scan.ignored.kinds == Kinds{{".jpg", 1}});
}

TEST_CASE("a field that matches nothing is an error that says where it was looked for") {
  Tree tree{"src/a/1.jpg"};
  CHECK_THROWS_WITH_AS(tree.scan({"m?={dir}/{stem}_maks.png"}),
                       doctest::Contains("for 'a/1.jpg' it would be 'a/1_maks.png'"), Error);
  CHECK_THROWS_WITH_AS(Tree({"src/1.jpg"}).scan({"m={stem-_img}.png"}), doctest::Contains("{stem-SUFFIX}"), Error);
}

TEST_CASE("two members of one name in a sample are refused, whatever their case") {
  Tree tree{"src/a/1.png", "src/masks/1.png"};
  CHECK_THROWS_WITH_AS(tree.scan({"PNG=masks/{stem}.png"}), doctest::Contains("the member 'png'"), Error);
  Tree beside{"src/a.jpg", "src/a.JPEG"};
  beside.options.sidecars = {".JPEG"};
  CHECK_THROWS_WITH_AS(beside.scan({}), doctest::Contains("the member 'jpg'"), Error);
}

TEST_CASE("without labels images may lie anywhere, and no folder is a class") {
  Tree tree{"src/1.jpg", "src/a/2.jpg", "src/a/b/3.jpg", "src/__MACOSX/4.jpg", "src/notes.md"};
  const ImageFolderScan scan = tree.scan({});
  CHECK(samples_of(scan) == Samples{{"1.jpg", {}}, {"a/2.jpg", {}}, {"a/b/3.jpg", {}}});
  CHECK_FALSE(scan.labeled());
  CHECK(labels_by_position(scan) == std::vector<std::optional<std::uint64_t>>(2));
  CHECK(scan.ignored.kinds == Kinds{{".md", 1}});
}
