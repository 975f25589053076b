#pragma once

#include <filesystem>

namespace shardkit::net {

/// Where a host keeps the certificates of the authorities that it trusts. A path is empty if the host has none there.
struct Authorities {
  std::filesystem::path file;    ///< PEM
  std::filesystem::path folder;  ///< hashed, as c_rehash makes it
};

/// Distributions have them at different paths, and a program that runs on all of them looks at each. `root` is for
/// tests.
Authorities find_authorities(const std::filesystem::path& root = "/");

}  // namespace shardkit::net
