#include "core/folder.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;

TEST_CASE("a folder has all its entries, hidden ones too, and links are what they lead to") {
  const TempDir dir;
  write_file(dir.path("file"), "x");
  write_file(dir.path(".hidden"), "x");
  std::filesystem::create_directory(dir.path("below"));
  std::filesystem::create_symlink("below", dir.path("link"));
  std::filesystem::create_symlink("nothing", dir.path("broken"));
  std::error_code error;
  std::vector<FolderEntry> entries = folder_entries(dir.path(), error);
  CHECK_FALSE(error);
  std::ranges::sort(entries, {}, &FolderEntry::name);
  std::vector<std::string> shown;
  for (const FolderEntry& entry : entries) shown.push_back(entry.name + (entry.is_folder() ? "/" : ""));
  CHECK(shown == std::vector<std::string>{".hidden", "below/", "broken", "file", "link/"});
  CHECK(entries.front().path() == dir.path(".hidden"));
  CHECK(folder_entries(dir.path() + "/", error).front().path().find("//") == std::string::npos);
}

TEST_CASE("what cannot be listed has an error and no entries") {
  const TempDir dir;
  write_file(dir.path("file"), "x");
  std::error_code error;
  CHECK(folder_entries(dir.path("absent"), error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(folder_entries(dir.path("file"), error).empty());
  CHECK(error == std::errc::not_a_directory);
  CHECK(folder_entries(dir.path(), error).size() == 1);
  CHECK_FALSE(error);
}

TEST_CASE("a resolved path is absolute, also if nothing of it exists") {
  const std::filesystem::path here = std::filesystem::canonical(".");
  for (const char* path : {"missing", "./missing", "other/../missing"}) CHECK(resolved_path(path) == here / "missing");
  CHECK(resolved_path(".") == here);
}
