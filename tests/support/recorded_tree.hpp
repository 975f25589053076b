#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "support/temp_dir.hpp"

/// Files of /proc and /sys as another machine had them.
class RecordedTree {
 public:
  const std::string& root() const { return dir_.path(); }

  RecordedTree& add(std::string_view path, std::string_view text) {
    const std::filesystem::path target = dir_.path(path);
    std::filesystem::create_directories(target.parent_path());
    std::ofstream(target) << text;
    return *this;
  }

  RecordedTree& link(std::string_view path, std::string_view target) {
    const std::filesystem::path place = dir_.path(path);
    std::filesystem::create_directories(place.parent_path());
    std::filesystem::create_symlink(target, place);
    return *this;
  }

 private:
  TempDir dir_;
};
