#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/context.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/sharding/split.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"

/// Selects and orders the samples of a table for the output. Draws depend only on keys and seed.
namespace shardkit::dataset {

/// The part of a sample that stays in memory between the two passes: 24 bytes. With an order of 4 bytes, and 4 more
/// while it is made, ten million samples take 320 MB.
struct SampleRecord {
  std::uint64_t key_hash = 0;  ///< XXH3-64 of its key in the output
  std::uint64_t line = 0;      ///< where its line starts in the spool (40 bits), and its length (24 bits)
  std::uint32_t tar_blocks = 0;
  std::uint32_t label = 0;  ///< the largest value: without a label; the one below: it is in the line only
};

/// Members that a later one of the same full name in their tar replaces: the last is what tar and Python unpack.
struct ReplacedMembers {
  std::uint64_t count = 0;
  std::pair<std::uint64_t, std::uint64_t> first;  ///< number of its input, and offset of the one that was kept
  std::string name;                               ///< of the first

  void add(const ReplacedMembers& other) {
    if (other.count > 0 && (count == 0 || other.first < first)) {
      first = other.first;
      name = other.name;
    }
    count += other.count;
  }
};

/// Removes them from the members of one sample of a tar.
ReplacedMembers keep_last_members(formats::MovedSample& sample);

/// All samples of the inputs, numbered in input order: small records in memory, their lines in a temporary file.
class SampleTable {
 public:
  /// The temporary file is in `folder` during the lifetime of the table.
  SampleTable(io::FileSystem& files, const std::string& folder) : spool_(files, io::join_path(folder, "samples")) {}

  /// The samples of one input, collected by one thread.
  class Batch {
   public:
    explicit Batch(SampleTable& table) : table_(table) {}
    /// Throws Error{unsupported} for a sample that no plan can describe.
    void add(const formats::MovedSample& sample);

   private:
    friend class SampleTable;
    void spill();

    SampleTable& table_;
    std::vector<SampleRecord> records_;
    std::string text_;
    std::size_t first_in_text_ = 0;  ///< of records_
    bool has_paths_ = false;
  };

  /// Adds the samples of input number `input`; the inputs may be added in any order, each once. Thread-safe.
  void take(std::size_t input, Batch&& batch);
  /// Call this after the last take(), before samples are read.
  void close();

  /// Whether a member of any sample has a path of its own.
  bool has_paths() const { return has_paths_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(records_.size()); }
  const SampleRecord& record(std::uint32_t sample) const { return records_[sample]; }
  std::uint64_t tar_bytes(std::uint32_t sample) const { return std::uint64_t{records_[sample].tar_blocks} * 512; }
  /// Empty without a label. A label of more than 32 bits is read from the disk. Thread-safe after close().
  std::optional<std::uint64_t> label(std::uint32_t sample) const;
  /// The complete sample, its key and path marked if they are. Thread-safe after close().
  formats::MovedSample read(std::uint32_t sample) const;

  /// Adds a collision mark to the sample: '-' and 8 digits of XXH3-64 over "<number of its input>/<original key>"; for
  /// one of several samples of a tar, the hash also covers '@' and its position in the tar; if another one has that
  /// position too, because both are links, also '#' and its number.
  enum class Mark : std::uint8_t { none, by_input, by_position, by_number };
  static std::uint64_t position_of(const formats::MovedSample& sample) {
    return std::ranges::min(sample.members, {}, &formats::IndexMember::offset).offset;
  }
  void mark(std::uint32_t sample, Mark mark);
  /// Moves the members of `part`, which are elsewhere in the tar, into `sample`; `part` is then not a sample. Returns
  /// the members that these replace.
  ReplacedMembers join(std::uint32_t sample, std::uint32_t part);
  bool is_part(std::uint32_t sample) const { return !is_part_.empty() && is_part_[sample]; }

 private:
  formats::MovedSample read_line(std::uint32_t sample) const;

  io::AtomicFile spool_;  // never committed
  std::optional<io::File> lines_;
  std::mutex mutex_;  ///< guards the spool and the added inputs
  std::uint64_t spool_bytes_ = 0;
  std::size_t next_input_ = 0;
  std::map<std::size_t, std::vector<SampleRecord>> early_;  ///< inputs that were added out of order
  std::deque<SampleRecord> records_;                        // grows without copying what is there
  std::vector<Mark> marks_;
  std::vector<std::uint32_t> next_part_;  ///< of a sample or of a part; kNoPart behind the last
  std::vector<bool> is_part_;
  bool has_paths_ = false;
};

/// The result of the first pass of a reshard.
struct GatheredSamples {
  std::uint64_t found = 0;                       ///< samples, kept or not
  std::uint64_t ignored = 0;                     ///< members that belong to no sample
  std::uint64_t lost_samples = 0;                ///< with --salvage: after truncations, as far as known
  std::uint64_t lost_bytes = 0;                  ///< the same
  bool lost_known = true;                        ///< else more samples than lost_samples may be lost
  std::vector<formats::IndexSkip> dropped = {};  ///< with --drop-bad: samples that no shard can contain, sorted
  bool texts_are_data = false;                   ///< see texts_are_data()
  ReplacedMembers replaced;
  /// Offsets in an input at which further archives start.
  std::map<std::uint64_t, std::vector<std::uint64_t>> archive_starts;
};

struct ReshardOptions;
/// The first pass: reads each tar's index if it fits the tar's size, otherwise its headers and labels, adds the samples
/// that the options keep to the table, and closes it. Throws the errors of SampleFilter() and parse_renames(),
/// Error{corrupt} with tar and offset for a tar that readers do not read completely or a sample with two members of one
/// extension, Error{unsupported} for members that portable shards cannot contain, Error{not_found} if there is no
/// sample.
GatheredSamples gather_samples(const ReshardOptions& options, const ReshardInputs& inputs, unsigned threads,
                               SampleTable& table, Context& context);

/// Ensures that no two samples of the table have the same key. Joins pieces of a sample that are separated in their
/// archive; of members with one name the last counts, which is noted in `gathered`. With --mark-duplicates, a piece
/// with all extensions of the sample before it is another sample. Samples that share a key each get a mark with
/// --mark-duplicates (SampleTable::mark); otherwise throws Error{conflict} that names both positions and the command
/// that marks them. Takes 4 bytes per sample during the call. Returns the number of joined pieces.
std::uint64_t settle_duplicate_keys(SampleTable& table, GatheredSamples& gathered, const ReshardInputs& inputs,
                                    const ReshardOptions& options, Context& context);

/// All samples of the table in input order, without parts of others.
SampleOrder input_order(const SampleTable& table);

/// How many of `available` samples --sample wants: "N", also if there are fewer, or with a decimal point a share
/// between 0 and 1, rounded. Throws Error{usage} for another text.
std::uint64_t wanted_samples(const std::string& text, std::uint64_t available);

/// The `count` samples of lowest rank, or all, in the order they had.
SampleOrder draw_samples(const SampleTable& table, SampleOrder order, std::uint64_t count, std::uint64_t seed);

/// Puts the order into bytewise order of keys: runs of at most 32 MiB of keys are sorted in memory, then merged.
void sort_by_key(const SampleTable& table, SampleOrder& order, Context& context);

}  // namespace shardkit::dataset
