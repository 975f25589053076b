#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "core/finding.hpp"

/// The problems that `shardctl verify` can find, and how they are counted and listed.
namespace shardkit::dataset {

enum class ProblemCode {
  // the file and the archive
  unreadable,
  zero_length,
  compressed,
  not_a_tar,
  bad_header_checksum,
  bad_size_field,
  bad_pax_header,
  oversized_header,
  truncated,
  missing_end,
  short_end,
  data_after_end,
  // members
  pax_header,
  pax_global_header,
  gnu_longname,
  ustar_prefix,
  base256_size,
  header_number,
  header_times,
  large_member,
  sparse,
  hard_link,
  symlink,
  directory,
  special_file,
  empty_member,
  // names
  unsafe_name,
  control_character,
  space_in_name,
  non_ascii_name,
  name_too_long,
  apple_double,
  macosx_folder,
  hidden_name,
  metadata_member,
  no_extension,
  nested_tar,
  uppercase_extension,
  dot_in_stem,
  // samples
  empty_shard,
  duplicate_extension,
  repeated_member,
  split_sample,
  duplicate_key,
  missing_label,
  missing_field,
  bad_label,
  label_out_of_range,
  class_count,
  label_gap,
  label_conflict,
  image_in_sets,
  orphan_member,
  differing_members,
  // images
  image_truncated,
  image_no_end,
  image_data_after_end,
  image_corrupt,
  image_damaged,
  image_not_an_image,
  image_unsupported,
  image_other_format,
  image_zero_pixels,
  image_too_large,
  image_too_many_scans,
  image_cmyk,
  // the source tree
  differs_from_source,
  label_not_of_source,
  not_in_source,
  missing_from_shards,
  // compared with manifest and index
  missing_shard,
  set_unfinished,
  extra_shard,
  shard_size,
  sample_count,
  checksum,
  sample_checksum,
  index_damaged,
  index_mismatch,
  plan_damaged,
  foreign_index,
  listed_file,
};

inline constexpr std::size_t kProblemCodes = static_cast<std::size_t>(ProblemCode::listed_file) + 1;

/// Repairs of a problem. Those from `reshard` to `rename` are options of reshard.
enum class Remedy {
  none,             ///< no command: the source has to be corrected and the set made again
  reshard,          ///< `shardctl reshard` writes the same samples without it
  salvage,          ///< takes the samples before the damage, and those whose bytes did not change
  mark_duplicates,  ///< gives each sample a name of its own
  merge_classes,    ///< numbers the classes of all folders together
  drop_bad,         ///< leaves the samples out; of warnings only large_member
  unread,           ///< takes what readers and verify do not see, with the repairs that it may need
  rename,           ///< gives an extension to members without one
  index,            ///< another reader's index is written again
  move_away,        ///< the shard does not belong to the set
  of_state,         ///< catalog::state_advice()
  restore,          ///< no command: the bytes have to come from a copy or from the source again
};

/// The properties of a code, in the order of the enum.
struct ProblemKind {
  ProblemCode code;
  std::string_view name;  ///< as in JSON; stable
  Severity severity;
  std::string_view meaning;  ///< what readers do with it
  Remedy remedy = Remedy::none;
};
std::span<const ProblemKind> problem_kinds();
const ProblemKind& problem_kind(ProblemCode code);

/// One line of a verify result; stands for `count` occurrences in its shard. An error if readers lose or confuse data,
/// a warning if some readers have trouble. The path is the shard's file name, or its path among several folders; the
/// offset is that of the first occurrence.
struct Problem : Finding {
  std::string key = {};  ///< of the sample, or the member's name; empty if neither applies
  std::uint64_t count = 1;
  std::optional<std::uint64_t> lost_samples = {};  ///< of a truncated shard, if its number of samples is known

  void describe(FieldList& v);
};

/// The problems of one shard. Lists the first few of each code and counts the rest into the last one listed, so that
/// 80,000 PAX headers make one line. For one thread at a time.
class ProblemLog {
 public:
  static constexpr std::uint64_t kMostErrorsListed = 20;
  static constexpr std::uint64_t kMostWarningsListed = 1;

  static std::uint64_t most_listed(ProblemCode code) {
    return problem_kind(code).severity == Severity::error ? kMostErrorsListed : kMostWarningsListed;
  }

  explicit ProblemLog(std::string shard) : shard_(std::move(shard)) {}

  /// `detail` describes this occurrence; `count` is the number of occurrences it stands for.
  void add(ProblemCode code, std::optional<std::uint64_t> offset, std::string_view key, std::string_view detail = {},
           std::uint64_t count = 1);
  /// Of the problem that was added last, which then gets its own line.
  void set_lost_samples(std::uint64_t samples) { problems_.back().lost_samples = samples; }
  /// Occurrences in total.
  std::uint64_t errors() const;
  std::uint64_t warnings() const;
  std::uint64_t count(ProblemCode code) const { return tallies_[static_cast<std::size_t>(code)].count; }
  bool has(ProblemCode code) const { return count(code) > 0; }
  const std::string& shard() const { return shard_; }

  /// Removes problems that another one explains. Nothing may be added afterwards.
  void drop(ProblemCode code);
  /// The lines, in the order of their first occurrence.
  std::vector<Problem> take();

 private:
  struct Tally {
    std::uint64_t count = 0;
    std::uint64_t listed = 0;
    std::size_t last = 0;  ///< position of the last one listed
  };
  /// True if one more of `code` gets its own line.
  bool lists(ProblemCode code) const;
  std::uint64_t total(Severity severity) const;

  std::string shard_;
  std::array<Tally, kProblemCodes> tallies_{};
  std::vector<Problem> problems_;
};

}  // namespace shardkit::dataset
