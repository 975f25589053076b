#include "io/object_source.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

namespace {

std::vector<std::string> names(ObjectSource& source) {
  std::vector<std::string> found;
  for (const ObjectInfo& object : source.list()) found.push_back(object.name);
  return found;
}

ErrorCode code_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::io;
}

/// A server whose ETag changes with each answer, so that no request for a version is fulfilled.
class FreshVersions final : public ObjectSource {
 public:
  explicit FreshVersions(std::string text) : text_(std::move(text)) {}

  const std::string& location() const override { return location_; }
  std::vector<ObjectInfo> list(const std::string& /*folder*/) override { return {}; }
  std::vector<std::string> names_in(const std::string& /*folder*/) override { return {}; }
  std::optional<ObjectInfo> find(const std::string& name) override {
    return ObjectInfo{name, text_.size(), std::to_string(is_steady ? 7 : ++answers_)};
  }
  Fetched fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                const std::stop_token& /*stop*/) override {
    write(as_bytes(text_).subspan(offset, object.version.empty() ? length : std::min(length, half)));
    return object.version.empty() ? Fetched::whole : Fetched::changed;
  }
  Fetched fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                      const std::stop_token& stop) override {
    return fetch(object, 0, object.size, start(), stop);
  }

  bool is_steady = false;
  std::uint64_t half = 0;  ///< bytes that come before another version is noticed

 private:
  std::string text_;
  std::string location_ = "fresh";
  int answers_ = 0;
};

}  // namespace

TEST_CASE("a version that changes with each answer tells nothing, and the object is read") {
  const auto source = std::make_shared<FreshVersions>("0123456789");
  for (const std::uint64_t half : {0, 4}) {
    source->half = half;
    std::string streamed;
    ObjectReader stream(source, *source->find("x"), {});
    stream.stream(0, 10, [&](Bytes piece) { streamed += as_text(piece); });
    CHECK(streamed == "0123456789");
    ObjectReader reader(source, *source->find("x"), {});
    std::string text(3, ' ');
    CHECK(reader.read_at(4, std::as_writable_bytes(std::span(text))) == 3);
    CHECK(text == "456");
    CHECK(fetch_text(*source, *source->find("x"), 100, {}) == "0123456789");
  }
}

TEST_CASE("an object of the same size with another version that stays has changed") {
  const auto source = std::make_shared<FreshVersions>("0123456789");
  source->is_steady = true;
  ObjectReader reader(source, {"x", 10, "6"}, {});
  std::string text(3, ' ');
  CHECK(code_of([&] { reader.read_at(4, std::as_writable_bytes(std::span(text))); }) == ErrorCode::io);
  CHECK(code_of([&] { reader.stream(0, 10, [](Bytes) {}); }) == ErrorCode::io);
  CHECK(code_of([&] { fetch_text(*source, {"x", 10, "6"}, 100, {}); }) == ErrorCode::io);
}

TEST_CASE("a folder lists its files by name, hidden ones and those behind links too") {
  const TempDir dir;
  write_file(dir.path("elsewhere/z"), "zz");
  write_file(dir.path("src/b"), "1");
  write_file(dir.path("src/a/c"), "22");
  write_file(dir.path("src/.hidden/x"), "");
  std::filesystem::create_directory_symlink(dir.path("elsewhere"), dir.path("src/link"));
  std::filesystem::create_symlink(dir.path("elsewhere/z"), dir.path("src/file_link"));
  const auto source = open_object_source(dir.path("src"));
  CHECK(names(*source) == std::vector<std::string>{".hidden/x", "a/c", "b", "file_link", "link/z"});
  CHECK(source->find("a/c")->size == 2);
  CHECK_FALSE(source->find("a/d"));
  CHECK_FALSE(source->find("b/c"));
  CHECK(source->location() == std::filesystem::canonical(dir.path("src")));
}

TEST_CASE("a folder is no object of its source, and what is neither is refused") {
  const TempDir dir;
  write_file(dir.path("src/a/b"), "1");
  REQUIRE(::mkfifo(dir.path("src/pipe").c_str(), 0600) == 0);
  const auto source = open_object_source(dir.path("src"));
  CHECK_FALSE(source->find("a"));
  CHECK(source->find("a/b"));
  CHECK(code_of([&] { source->find("pipe"); }) == ErrorCode::unsupported);
  CHECK(source->address_of("a/b") == source->location() + "/a/b");
}

TEST_CASE("names right below a folder come from one listing") {
  const TempDir dir;
  for (const char* name : {"src/b", "src/a/c", "src/a/d/e"}) write_file(dir.path(name), "");
  const auto source = open_object_source(dir.path("src"));
  const auto sorted = [](std::vector<std::string> found) {
    std::ranges::sort(found);
    return found;
  };
  CHECK(sorted(source->names_in("")) == std::vector<std::string>{"a/", "b"});
  CHECK(sorted(source->names_in("a")) == std::vector<std::string>{"a/c", "a/d/"});
  CHECK(source->names_in("none").empty());
  CHECK(source->names_in("b").empty());
}

TEST_CASE("an object reads by range, as long as it is the version that was looked at") {
  const TempDir dir;
  write_file(dir.path("src/a"), "0123456789");
  const auto source = open_object_source(dir.path("src"));
  const ObjectInfo object = *source->find("a");
  std::string part;
  const auto append = [&](Bytes bytes) { part += as_text(bytes); };
  CHECK(source->fetch(object, 3, 4, append, {}) == Fetched::whole);
  CHECK(part == "3456");
  CHECK(fetch_text(*source, object, 10, {}) == "0123456789");
  CHECK(code_of([&] { fetch_text(*source, object, 9, {}); }) == ErrorCode::corrupt);
  SUBCASE("written anew") { write_file(dir.path("src/a"), "01234567890"); }
  SUBCASE("gone") { std::filesystem::remove(dir.path("src/a")); }
  CHECK(source->fetch(object, 3, 4, append, {}) == Fetched::changed);
  CHECK(part == "3456");
  CHECK(code_of([&] { fetch_text(*source, object, 10, {}); }) == ErrorCode::io);
}

TEST_CASE("an object that is written while it is read is reported") {
  const TempDir dir;
  write_file(dir.path("src/a"), std::string(3U << 20U, 'x'));
  const auto source = open_object_source(dir.path("src"));
  const ObjectInfo object = *source->find("a");
  SUBCASE("longer") {
    const auto lengthen = [&](Bytes) { write_file(dir.path("src/a"), std::string(4U << 20U, 'y')); };
    CHECK(source->fetch(object, 0, object.size, lengthen, {}) == Fetched::changed);
  }
  SUBCASE("shorter") {
    const auto shorten = [&](Bytes) { std::filesystem::resize_file(dir.path("src/a"), 5); };
    CHECK(source->fetch(object, 0, object.size, shorten, {}) == Fetched::changed);
  }
}

TEST_CASE("a stop ends a read between two blocks") {
  const TempDir dir;
  write_file(dir.path("src/a"), std::string(3U << 20U, 'x'));
  const auto source = open_object_source(dir.path("src"));
  std::stop_source stop;
  std::size_t came = 0;
  const auto write = [&](Bytes bytes) {
    came += bytes.size();
    stop.request_stop();
  };
  const ObjectInfo object = *source->find("a");
  CHECK(code_of([&] { source->fetch(object, 0, object.size, write, stop.get_token()); }) == ErrorCode::cancelled);
  CHECK(came == 1U << 20U);
}

TEST_CASE("what cannot be a source is distinguished") {
  const TempDir dir;
  write_file(dir.path("file.tar"), "x");
  std::filesystem::create_directory(dir.path("loop"));
  std::filesystem::create_directory_symlink(dir.path("loop"), dir.path("loop/again"));
  CHECK(code_of([&] { open_object_source(dir.path("absent")); }) == ErrorCode::not_found);
  CHECK(code_of([&] { open_object_source(dir.path("file.tar")); }) == ErrorCode::usage);
  CHECK(code_of([&] { open_object_source(dir.path("loop"))->list(); }) == ErrorCode::conflict);
}

TEST_CASE("a broken link in the source is an error, not a file left out") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("src"));
  std::filesystem::create_symlink(dir.path("nowhere"), dir.path("src/a"));
  CHECK(code_of([&] { open_object_source(dir.path("src"))->list(); }) == ErrorCode::not_found);
}
