#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "io/file_system.hpp"
#include "staging/lease.hpp"
#include "staging/stage_journal.hpp"
#include "support/files.hpp"

/// A folder as a stage leaves it. `make()` writes files, journal and, when it is complete, marker.
struct StagedSample {
  std::string folder;
  std::map<std::string, std::string> content;
  bool complete = true;
  std::string source = "/source";
  std::uint64_t announced = 0;
  shardkit::system::WallTime used = shardkit::system::WallTime(std::chrono::seconds(1'767'225'600));

  void make() const {
    const auto files = shardkit::io::posix_file_system();
    shardkit::staging::StageJournal::State journal;
    journal.set = shardkit::staging::StagedSetId{shardkit::xxh3_128(shardkit::as_bytes(folder)), announced, source};
    std::uint64_t bytes = 0;
    write_file(path(shardkit::staging::kStageLockPath), "");
    for (const auto& [name, text] : content) {
      write_file(folder + "/" + name, text);
      journal.files[name] = {text.size(), "pin", shardkit::xxh3_128(shardkit::as_bytes(text))};
      bytes += text.size();
    }
    shardkit::staging::StageJournal::rewrite(*files, path(shardkit::staging::kStageJournalPath), journal);
    const shardkit::staging::StagedMarker marker{
        source, shardkit::staging::Verified::checksum, "", journal.set->hash, content.size(), bytes, {}};
    if (complete)
      write_file(path(shardkit::staging::kStagedMarkerPath), shardkit::formats::write_staged_marker(marker));
    touch(complete ? shardkit::staging::kStagedMarkerPath : shardkit::staging::kStageJournalPath, used);
  }

  void touch(const char* name, shardkit::system::WallTime time) const {
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch());
    const timespec moment{since.count(), 0};
    const timespec times[2] = {moment, moment};
    ::utimensat(AT_FDCWD, path(name).c_str(), times, 0);
  }

  std::string path(const std::string& name) const { return folder + "/" + name; }
};
