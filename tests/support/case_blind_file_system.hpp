#pragma once

#include <filesystem>
#include <string>

#include "core/text.hpp"
#include "io/publish.hpp"
#include "support/forgetful_file_system.hpp"

/// A disk that finds a file under every name that is its own in lower case.
class CaseBlindFileSystem : public ForgetfulFileSystem {
 public:
  bool exists(const std::string& path) override {
    ++questions;
    const std::string name = shardkit::lower_case(std::filesystem::path(path).filename().string());
    for (const std::string& other : names_in(shardkit::io::parent_folder(path))) {
      if (shardkit::lower_case(other) == name) return true;
    }
    return false;
  }
  int questions = 0;
};
