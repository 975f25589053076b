#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "core/bytes.hpp"

/// Writes a whole file, its folders too.
inline void write_file(const std::string& path, std::string_view content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

/// The content of a file, empty if it cannot be opened.
inline std::string read_file(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(content).str();
}

/// Every regular file below `root` by its relative path, with its content.
inline std::map<std::string, std::string> tree_content(const std::string& root) {
  std::map<std::string, std::string> content;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    content[std::filesystem::relative(entry.path(), root)] = read_file(entry.path());
  }
  return content;
}

/// Collects what is written to it.
class StringSink final : public shardkit::ByteSink {
 public:
  void write(shardkit::Bytes bytes) override { text_ += shardkit::as_text(bytes); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};
