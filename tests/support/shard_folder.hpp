#pragma once

#include <string>
#include <string_view>

#include "support/files.hpp"
#include "support/tar_builder.hpp"
#include "support/temp_dir.hpp"

namespace shardkit::test {

/// A temporary folder of hand-made shards.
class ShardFolder {
 public:
  const std::string& path() const { return dir_.path(); }
  std::string path(std::string_view name) const { return dir_.path(name); }

  void write(std::string_view name, const std::string& bytes) const { write_file(path(name), bytes); }
  void write(std::string_view name, const TarBuilder& tar) const { write(name, tar.bytes()); }

  std::string read(std::string_view name) const { return read_file(path(name)); }

  /// Changes one byte of a file.
  void flip(std::string_view name, std::size_t offset) const {
    std::string bytes = read(name);
    bytes.at(offset) = static_cast<char>(bytes[offset] ^ 1);
    write(name, bytes);
  }

 private:
  TempDir dir_;
};

}  // namespace shardkit::test
