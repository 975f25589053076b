// Lets tests in Python compare tables with what their owners read: the files of the command line, csv or COCO's .json,
// each as a line of JSON on standard output, {"rows": [...]} or {"error": TEXT}.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "formats/coco_file.hpp"
#include "formats/table_reader.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using nlohmann::ordered_json;

namespace {

ordered_json rows_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  MemorySource source(as_bytes(text));
  ordered_json rows = ordered_json::array();
  TableRow row;
  ordered_json fields;
  if (path.ends_with(".json")) {
    CocoFile coco(source, path);
    while (coco.next(row, fields)) rows.push_back(coco.row_at(source, row.offset, row.length));
    return rows;
  }
  TableReader table(source, TableKind::csv, path);
  while (table.next(row, fields)) rows.push_back(fields);
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    ordered_json result;
    try {
      result["rows"] = rows_of(argv[i]);
    } catch (const Error& error) {
      result["error"] = error.what();
    }
    std::cout << result.dump(-1, ' ', true, ordered_json::error_handler_t::replace) << '\n';
  }
  return 0;
}
