#include "formats/coco_file.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "formats/tsv.hpp"

namespace shardkit::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestElement = 16U * 1024U * 1024U;
constexpr std::string_view kSpace = " \t\r\n";

/// The bytes of the JSON value at the start of `text`; empty if it goes on behind it. The value is not checked, but for
/// its brackets.
std::optional<std::size_t> value_length(std::string_view text, bool last) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      if (at >= text.size()) return std::nullopt;
    } else if (c == '{' || c == '[') {
      ++depth;
      continue;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;  // of what is around a number
      --depth;
    } else if (depth == 0 && (c == ',' || kSpace.find(c) != std::string_view::npos)) {
      return at;
    } else {
      continue;
    }
    if (depth == 0) return at + 1;
  }
  return last ? std::optional(text.size()) : std::nullopt;
}

std::optional<std::uint64_t> id_hash(const Json& element, const char* name) {
  const auto id = element.find(name);
  if (id == element.end() || !(id->is_number_integer() || id->is_string())) return std::nullopt;
  return xxh3_64(as_bytes(id->dump()));
}

}  // namespace

/// Reads the file from start to end. Used once: construct, run().
class CocoFile::Scanner {
 public:
  explicit Scanner(CocoFile& file) : file_(file), window_(file.source_) {}

  void run() {
    if (peek() == '\xEF') window_.pass(3);  // the byte-order mark
    if (peek() == '[') fail("a JSON array and not COCO: write each of its objects on a line of a .jsonl file");
    if (peek() != '{') fail("COCO is a JSON object with the arrays images, annotations and categories");
    read_object();
    if (peek() != '\0') fail("text behind the end of the object");
    if (names_.contains("images") && !names_.contains("annotations"))
      fail_at({}, "images without the array 'annotations', as of COCO's test sets: nothing describes the images");
    for (const char* array : {"images", "annotations"}) {
      if (!names_.contains(array))
        fail_at({}, fmt::format("not COCO: its object has no array '{}'; if another object contains it, such as .data, "
                                "write that one to a file of its own",
                                array));
    }
    check_ids();
  }

 private:
  struct Position {
    std::uint64_t offset = 0;
    std::uint64_t line = 1;
  };

  [[noreturn]] void fail_at(const Position& position, std::string_view what) const {
    throw Error(ErrorCode::corrupt, At{file_.name_, position.offset}, "'{}', line {}, byte {}: {}", file_.name_,
                position.line, position.offset, what);
  }
  [[noreturn]] void fail(std::string_view what) const { fail_at({window_.offset(), line_}, what); }
  [[noreturn]] void fail_cut() const { fail("the file ends within the object; it is cut off: fetch it again"); }

  void pass(std::size_t bytes) {
    const std::string_view text = window_.text().substr(0, bytes);
    line_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
    window_.pass(bytes);
  }

  /// The next character but for spaces; NUL at the end.
  char peek() {
    while (true) {
      const std::size_t at = window_.text().find_first_not_of(kSpace);
      pass(std::min(at, window_.text().size()));
      if (at != std::string_view::npos) return window_.text().front();
      if (!window_.grow()) return '\0';
    }
  }

  void expect(char wanted) {
    const char c = peek();
    if (c == '\0') fail_cut();
    if (c != wanted) fail(fmt::format("not JSON: expected '{}'", wanted));
    pass(1);
  }

  /// Whether another element follows; passes the comma, or the bracket that closes.
  bool has_more(char close) {
    if (peek() == close) {
      pass(1);
      return false;
    }
    expect(',');
    return true;
  }

  /// The text of the next value, in the window.
  std::string_view value() {
    if (peek() == '\0') fail_cut();
    for (bool last = false;; last = !window_.grow()) {
      const std::optional<std::size_t> length = value_length(window_.text(), last);
      if (length) return window_.text().substr(0, *length);
      if (last) fail_cut();
      if (window_.text().size() > kLargestElement) fail("an element of more than 16 MiB");
    }
  }

  void read_object() {
    expect('{');
    if (peek() == '}') return pass(1);
    do {
      if (peek() != '"') expect('"');
      const std::string_view text = value();
      const Json name = Json::parse(text, nullptr, false);
      if (!name.is_string()) fail("not JSON: expected a name in quotes");
      pass(text.size());
      expect(':');
      read_member(name.get<std::string>());
    } while (has_more('}'));
  }

  void read_member(const std::string& name) {
    if (peek() != '[') {
      const std::string_view text = value();
      if (text.empty() || !Json::accept(text)) fail("not JSON");
      return pass(text.size());
    }
    if (!names_.insert(name).second) fail(fmt::format("the array '{}' is there twice", name));
    pass(1);
    if (peek() == ']') return pass(1);
    do {
      const std::string_view text = value();
      read_element(name, text);
      pass(text.size());
    } while (has_more(']'));
  }

  void read_element(const std::string& array, std::string_view text) {
    if (array != "images" && array != "annotations" && array != "categories") {
      if (text.empty() || !Json::accept(text)) fail("not JSON");
      return;
    }
    Json element;
    if (const auto fault = read_json_row(text, element)) fail(fmt::format("{}: {}", array, fault->text));
    const Element position{0, window_.offset(), static_cast<std::uint32_t>(text.size()),
                           static_cast<std::uint32_t>(std::min<std::uint64_t>(line_, UINT32_MAX))};
    if (array == "images") return add_image(element, position);
    if (array == "annotations") return add_annotation(element, position);
    const auto id = id_hash(element, "id");
    const auto name = element.find("name");
    if (!id || name == element.end() || !name->is_string()) fail("a category without an id or a name");
    if (!file_.categories_.emplace(*id, name->get<std::string>()).second)
      fail(fmt::format("two categories have the id {}", element["id"].dump()));
  }

  void add_image(const Json& image, Element position) {
    const auto id = id_hash(image, "id");
    if (!id) fail("an image without an id, which is a whole number or text");
    if (image.contains("annotations"))
      fail("an image with 'annotations' of its own: the file's annotations get this name in its .json; rename it");
    position.image_hash = *id;
    const auto [other, is_new] = image_lines_.emplace(*id, position.line);
    if (!is_new) fail(fmt::format("the image id {} is also in line {}", image["id"].dump(), other->second));
    if (const auto name = image.find("file_name");
        name != image.end() && !file_names_.insert(xxh3_64(as_bytes(name->dump()))).second)
      fail(fmt::format("two images have the file_name {}", name->dump()));
    file_.images_.push_back(position);
  }

  void add_annotation(const Json& annotation, Element position) {
    const auto image = id_hash(annotation, "image_id");
    if (!image) fail("an annotation without an image_id, which is a whole number or text");
    if (const auto id = id_hash(annotation, "id"); id && !annotation_ids_.insert(*id).second)
      fail(fmt::format("two annotations have the id {}", annotation["id"].dump()));
    if (const auto category = id_hash(annotation, "category_id"))
      used_categories_.emplace(*category,
                               std::pair(Position{window_.offset(), line_}, annotation["category_id"].dump()));
    position.image_hash = *image;
    file_.annotations_.push_back(position);
  }

  void check_ids() {
    for (const auto& [category, use] : used_categories_) {
      if (!file_.categories_.contains(category))
        fail_at(use.first, fmt::format("no category has the id {}", use.second));
    }
    for (const Element& annotation : file_.annotations_) {
      if (image_lines_.contains(annotation.image_hash)) continue;
      fail_at({annotation.offset, annotation.line}, "no image has the image_id of this annotation");
    }
    std::ranges::stable_sort(file_.annotations_, {}, &Element::image_hash);
  }

  CocoFile& file_;
  SourceWindow window_;
  std::uint64_t line_ = 1;
  std::unordered_set<std::string> names_;  ///< of the arrays
  std::unordered_map<std::uint64_t, std::uint32_t> image_lines_;
  std::unordered_set<std::uint64_t> file_names_;
  std::unordered_set<std::uint64_t> annotation_ids_;
  std::map<std::uint64_t, std::pair<Position, std::string>> used_categories_;  ///< the first use
};

CocoFile::CocoFile(ByteSource& source, std::string name) : source_(source), name_(std::move(name)) {
  Scanner(*this).run();
}

bool CocoFile::next(TableRow& row, Json& image) {
  if (next_ == images_.size()) return false;
  const Element& element = images_[next_++];
  const std::string text = read_text(source_, element.offset, element.length);
  if (read_json_row(text, image)) row_at(source_, element.offset, element.length);  // which throws
  row = {element.line, element.offset, element.length, xxh3_64(as_bytes(text)), false};
  return true;
}

Json CocoFile::row_at(ByteSource& source, std::uint64_t offset, std::uint64_t length) const {
  const auto read = [&](std::uint64_t from, std::uint64_t bytes) {
    Json json;
    if (!read_json_row(read_text(source, from, bytes), json)) return json;
    throw Error(ErrorCode::conflict, At{name_, from},
                "'{}' changed while being read, at byte {}; run again when no process writes to the file", name_, from);
  };
  Json image = read(offset, length);
  Json& list = image["annotations"] = Json::array();
  const auto id = id_hash(image, "id");
  if (!id) return image;
  for (const Element& element : std::ranges::equal_range(annotations_, *id, {}, &Element::image_hash)) {
    const Json stored = read(element.offset, element.length);
    Json annotation = Json::object();
    for (const auto& [name, value] : stored.items()) {
      if (name == "image_id") continue;
      annotation[name] = value;
      if (name != "category_id" || stored.contains("category")) continue;  // its own is kept
      const auto category = categories_.find(xxh3_64(as_bytes(value.dump())));
      if (category != categories_.end()) annotation["category"] = category->second;
    }
    list.push_back(std::move(annotation));
  }
  return image;
}

}  // namespace shardkit::formats
