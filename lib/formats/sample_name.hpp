#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/shard_index.hpp"
#include "formats/tar_parser.hpp"

/// How tar members become samples: WebDataset's rules (webdataset 1.0.2, tariterators.py), which the other readers
/// follow.
namespace shardkit::formats {

/// The two parts of a member's name; views of the given name.
struct SampleName {
  std::string_view key;        ///< folders and the file name up to its first dot
  std::string_view extension;  ///< the part after that dot, with its case
};

/// Splits like `^((?:.*/|)[^.]+)[.]([^/]*)$`; empty if it does not match: readers drop such members silently.
/// "a/._x.jpg" matches with the key "a/", as it does there.
std::optional<SampleName> split_sample_name(std::string_view member);

/// True when the first path component is "__...__": readers skip such members.
bool is_metadata_name(std::string_view member);

/// Labels are whole numbers from 0 to this, the largest 64-bit integer of the loaders.
inline constexpr std::uint64_t kLargestLabel = INT64_MAX;
inline constexpr const char* kLabelRange = "a whole number from 0 to 9223372036854775807";

/// Groups adjacent members with equal keys into samples, without labels; an extension may occur twice.
class SampleGrouper {
 public:
  /// Takes the next member of the shard; returns the previous sample when this one begins another. Members that are not
  /// regular files, are metadata or have no extension belong to no sample and do not end one.
  std::optional<IndexSample> add(const TarEntry& entry);

  /// The last sample, after the last member.
  std::optional<IndexSample> finish();

 private:
  IndexSample current_;
};

}  // namespace shardkit::formats
