#include <stop_token>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "catalog/image_table.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;

namespace {

struct Tables {
  TempDir dir;
  ImageNotes notes;
  Context context;

  std::string write(const char* name, const std::string& text) {
    write_file(dir.path(name), text);
    return dir.path(name);
  }
  void metadata(const char* name, const std::string& text) {
    notes.add_metadata(write(name, text), "path", dir.path("src"), context);
  }
  void labels(const char* name, const std::string& text) {
    ImageListOptions list;
    list.file = write(name, text);
    list.label_column = "tags";
    notes.add_labels(list, dir.path("src"), context);
  }
};

ImageFolderScan scan_of(std::initializer_list<const char*> paths) {
  ImageFolderScan scan;
  ScannedClass& owner = scan.classes.emplace_back();
  for (const char* path : paths) owner.files.push_back({0, 0, owner.add_name(path)});
  return scan;
}

}  // namespace

TEST_CASE("a row becomes an object of all columns but the path, in their order") {
  Tables csv;
  csv.metadata("m.csv", "width,path,caption\n500,a.jpg,\"say \"\"hi\"\"\"\n");
  CHECK(csv.notes.json_of("a.jpg") == R"({"width":"500","caption":"say \"hi\""})");
  Tables json;
  json.metadata("m.jsonl", "{\"z\":1.5,\"path\":\"a.jpg\",\"a\":[null,{\"b\":true}]}\n");
  CHECK(json.notes.json_of("a.jpg") == R"({"z":1.5,"a":[null,{"b":true}]})");
}

TEST_CASE("several labels are a list with their types") {
  Tables json;
  json.labels("l.jsonl", "{\"path\":\"a.jpg\",\"tags\":[3,\"x\"]}\n");
  CHECK(json.notes.json_of("a.jpg") == R"({"tags":[3,"x"]})");
}

TEST_CASE("labels and metadata of one file stand side by side") {
  Tables both;
  const char* row = "{\"path\":\"a.jpg\",\"tags\":[\"cat\",\"dog\"],\"w\":5}\n";
  both.labels("l.jsonl", row);
  both.metadata("l.jsonl", row);
  CHECK(both.notes.json_of("a.jpg") == R"({"tags":["cat","dog"],"w":5})");
}

TEST_CASE("images without a row are not known, rows without an image are counted") {
  Tables tables;
  tables.metadata("m.csv", "path,x\nz.jpg,1\na.jpg,1\ny.jpg,1\n");
  CHECK(tables.notes.knows("a.jpg"));
  CHECK(!tables.notes.knows("b.jpg"));
  CHECK(tables.notes.json_of("b.jpg").empty());
  ImageFolderScan scan;
  ScannedClass& owner = scan.classes.emplace_back();
  owner.files.push_back({0, 0, owner.add_name("a.jpg")});
  const ImageNotes::Unused unused = tables.notes.unused(scan);
  CHECK(unused.rows == 2);
  CHECK(unused.line == 2);
}

TEST_CASE("where an image has several rows, each .json is a list of rows in the table's order") {
  Tables tables;
  tables.metadata("m.csv", "path,x\na.jpg,1\nb.jpg,3\na,2\n");
  tables.notes.complete(scan_of({"a.jpg", "b.jpg"}), tables.context);
  CHECK(tables.notes.json_of("a.jpg") == R"([{"x":"1"},{"x":"2"}])");
  CHECK(tables.notes.json_of("b.jpg") == R"([{"x":"3"}])");
  Tables both;
  both.metadata("m.csv", "path,x\na.jpg,1\n");
  both.labels("l.csv", "path,tags\na.jpg,cat\na.jpg,dog\n");
  CHECK_THROWS_WITH_AS(both.notes.complete(scan_of({"a.jpg"}), both.context), doctest::Contains("join them into one"),
                       Error);
}

TEST_CASE("a row that repeats another exactly counts once, and others are named with their lines") {
  Tables tables;
  tables.metadata("m.csv", "path,x\na.jpg,1\nb.jpg,3\na.jpg,1\n");
  tables.notes.complete(scan_of({"a.jpg", "b.jpg"}), tables.context);
  CHECK(tables.notes.json_of("a.jpg") == R"({"x":"1"})");
  REQUIRE(tables.context.warnings().size() == 1);
  CHECK(tables.context.warnings()[0].code == "rows_repeated");
  Tables others;
  others.metadata("m.csv", "path,x\nb.jpg,3\na.jpg,1\na.jpg,2\na.jpg,1\n");
  others.notes.complete(scan_of({"a.jpg", "b.jpg"}), others.context);
  CHECK(others.notes.json_of("a.jpg") == R"([{"x":"1"},{"x":"2"}])");
  REQUIRE(others.context.warnings().size() == 2);
  CHECK(others.context.warnings()[1].text.find("'a.jpg', lines 3 and 4") != std::string::npos);
}

TEST_CASE("a quoted value that contains line ends and separators is warned of with its line") {
  for (const auto& [name, text, warned] : std::initializer_list<std::tuple<const char*, const char*, bool>>{
           {"m.tsv", "path\tx\na.jpg\t\"say\nb.jpg\thi\"\n", true},
           {"m.csv", "path,x\na.jpg,\"two\nlines, here\"\n", true},
           {"m.csv", "path,x\na.jpg,\"two\nlines\"\n", false},
           {"m.csv", "path,x\na.jpg,\"a, b\"\n", false}}) {
    Tables tables;
    tables.metadata(name, text);
    CHECK(tables.context.warnings().size() == (warned ? 1 : 0));
    if (!warned) continue;
    CHECK(tables.context.warnings()[0].code == "quoted_lines");
    CHECK(tables.context.warnings()[0].text.find("line 2:") != std::string::npos);
  }
}

TEST_CASE("a table without a header is refused with the line to add") {
  Tables tables;
  for (const auto& [name, text, header] : std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"m.csv", "a.jpg,cat\nb.jpg,dog\n", "'1i path,label'"},
           {"m.tsv", "7\tcat\ta.jpg\n", "'1i label\\tcolumn2\\tpath'"}}) {
    CHECK_THROWS_WITH_AS(tables.metadata(name, text), doctest::Contains(header), Error);
  }
  CHECK_THROWS_WITH_AS(
      tables.notes.add_metadata(tables.write("m.csv", "a.jpg,cat\n"), "a.jpg", tables.dir.path("src"), tables.context),
      doctest::Contains("has no header"), Error);
  tables.metadata("m.csv", "path,seg.png\na.jpg,1\n");
}

TEST_CASE("COCO's images are rows with their annotations and the names of categories") {
  Tables coco;
  coco.metadata("instances.json", R"({"info":{},"images":[{"id":1,"file_name":"a.jpg","width":5}],
    "annotations":[{"id":7,"image_id":1,"category_id":3,"bbox":[1,2,3,4]}],"categories":[{"id":3,"name":"dog"}]})");
  CHECK(coco.notes.json_of("a.jpg") ==
        R"({"id":1,"width":5,"annotations":[{"id":7,"category_id":3,"category":"dog","bbox":[1,2,3,4]}]})");
  CHECK(coco.notes.unused(scan_of({"b.jpg"})).is_fault);
}

TEST_CASE("labels are a list with their types, whether a row repeats or not") {
  Tables tables;
  tables.labels("l.jsonl",
                "{\"path\":\"a.jpg\",\"x\":1,\"tags\":[\"cat\",7]}\n{\"path\":\"a.jpg\",\"x\":2,\"tags\":[]}\n"
                "{\"path\":\"b.jpg\",\"x\":3,\"tags\":[\"007\"]}\n");
  tables.notes.complete(scan_of({"a.jpg", "b.jpg"}), tables.context);
  CHECK(tables.notes.json_of("a.jpg") == R"([{"x":1,"tags":["cat",7]},{"x":2,"tags":[]}])");
  CHECK(tables.notes.json_of("b.jpg") == R"([{"x":3,"tags":["007"]}])");
}

TEST_CASE("a row may name its image without the extension") {
  Tables tables;
  tables.metadata("m.csv", "path,x\npool/a.v2,1\n");
  CHECK(tables.notes.json_of("pool/a.v2.jpg") == R"({"x":"1"})");
  CHECK_FALSE(tables.notes.knows("pool/a.jpg"));
}

TEST_CASE("text that no JSON can hold is refused with file and line") {
  Tables tables;
  tables.metadata("n.csv", "path,x\na.jpg,1\nb.jpg,\xff\n");
  CHECK_THROWS_WITH_AS(tables.notes.json_of("b.jpg"), doctest::Contains("line 3: a value is not UTF-8"), Error);
}

TEST_CASE("a table that changes while it is used is noticed") {
  Tables tables;
  tables.metadata("m.csv", "path,x\na.jpg,1\n");
  tables.write("m.csv", "path,x\n\"");
  CHECK_THROWS_AS(tables.notes.json_of("a.jpg"), Error);
  tables.write("m.csv", "path,x\nb.jpg,1\n");
  CHECK_THROWS_WITH_AS(tables.notes.json_of("a.jpg"), doctest::Contains("changed while being read"), Error);
  Tables labels;
  labels.labels("l.jsonl", "{\"path\":\"a.jpg\",\"tags\":[3]}\n");
  labels.write("l.jsonl", "{\"path\":\"a.jpg\",\"tags\":333}\n");
  CHECK_THROWS_WITH_AS(labels.notes.json_of("a.jpg"), doctest::Contains("changed while being read"), Error);
}

TEST_CASE("a stop ends the reading of a table of any length") {
  TempDir dir;
  std::string text = "path,x\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + ".jpg,1\n";
  write_file(dir.path("m.csv"), text);
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  ImageNotes notes;
  CHECK_THROWS_WITH_AS(notes.add_metadata(dir.path("m.csv"), "path", dir.path("src"), context),
                       doctest::Contains("interrupted"), Error);
}
