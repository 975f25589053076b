#include "formats/coco_file.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/bytes.hpp"
#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

const std::string kWhole = R"({
  "info": {"year": 2017, "note": "]}\"["},
  "licenses": [{"id": 1}, "x", 3],
  "images": [{"id": 2, "file_name": "b.jpg"}, {"id": 1, "file_name": "a.jpg"}, {"id": "x", "file_name": "c.jpg"}],
  "annotations": [
    {"id": 5, "image_id": 1, "category_id": 9, "bbox": [0.5, 1, 2, 3]},
    {"id": 6, "image_id": 2, "category_id": 8, "segmentation": {"counts": "a]b"}},
    {"id": 4, "image_id": 1, "category_id": 8}
  ],
  "categories": [{"id": 8, "name": "cat"}, {"id": 9, "name": "dog"}]
})";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<std::string> rows_of(const std::string& text) {
  MemorySource source(as_bytes(text));
  CocoFile file(source, "i.json");
  std::vector<std::string> rows;
  nlohmann::ordered_json image;
  for (TableRow row; file.next(row, image);) rows.push_back(file.row_at(source, row.offset, row.length).dump());
  return rows;
}

std::string fault_of(const std::string& text) {
  try {
    rows_of(text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt);
    CHECK(error.path() == "i.json");
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("each image has its annotations in the file's order, with the names of categories") {
  const std::vector<std::string> rows = {
      R"({"id":2,"file_name":"b.jpg","annotations":[{"id":6,"category_id":8,"category":"cat","segmentation":{"counts":"a]b"}}]})",
      R"({"id":1,"file_name":"a.jpg","annotations":[{"id":5,"category_id":9,"category":"dog","bbox":[0.5,1,2,3]},{"id":4,"category_id":8,"category":"cat"}]})",
      R"({"id":"x","file_name":"c.jpg","annotations":[]})"};
  CHECK(rows_of(kWhole) == rows);
  CHECK(rows_of("\xEF\xBB\xBF" + nlohmann::ordered_json::parse(kWhole).dump()) == rows);
  CHECK(rows_of(R"({"annotations":[{"image_id":1,"caption":"x"}],"images":[{"id":1,"file_name":"a.jpg"}]})") ==
        std::vector<std::string>{R"({"id":1,"file_name":"a.jpg","annotations":[{"caption":"x"}]})"});
}

TEST_CASE("a file that is cut anywhere is refused") {
  for (std::size_t length = 0; length < kWhole.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(fault_of(kWhole.substr(0, length)).empty());
  }
}

TEST_CASE("other shapes, and ids that are missing, unknown or there twice, are refused with their place") {
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"[" + kWhole + "]", "line 1, byte 0: a JSON array and not COCO"},
           {"7", "line 1, byte 0: COCO is a JSON object"},
           {R"({"images": []})", "images without the array 'annotations'"},
           {R"({"data": )" + kWhole + "}", "no array 'images'; if another object contains it"},
           {kWhole + "x", "behind the end"},
           {replaced("\"licenses\": [{\"id\": 1}, \"x\", 3]", "\"images\": []"), "'images' is there twice"},
           {replaced("\"id\": 2", "\"id\": 1"), "the image id 1 is also in line 4"},
           {replaced("\"b.jpg\"", "\"a.jpg\""), "two images have the file_name \"a.jpg\""},
           {replaced("\"id\": 2, ", ""), "line 4, byte 93: an image without an id"},
           {replaced("\"image_id\": 2", "\"image_id\": 3"), "line 7, byte 290: no image has the image_id"},
           {replaced("\"image_id\": 2, ", ""), "an annotation without an image_id"},
           {replaced("\"id\": 6", "\"id\": 5"), "two annotations have the id 5"},
           {replaced("\"category_id\": 9", "\"category_id\": 7"), "no category has the id 7"},
           {replaced("\"id\": 8, \"name\"", "\"id\": 9, \"name\""), "two categories have the id 9"},
           {replaced("\"name\": \"dog\"", "\"nom\": \"dog\""), "a category without an id or a name"},
           {replaced("0.5", "NaN"), "annotations: not JSON"},
           {replaced("[0.5", "[0.5,"), "annotations: not JSON"},
           {replaced("\"year\": 2017", "year: 2017"), "not JSON"},
       }) {
    CAPTURE(text);
    CHECK(doctest::String(fault_of(text).c_str()) == doctest::Contains(fault.c_str()));
  }
}
