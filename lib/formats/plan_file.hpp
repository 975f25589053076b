#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "formats/portable_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tsv.hpp"

/// The plan file (docs/explain/formats.md, "Plan", version 1): which source file becomes which member of which
/// shard. Lines of tab-separated text in shard order, then a table with the start and the checksum of each shard's
/// lines, so that a part reads and checks only its shards, and only one line is in memory.
namespace shardkit::formats {

/// How a source file is recognized: by size and modification time, or in a store by its version.
struct FileState {
  std::uint64_t size = 0;                   ///< bytes
  std::int64_t mtime_ns = 0;                ///< since 1970; 0 for an object
  std::optional<std::string> version = {};  ///< of an object of a store; may be empty
  bool operator==(const FileState&) const = default;
};
/// "size:mtime", or of an object "size:@version".
void append_state(std::string& line, const FileState& state);
bool parse_state(std::string_view text, FileState& state);

/// A source file as found by the scan.
struct PlannedFile : FileState {
  std::string extension;  ///< the part after stem and dot in the source, or, starting with '_' or '-', after the stem
  std::string path = {};  ///< relative to the source, for a file with another stem than its sample's
  bool operator==(const PlannedFile&) const = default;
};

struct PlannedSample {
  std::optional<std::uint32_t> class_index = 0;  ///< into PlanHead::classes; empty: it has no label
  KeyMark mark = KeyMark::none;                  ///< of its key
  /// Path without the last dot and extension: within the class folder, or in a list's plan below the source.
  std::string stem;
  PlannedFile image;
  std::vector<PlannedFile> sidecars;  ///< the sample's other files; `extension` of one with a path is its field's name
  std::string json = {};              ///< text of a .json member without a file; at most kLongestPlannedJson bytes
  std::uint64_t group = 0;            ///< XXH3-64 of the name of its group, in a plan of groups
  bool operator==(const PlannedSample&) const = default;
};

/// A tar that a reshard takes samples from, without its folder: moved inputs are still the same.
struct PlanInput {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t mtime_ns = 0;  ///< since 1970
  bool operator==(const PlanInput&) const = default;
};

/// Start of a plan that adds to a finished set.
struct PlanStart {
  std::uint64_t shards = 0;      ///< number of shards of the earlier plans, and so the number of this one's first
  Hash128 plan;                  ///< hash of the plan before it
  std::uint64_t readmitted = 0;  ///< files that the earlier plans left out and this one contains
  bool operator==(const PlanStart&) const = default;
};

/// Its escaped form fits into a line.
inline constexpr std::size_t kLongestPlannedJson = 400'000;

struct PlanHead {
  std::string name;                            ///< shard name prefix
  std::map<std::string, std::string> options;  ///< those that affect the output
  std::vector<ManifestClass> classes;          ///< sorted by name; of a list with numbers by label
  std::vector<IndexSkip> skipped;              ///< files left out by the scan
  std::vector<PlanInput> inputs = {};          ///< for a reshard; none in a plan of convert
  bool listed = false;                         ///< of a list of images, not of a tree of class folders
  bool objects = false;                        ///< its images are objects of a store and have versions
  bool paths = false;                          ///< indexes contain the paths of members
  bool grouped = false;                        ///< its samples have groups
  std::optional<PlanStart> start = {};         ///< of a plan that --append made
  std::optional<std::uint64_t> parts =
      {};  ///< number of parts; for schedulers that do not provide it, not part of the hash
  bool operator==(const PlanHead&) const = default;
};

struct PlanShard {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;   ///< of the tar if nothing is skipped
  std::uint64_t offset = 0;  ///< of its first line within the plan file
  std::uint64_t lines = 0;   ///< XXH3-64 of its lines
};

/// The value of an option that matters for the plan: --on-bad skip, which has an effect only for bad files, counts as
/// fail.
std::string_view planned_value(std::string_view name, std::string_view value);

/// The line of a sample in a plan, without its newline.
struct SampleLine {
  std::string text;
  std::string identity;  ///< the part that the plan's hash covers: of each file's state only the size
};
/// Replaces both texts of `line`.
void write_sample_line(const PlanHead& head, const PlannedSample& sample, SampleLine& line);

/// Writes a plan. Call begin_shard() before the samples of each shard.
class PlanWriter {
 public:
  PlanWriter(ByteSink& sink, PlanHead head);

  void begin_shard();
  void add(const PlannedSample& sample);
  void add(const MovedSample& sample);
  /// Adds a sample as a line without its newline. `identity` is the part that the plan's hash covers, `tar_bytes` its
  /// size in its shard.
  void add_line(std::string_view line, std::string_view identity, std::uint64_t tar_bytes);

  /// Writes the table and returns the plan's hash: XXH3-128 over everything except mtimes and versions, so that a copy
  /// of the same tree has the same plan. Options count by their planned_value().
  Hash128 finish();
  const std::vector<PlanShard>& shards() const { return shards_; }

 private:
  void put(std::string_view text);
  void identify(std::string_view text);
  void end_block();

  ByteSink& sink_;
  const PlanHead head_;
  Xxh3Stream identity_;
  Xxh3Stream block_;  ///< of the head, then of the lines of the current shard, then of the table
  Hash128 head_checksum_;
  std::vector<PlanShard> shards_;
  std::uint64_t offset_ = 0;
  SampleLine line_;
};

/// Reads a plan through a ByteSource that outlives it. The constructor compares head and table with their checksums, a
/// ShardReader the lines of its shard. Both throw Error{corrupt, unsupported}.
class PlanReader {
 public:
  PlanReader(ByteSource& source, std::string name);

  const PlanHead& head() const { return head_; }
  const std::vector<PlanShard>& shards() const { return shards_; }
  const Hash128& hash() const { return hash_; }
  /// Reads the whole file and throws Error{corrupt} if its bytes differ from those written.
  void check_bytes() const;
  /// Whether both were written with the same bytes, by the checksums at their ends.
  bool is_copy_of(const PlanReader& other) const { return end_ == other.end_; }
  /// Number of the first shard; not 0 in a plan that adds to a set.
  std::uint64_t first_shard() const { return head_.start ? head_.start->shards : 0; }
  /// "<prefix>-000007.tar"; `shard` counts from 0 within the plan.
  std::string shard_name(std::size_t shard) const;

  /// The samples of one shard, in order. One thread at a time.
  class ShardReader {
   public:
    ShardReader(const PlanReader& plan, std::size_t shard);
    /// Of a convert's plan, or of a reshard's; false after the last sample.
    bool next(PlannedSample& sample);
    bool next(MovedSample& sample);

   private:
    /// Reads the next line into `columns_`.
    bool next_line();
    [[noreturn]] void unreadable() const;

    const PlanReader* plan_;
    LineReader lines_;
    std::uint64_t left_;
    std::vector<std::string_view> columns_;
  };
  ShardReader read_shard(std::size_t shard) const { return ShardReader(*this, shard); }

 private:
  void read_head();
  void read_table();
  void parse_table(std::uint64_t count, std::uint64_t end);
  Hash128 hash_of(std::uint64_t begin, std::uint64_t end) const;
  void check_lines(std::size_t shard) const;
  [[noreturn]] void damaged(std::uint64_t offset, std::string_view why) const;

  ByteSource& source_;
  std::string name_;
  PlanHead head_;
  std::vector<PlanShard> shards_;
  std::uint64_t head_bytes_ = 0;
  std::uint64_t table_offset_ = 0;
  Hash128 hash_;
  Hash128 end_;  ///< of the table, which has the checksums of everything before it
};

/// The path of a plan, relative to the folder of its shards: ".shardkit/plan", and of the ones that --append added
/// behind it ".shardkit/plan-1", ".shardkit/plan-2" and so on.
std::string plan_path(std::uint64_t number);

/// The folder in which an --append writes the shards of what will be plan `number` of a set, relative to that of the
/// set: ".shardkit/append-1" and so on.
std::string append_path(std::uint64_t number);

/// "<prefix>-000007.tar".
std::string shard_name(std::string_view prefix, std::uint64_t number);

/// The number in the name of a shard, or of a file named after it: 7 for "<prefix>-000007.tar", "<prefix>-000007.idx"
/// and "<prefix>-000007.tar.bad". Empty for other names.
std::optional<std::uint64_t> shard_number(std::string_view prefix, std::string_view name);

/// True for a file that could not be read when the plan was made.
bool is_unread(const FileState& file);

/// The label as the .cls member holds it: ASCII digits, no newline.
std::string label_text(std::uint64_t label);

/// Path of one of the sample's files relative to the source.
std::string file_path(const PlanHead& head, const PlannedSample& sample, const PlannedFile& file);

/// Path of the sample's image relative to the source.
std::string image_path(const PlanHead& head, const PlannedSample& sample);

/// The key of the sample.
std::string sample_key(const PlanHead& head, const PlannedSample& sample);

/// Size of the sample in its shard: image, side-cars, .json and label, each with header and padding.
std::uint64_t sample_tar_bytes(const PlanHead& head, const PlannedSample& sample);

}  // namespace shardkit::formats
