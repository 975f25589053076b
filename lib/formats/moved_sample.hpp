#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The samples of a reshard's plan (docs/formats.md, "Plan of a reshard"): from which tar each comes, and as what.
namespace shardkit::formats {

/// A member of a sample that reshard takes from one tar to another.
struct MovedMember {
  std::string extension;              ///< in the output
  std::uint64_t offset = 0;           ///< of the first content byte in the input tar
  std::uint64_t size = 0;             ///< content bytes
  std::optional<std::uint64_t> xxh3;  ///< XXH3-64 of the content, where an index tells it
  std::string path = {};              ///< as IndexMember::path
  bool operator==(const MovedMember&) const = default;
};

/// The sample, which is a line of a reshard's plan.
struct MovedSample {
  std::uint64_t input = 0;             ///< number of the input tar
  std::string source_key;              ///< key in the input
  std::string key;                     ///< key in the output
  std::optional<std::uint64_t> label;  ///< empty without a readable .cls
  std::string path;                    ///< of the image before it was in any shard, where an index tells it
  std::vector<MovedMember> members;    ///< in output order: by extension
  bool operator==(const MovedSample&) const = default;
};

/// The sample's line, without newline.
std::string moved_sample_line(const MovedSample& sample);

/// What of the sample the plan's hash covers: all but where it lies in the inputs.
std::string moved_sample_identity(const MovedSample& sample);

/// Reads the columns of a line; false when they are none. `sample` is overwritten.
bool parse_moved_sample(const std::vector<std::string_view>& columns, MovedSample& sample);

/// The class whose folder the sample's path lies in, as its place among `classes`; 0 where the path tells none. For
/// classes that a class map gave one label.
std::size_t class_of_path(const MovedSample& sample, const std::vector<std::string>& classes);

/// Bytes that the sample takes in a tar.
std::uint64_t moved_sample_tar_bytes(const MovedSample& sample);

}  // namespace shardkit::formats
