#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "catalog/object_location.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit_test;

namespace {

Failure trouble_with(const std::vector<std::string>& names) {
  return failure_of([&] { check_names(names, "s3://bucket/train"); });
}

}  // namespace

TEST_CASE("names that can be files of a folder pass, whatever bytes they hold") {
  CHECK_FALSE(trouble_with({}).failed);
  CHECK_FALSE(
      trouble_with({"a", "b/c", "b/d", "b.c", "...", "a b\n\xff", ".hidden/..x", std::string(255, 'x')}).failed);
}

TEST_CASE("a name with a part that is no file name is refused") {
  for (const std::string name : {"", "/a", "a/", "a//b", ".", "a/../b", "..", "./a"}) {
    CAPTURE(name);
    CHECK(trouble_with({"good", name}) == ErrorCode::unsupported);
  }
  CHECK(trouble_with({std::string("a\0b", 3)}).says("NUL"));
  CHECK(trouble_with({"a/" + std::string(256, 'x')}).says("255"));
}

TEST_CASE("a name that is also a folder is refused, at any depth and in any order") {
  CHECK(trouble_with({"a", "a/b"}).says("'a' (other names use it as their folder)"));
  CHECK(trouble_with({"a/b/c/d", "a/b.c", "a/b/c", "a/b"}).says("2 names"));
}

TEST_CASE("the refusal names the first, counts all and says what to do") {
  const Failure failure = trouble_with({"ok", "b//\n", "..", "a//c"});
  CHECK(failure.says("'s3://bucket/train' contains 3 names"));
  CHECK(failure.says("first 'b//\\n' (a part between its slashes is empty)"));
  CHECK(failure.says("rename them there, or give the objects"));
}
