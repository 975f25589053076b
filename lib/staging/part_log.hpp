#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/file_system.hpp"
#include "staging/range_set.hpp"

namespace shardkit {

/// Which bytes a partial file is of.
struct PartialOf {
  std::string name;  ///< of the object, relative to its source
  std::string pin;   ///< StageFile::pin()
  std::uint64_t size = 0;

  bool operator==(const PartialOf&) const = default;
};

struct PartRecord {
  PartialOf of;
  RangeSet durable;
};

/// What a part log says (docs/formats.md, "Part log"): a line that names the bytes, then lines that each list all
/// ranges that were durable by then; the last whole line counts. Empty for what is no such log.
std::optional<PartRecord> read_part_log(std::string_view text);

/// The log beside a partial file, by which a copy goes on after a kill or a power cut. Written after the bytes it
/// speaks of were synced, so that it never says more than is true. One thread at a time.
class PartLog {
 public:
  PartLog(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// What is known of these very bytes; nothing when the log is of others or there is none.
  RangeSet read(const PartialOf& of) const;
  void record(const PartialOf& of, const RangeSet& durable);
  void remove();

 private:
  FileSystem& files_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace shardkit
