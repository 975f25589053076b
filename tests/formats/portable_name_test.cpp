#include "formats/portable_name.hpp"

#include <cctype>
#include <set>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::formats;

namespace {

bool is_portable_key(const std::string& key) {
  for (const char c : key) {
    const bool ok = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '~' || c == '/';
    if (!ok || static_cast<unsigned char>(c) > 127) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("names that every reader carries stay as they are") {
  CHECK(image_key("n01440764", "n01440764_10026.JPEG") == "n01440764/n01440764_10026");
  CHECK(portable_component("ILSVRC2012_val-00000001") == "ILSVRC2012_val-00000001");
}

TEST_CASE("other bytes are written so that they can be read back") {
  CHECK(portable_component("a b") == "a~20b");
  CHECK(portable_component("img.v2") == "img~2Ev2");
  CHECK(portable_component("\xc3\xa4") == "~C3~A4");
  CHECK(portable_component("a\nb") == "a~0Ab");
  CHECK(portable_component("~20") == "~7E20");
}

TEST_CASE("names that readers take for something else are made harmless") {
  CHECK(portable_component("__MACOSX") == "~5F_MACOSX");
  CHECK(portable_component("._x") == "~2E_x");
  CHECK(portable_component("") == "~");
}

TEST_CASE("different components never become equal") {
  const char* names[] = {"a b", "a~20b", "a.b", "a", "", "~", "__a", "_a", "~5F_a", "A", "a/b"};
  std::set<std::string> seen;
  for (const char* name : names) CHECK(seen.insert(portable_component(name)).second);
}

TEST_CASE("a long key is cut and distinguished by its path") {
  const std::string stem(300, 'x');
  const std::string one = image_key("c", "c/one/" + stem);
  const std::string other = image_key("c", "c/other/" + stem);
  CHECK(one != other);
  CHECK(one.size() == kLongestKey);
  CHECK(marked_key(one, "c/one.jpg").size() + 1 + 10 == 100);
}

TEST_CASE("the whole of a key that was cut is known from its path") {
  const std::string name = "clip_with_a_long_name_" + std::string(70, 'x') + "_0042";
  for (const KeyMark mark : {KeyMark::none, KeyMark::hash}) {
    for (const std::string folder : {"c/", "other/"}) {
      const std::string path = folder + name + ".jpg";
      CHECK(uncut_key(image_key("c", path, mark), path) == (folder == "c/" ? "c/" : "c/other/") + name);
    }
  }
  CHECK(uncut_key("c/short", "c/short.jpg") == "c/short");
  CHECK(uncut_key("elsewhere", "") == "elsewhere");
  const std::string cut = image_key("c", "c/" + name + ".jpg");
  CHECK(uncut_key(cut, "another/path.jpg") == cut);
}

TEST_CASE("a key is portable whatever the bytes of the name") {
  for (int c = 1; c < 256; ++c) {
    const std::string name(3, static_cast<char>(c));
    CHECK(is_portable_key(image_key(name, name)));
  }
}

TEST_CASE("extensions are lower case and jpeg is jpg") {
  CHECK(portable_extension("JPEG") == "jpg");
  CHECK(portable_extension("Png") == "png");
  CHECK(portable_extension("tiff") == "tiff");
}

TEST_CASE("a name is split at its last dot") {
  CHECK(split_extension("a.b.JPEG").stem == "a.b");
  CHECK(split_extension("a.b.JPEG").extension == "JPEG");
  CHECK(split_extension("plain").stem == "plain");
  CHECK(split_extension("plain").extension.empty());
}

TEST_CASE("a moved key stays when readers carry it, and is mapped by component when not") {
  CHECK(portable_moved_key("n01/a~20b_C-d", 90) == "n01/a~20b_C-d");
  CHECK(portable_moved_key("a/b/c", 90) == "a/b/c");
  CHECK(portable_moved_key("./a/b", 90) == "a/b");
  CHECK(portable_moved_key("/a", 90) == "a");
  CHECK(portable_moved_key("a//b", 90) == "a/~/b");
  CHECK(portable_moved_key("../a b", 90) == "~2E~2E/a~20b");
  CHECK(portable_moved_key("a~b c", 90) == "a~7Eb~20c");
  CHECK(portable_moved_key(std::string(90, 'k'), 90) == std::string(90, 'k'));
  CHECK(portable_moved_key(std::string(91, 'k'), 90).size() == 90);
}

TEST_CASE("a moved extension keeps its dots and its spelling but for case") {
  CHECK(portable_moved_extension("Seg.PNG") == "seg.png");
  CHECK(portable_moved_extension("JPEG") == "jpeg");
  CHECK(portable_moved_extension("a b") == "a~20b");
  CHECK(portable_moved_extension("v1+X") == "v1~2bx");  // in lower case as a whole
}

TEST_CASE("a key has the class, if there is one, and all folders, but the class's own only once") {
  CHECK(image_key("cat", "cat/0/a.b.jpg") == "cat/0/a~2Eb");
  CHECK(image_key("cat", "pool/0/a.jpg") == "cat/pool/0/a");
  CHECK(image_key("", "pool/0/a.jpg") == "pool/0/a");
  CHECK(image_key("", "a") == "a");
  CHECK(image_key("cat", "cat/a.JPG", KeyMark::extension) == "cat/a~2EJPG");
  CHECK(image_key("cat", "cat/__x/.jpg") == "cat/~5F_x/~");
  const std::string longest = "cat/" + std::string(40, 'f') + "/" + std::string(40, 'n') + ".jpg";
  CHECK(image_key("cat", longest).size() == kLongestKey);
  CHECK(image_key("cat", longest, KeyMark::hash).size() == kLongestKey + 9);
}

TEST_CASE("a key leaves room for the sample's longest field, and one that fits is as it was") {
  const std::string stem(120, 's');
  for (const KeyMark mark : {KeyMark::none, KeyMark::extension, KeyMark::hash}) {
    for (std::size_t stem_size = 1; stem_size < stem.size(); stem_size += 7) {
      const std::string path = "a_class_of_20_letter/" + stem.substr(0, stem_size) + ".jpg";
      const std::string before = image_key("a_class_of_20_letter", path, mark);
      for (std::size_t field = 1; field <= 60; ++field) {
        const std::string key = image_key("a_class_of_20_letter", path, mark, field);
        REQUIRE(key.size() + 1 + field <= 100);
        REQUIRE(is_portable_key(key));
        if (before.size() + 1 + field <= 100) REQUIRE(key == before);
      }
    }
  }
}

TEST_CASE("keys that are cut for a field stay apart") {
  const std::string stem(70, 's');
  const auto key = [&](const std::string& end, KeyMark mark) {
    return image_key("c", "c/" + stem + end + ".jpg", mark, 50);
  };
  CHECK(key("1", KeyMark::none).size() == 49);
  CHECK(key("1", KeyMark::none) != key("2", KeyMark::none));
  CHECK(key("1", KeyMark::hash).size() == 49);
  CHECK(key("1", KeyMark::hash) != key("1", KeyMark::none));
}

TEST_CASE("for a field that no tar has room for no key is cut") {
  const std::string path = "c/" + std::string(70, 's') + ".jpg";
  CHECK(image_key("c", path, KeyMark::none, 90) == image_key("c", path));
}
