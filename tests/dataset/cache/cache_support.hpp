#pragma once

#include <algorithm>

#include "support/staged_folder.hpp"
#include "support/temp_dir.hpp"

/// A cache of two folders: "new" with two files of 3000 bytes, "old" with one of 1000.
struct SampleCache {
  SampleCache() {
    using std::chrono::hours;
    const shardkit::system::WallTime now = shardkit::system::system_clock().now();
    StagedSample{dir.path("old"), {{"1.tar", std::string(1000, 'o')}}, true, "/src/old", 0, now - hours(2)}.make();
    StagedSample{dir.path("sub/new"),
                 {{"1.tar", std::string(1000, 'n')}, {"2.tar", std::string(2000, 'm')}},
                 true,
                 "/src/new",
                 0,
                 now - hours(1)}
        .make();
  }

  /// A lease that ends `time` from now. One that has ended was taken before the folders were last used.
  void lease(const std::string& name, const std::string& owner, std::chrono::seconds time) const {
    const shardkit::system::WallTime now = shardkit::system::system_clock().now();
    const shardkit::system::WallTime taken = now + 3 * std::min(time, std::chrono::seconds(0));
    shardkit::staging::take_lease(*shardkit::io::posix_file_system(), dir.path(name), {owner, taken, now + time});
  }
  bool holds(const std::string& name) const { return std::filesystem::exists(dir.path(name)); }

  TempDir dir;
};
