#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/input/input_files.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::bench {

/// Position of one sample in a set.
struct SampleRef {
  std::uint32_t file = 0;    ///< index into InputSet::files
  std::uint64_t offset = 0;  ///< of the content of its first member; `bytes` reach to the end of its last
  std::uint64_t bytes = 0;
  bool has_image = false;  ///< a member is an image by its name; it is the image below
  std::uint64_t image_offset = 0;
  std::uint64_t image_bytes = 0;  ///< also 0 for an empty image, which cannot be decoded
};

/// The samples of all plain files, then of at most `most_shards` shards, evenly distributed over the set. Uses our
/// index if a shard has one, else the shard's headers. Faults of a shard become a warning, and incomplete samples at
/// its end are left out. Of shards without an index, lists the samples that it comes to until the deadline;
/// throws Error{usage} if no image is among them.
std::vector<SampleRef> list_samples(const InputSet& input, std::size_t most_shards, Context& context,
                                    const Deadline& deadline = {});

/// The samples of a measurement: enough to use the same ones again.
struct SampleChoice {
  std::uint64_t listed = 0;  ///< to choose from
  std::uint64_t chosen = 0;
  std::string how;
  std::vector<std::string> first;  ///< "shard.tar/key.jpg" in a shard, or the path of a file

  void describe(FieldList& v) {
    v.field({"listed", Unit::count, "images found"}, listed);
    v.field({"chosen", Unit::count, "images used"}, chosen);
    v.field({"how", "how they were chosen"}, how);
    v.field({"first", "the first of them: a file, or a shard and a member name"}, first);
  }
};

/// Names of the samples' images: the file's path, or shard/member as spelled in the tar header (the first 100 bytes if
/// a long name is in an extension).
std::vector<std::string> sample_names(const InputSet& input, std::span<const SampleRef> samples);

}  // namespace shardkit::bench
