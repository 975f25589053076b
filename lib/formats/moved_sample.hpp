#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/shard_index.hpp"

/// The samples of a reshard's plan (docs/explain/formats.md, "Plan of a reshard"): the tar of each, and its new name.
namespace shardkit::formats {

/// A sample that reshard copies from one tar to another, which is a line of its plan. Key and extensions are those in
/// the output, offsets those in the input; members are in output order, by extension.
struct MovedSample : IndexSample {
  std::uint64_t input = 0;  ///< number of the input tar
  std::string source_key;   ///< key in the input
  bool operator==(const MovedSample&) const = default;
};

/// The sample's line, without newline.
std::string moved_sample_line(const MovedSample& sample);

/// The part of the sample that the plan's hash covers: everything except its position in the inputs.
std::string moved_sample_identity(const MovedSample& sample);

/// Reads the columns of a line; false if they are invalid. `sample` is overwritten.
bool parse_moved_sample(const std::vector<std::string_view>& columns, MovedSample& sample);

/// The class of the sample's path, as index into `classes`; 0 if the path has none. For classes to which a class map
/// gave one label.
std::size_t class_of_path(const MovedSample& sample, const std::vector<std::string>& classes);

/// Size of the sample in a tar.
std::uint64_t moved_sample_tar_bytes(const MovedSample& sample);

}  // namespace shardkit::formats
