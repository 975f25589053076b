#include "catalog/image_list.hpp"

#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;

namespace {

/// A folder of images and a list of them.
struct Listed {
  TempDir dir;
  Context context;
  ImageListOptions options;
  ScanOptions scan;

  explicit Listed(const std::string& text, const char* name = "list.csv") {
    for (const char* file : {"a.jpg", "pool/b.JPEG", "pool/deep/c.png", "d e.jpg"}) {
      write_file(dir.path("src/" + std::string(file)), file);
    }
    options.file = dir.path(name);
    options.label_column = "label";
    write_file(options.file, text);
  }

  ImageList read() { return scan_image_list(dir.path("src"), options, scan, context); }
  /// "label(number):path ..." in the scan's order.
  std::string images() {
    std::string text;
    for (const ScannedClass& item : read().scan.classes) {
      text += item.name + (item.label ? "(" + std::to_string(*item.label) + ")" : "") + ":";
      for (const ScannedFile& file : item.files) text += " " + std::string(item.name_of(file));
      text += ";";
    }
    return text;
  }
  std::string refusal(ErrorCode code = ErrorCode::corrupt) {
    try {
      read();
    } catch (const Error& error) {
      CHECK(error.code() == code);
      CHECK(error.path() == options.file);
      return error.what();
    }
    return "accepted";
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("names are classes in bytewise order, whatever the order of rows") {
  Listed list("path,label\nd e.jpg,dog\npool/b.JPEG,cat\na.jpg,cat\n");
  CHECK(list.images() == "cat: a.jpg pool/b.JPEG;dog: d e.jpg;");
  const ImageFolderScan scan = list.read().scan;
  CHECK(scan.listed);
  CHECK(scan.classes[0].files[1].size == 11);
  CHECK(scan.classes[0].path_of(scan.classes[0].files[1]) == "pool/b.JPEG");
}

TEST_CASE("whole numbers are the labels themselves, in order of their value") {
  CHECK(Listed("path,label\na.jpg,10\nd e.jpg,9\npool/b.JPEG,007\n").images() ==
        "7(7): pool/b.JPEG;9(9): d e.jpg;10(10): a.jpg;");
}

TEST_CASE("with a class map numbers are names like any other") {
  Listed list("path,label\na.jpg,10\nd e.jpg,cat\n");
  list.options.class_map = {{"x", 0}};
  CHECK(list.images() == "10: a.jpg;cat: d e.jpg;");
}

TEST_CASE("a byte-order mark, CR LF, quotes and other columns do no harm") {
  CHECK(Listed("\xef\xbb\xbflabel,note,path\r\n\"cat, big\",\"two\r\nlines\",\"d e.jpg\"\r\n").images() ==
        "cat, big: d e.jpg;");
  CHECK(Listed("path\tlabel\na.jpg\tcat\n", "list.TSV").images() == "cat: a.jpg;");
  CHECK(Listed("{\"path\":\"a.jpg\",\"label\":3}\n{\"label\":\"4\",\"path\":\"d e.jpg\"}\n", "l.jsonl").images() ==
        "3(3): a.jpg;4(4): d e.jpg;");
}

TEST_CASE("without a label column images have no label") {
  Listed list("path\na.jpg\nd e.jpg\n");
  list.options.label_column.clear();
  CHECK(list.images() == ": a.jpg d e.jpg;");
  CHECK(!list.read().several_labels);
}

TEST_CASE("several labels for an image: arrays") {
  Listed json("{\"path\":\"a.jpg\",\"label\":[\"x\",\"y\"]}\n{\"path\":\"d e.jpg\",\"label\":[]}\n", "l.jsonl");
  CHECK(json.images() == ": a.jpg d e.jpg;");
  CHECK(json.read().several_labels);
  // Nobody numbers them: any text goes.
  Listed tags("{\"path\":\"a.jpg\",\"label\":[\"2022\",\"sky\"]}\n{\"path\":\"d e.jpg\",\"label\":[\"-1\",\"1.5\"]}\n",
              "l.jsonl");
  CHECK(tags.read().several_labels);
}

TEST_CASE("paths may be absolute and hold dots, as long as they lie in the source") {
  Listed list("");
  write_file(list.options.file,
             "path,label\n" + list.dir.path("src/a.jpg") + ",1\n./pool/../d e.jpg,1\npool//deep/./c.png,1\n");
  CHECK(list.images() == "1(1): a.jpg d e.jpg pool/deep/c.png;");
}

TEST_CASE("a path outside of the source is refused with its line") {
  for (const char* path : {"../src2/a.jpg", "/etc/a.jpg", "pool/../../a.jpg", ".", ".."}) {
    const std::string text = Listed("path,label\na.jpg,1\n" + std::string(path) + ",1\n").refusal();
    CHECK(contains(text, "line 3"));
    CHECK(contains(text, "is not inside the source"));
  }
}

TEST_CASE("the rows of one image are one sample, which has a label where all of them agree") {
  Listed list("path,label\na.jpg,cat\nd e.jpg,dog\n./a.jpg,cat\npool/b.JPEG,cat\npool/b.JPEG,dog\n");
  CHECK(list.images() == ": pool/b.JPEG;cat: a.jpg;dog: d e.jpg;");
  const ImageList read = list.read();
  CHECK(read.several_rows);
  CHECK(labels_by_position(read.scan) == std::vector<std::optional<std::uint64_t>>{std::nullopt, 0, 1});
  CHECK_FALSE(Listed("path,label\na.jpg,cat\n").read().several_rows);
}

TEST_CASE("rows agree where a class map gives their names one number; the first name counts, in any order of rows") {
  for (const char* text : {"path,label\na.jpg,dog\na.jpg,canine\nd e.jpg,cat\nd e.jpg,dog\n",
                           "path,label\nd e.jpg,dog\nd e.jpg,cat\na.jpg,canine\na.jpg,dog\n"}) {
    Listed list(text);
    list.options.class_map = {{"canine", 1}, {"cat", 0}, {"dog", 1}};
    CHECK(list.images() == ": d e.jpg;canine: a.jpg;cat:;dog:;");
  }
}

TEST_CASE("an id is the one file of that name which starts a sample") {
  Listed list("path,label\na,1\npool/b,2\n");
  write_file(list.dir.path("src/a.txt"), "caption");
  write_file(list.dir.path("src/a.b.jpg"), "another");
  CHECK(list.images() == "1(1): a.jpg;2(2): pool/b.JPEG;");
  write_file(list.dir.path("src/a.png"), "twin");
  CHECK(contains(list.refusal(), "line 2: 'a' may be a.jpg or a.png"));
  Listed lacking("path,label\na,cat\ngone,dog\npool/b,owl\n");
  const ImageFolderScan scan = lacking.read().scan;
  CHECK(scan.images() == 2);
  CHECK(lacking.images() == "cat: a.jpg;dog:;owl: pool/b.JPEG;");  // dog keeps its number
  REQUIRE(scan.problems.size() == 1);
  CHECK(scan.problems[0].path == "gone");
}

TEST_CASE("labels that are none are refused with their line") {
  CHECK(contains(Listed("path,label\na.jpg, 2\n").refusal(), "line 2: the label ' 2' starts or ends with white space"));
  CHECK(contains(Listed("path,label\na.jpg,\n").refusal(), "line 2: the label is empty"));
  for (const char* label : {"-1", "1.5", "+3", "1e3", "99999999999999999999"}) {
    CHECK(contains(Listed("path,label\na.jpg," + std::string(label) + "\n").refusal(),
                   "is not a whole number from 0 to 9223372036854775807"));
  }
  CHECK(contains(Listed("path,label\na.jpg,1\nd e.jpg,dog\n").refusal(), "line 3: the label 'dog' is a name"));
  CHECK(contains(Listed("path,label\na.jpg,dog\nd e.jpg,1\n").refusal(), "in line 2 it is a name"));
  CHECK(Listed("path,label\na.jpg,nan\nd e.jpg,7up\n").images() == "7up: d e.jpg;nan: a.jpg;");
  for (const char* label : {"null", "true", "-1", "1.5", "{}"}) {
    const std::string row = "{\"path\":\"a.jpg\",\"label\":" + std::string(label) + "}\n";
    CHECK(contains(Listed(row, "l.jsonl").refusal(), "line 1: the label is"));
  }
  CHECK(contains(Listed("{\"path\":\"a.jpg\"}\n", "l.jsonl").refusal(), "it has no 'label'"));
  CHECK(contains(Listed("{\"path\":\"a.jpg\",\"label\":\"x\\u0000\"}\n", "l.jsonl").refusal(), "NUL"));
  const char* mixed = "{\"path\":\"a.jpg\",\"label\":1}\n{\"path\":\"d e.jpg\",\"label\":[1]}\n";
  CHECK(contains(Listed(mixed, "l.jsonl").refusal(), "several labels here, but one in line 1"));
}

TEST_CASE("rows without a path, or with one that is no image by its name, are refused") {
  CHECK(contains(Listed("path,label\n,1\n").refusal(), "path is empty"));
  CHECK(contains(Listed("path,label\nnotes.txt,1\n").refusal(), "'notes.txt' is not an image by its name"));
  CHECK(contains(Listed("{\"label\":1}\n", "l.jsonl").refusal(), "--path-column"));
  CHECK(contains(Listed("{\"path\":7,\"label\":1}\n", "l.jsonl").refusal(), "--path-column"));
  CHECK(contains(Listed("{\"path\":\"a\\u0000.jpg\",\"label\":1}\n", "l.jsonl").refusal(), "NUL"));
}

TEST_CASE("columns that are not there are named with those that are") {
  const std::string text = Listed("file,label\na.jpg,1\n").refusal(ErrorCode::usage);
  CHECK(contains(text, "no column 'path'; its columns are file, label"));
  CHECK(contains(text, "--path-column"));
  CHECK(contains(Listed("path,class\na.jpg,1\n").refusal(ErrorCode::usage), "--label-column"));
  CHECK(contains(Listed("path label\n", "list.txt").refusal(ErrorCode::usage), ".csv, .tsv, .jsonl or"));
  CHECK(contains(Listed("path,label\n").refusal(ErrorCode::not_found), "has no rows"));
}

TEST_CASE("an image that is not there is a problem of the scan, as a broken link in a tree") {
  Listed list("path,label\na.jpg,1\ngone.jpg,1\npool.jpg,1\n");
  std::filesystem::create_directory(list.dir.path("src/pool.jpg"));
  const ImageFolderScan scan = list.read().scan;
  CHECK(scan.images() == 1);
  CHECK(scan.problems.size() == 2);
  CHECK(scan.problems[0].path == "gone.jpg");
  CHECK(scan.problems[1].path == "pool.jpg");
}

TEST_CASE("side-cars of a list are those asked for, where they are there") {
  Listed list("path,label\na.jpg,1\nd e.jpg,1\n");
  write_file(list.dir.path("src/a.txt"), "caption");
  write_file(list.dir.path("src/a_mask.png"), "mask");
  CHECK(list.read().scan.classes[0].members.empty());
  list.scan.sidecars = {".txt", "_mask.png"};
  const ScannedClass owner = list.read().scan.classes[0];
  CHECK(owner.members.size() == 2);
  CHECK(owner.name_of(owner.members[1].file) == "a_mask.png");
  CHECK(owner.members[1].file.size == 4);
}
