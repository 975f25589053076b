#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.hpp"

namespace shardkit::staging {

/// The bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const ByteRange&) const = default;
};

/// Some bytes of a file, as ranges that neither meet nor overlap.
class RangeSet {
 public:
  void add(ByteRange range);
  void remove(ByteRange range);
  void clear() { ends_.clear(); }

  /// Bytes in the set.
  std::uint64_t total() const;
  /// The first byte at or after `from` that is not in the set.
  std::uint64_t end_of_run(std::uint64_t from) const;
  /// The first bytes of [0, size) that are not in the set; empty when all are.
  std::optional<ByteRange> first_gap(std::uint64_t size) const;
  /// In ascending order.
  std::vector<ByteRange> ranges() const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< end by begin
};

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
  PartLog(io::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// What is known of these very bytes; nothing when the log is of others or there is none.
  RangeSet read(const PartialOf& of) const;
  void record(const PartialOf& of, const RangeSet& durable);
  void remove();

 private:
  io::FileSystem& files_;
  std::string path_;
  std::unique_ptr<io::WritableFile> file_;
};

}  // namespace shardkit::staging
