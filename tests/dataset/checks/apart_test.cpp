#include "dataset/checks/apart.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

bool is_refused(const std::string& target, const std::string& source) {
  try {
    require_apart(target, {source}, "source");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a target is not its source, inside it or around it, on disk and in buckets, however both are written") {
  const TempDir dir;
  for (const char* folder : {"set/sub", "settle"}) std::filesystem::create_directories(dir.path(folder));
  write_file(dir.path("set/manifest.json"), "{}");
  write_file(dir.path("set/a.tar"), "");
  std::filesystem::create_directory_symlink(dir.path("set"), dir.path("link"));
  for (const std::string& root : {dir.path(), std::string("s3://bucket/x")}) {
    CAPTURE(root);
    for (const char* source : {"/set", "/set/", "/set/manifest.json"}) {
      for (const char* target : {"/set", "/set/", "/set/new", "/set/sub", ""})
        CHECK(is_refused(root + target, root + source));
      for (const char* target : {"/settle", "/other", "/settle/set"})
        CHECK_FALSE(is_refused(root + target, root + source));
    }
  }
  CHECK(is_refused(dir.path("set/new"), dir.path("link")));
  CHECK(is_refused(dir.path("link/new"), dir.path("set")));
  CHECK_FALSE(is_refused(dir.path("set"), "s3://bucket/set"));
}

TEST_CASE("a relative target is in the working folder, also if nothing of it exists yet") {
  const TempDir dir;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  for (const char* target : {"out", "./out", "new/out", "."}) CHECK(is_refused(target, "."));
  CHECK(is_refused("out", dir.path()));
  CHECK_FALSE(is_refused("../" + std::filesystem::path(dir.path()).filename().string() + "-other", "."));
  std::filesystem::current_path(before);
}

TEST_CASE("single files may lie in the folder of the target") {
  const TempDir dir;
  write_file(dir.path("set/a.tar"), "");
  CHECK_FALSE(is_refused(dir.path("set/new"), dir.path("set/a.tar")));
  CHECK_FALSE(is_refused(dir.path(), dir.path("absent")));
}
