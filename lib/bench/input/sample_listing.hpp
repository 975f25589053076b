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

/// Where one sample lies in a set.
struct SampleRef {
  std::uint32_t file = 0;    ///< index into InputSet::files
  std::uint64_t offset = 0;  ///< of its first member's content; to the end of its last are `bytes`
  std::uint64_t bytes = 0;
  bool has_image = false;  ///< a member is an image by its name; the first one is meant below
  std::uint64_t image_offset = 0;
  std::uint64_t image_bytes = 0;  ///< 0 for an empty image too: one that cannot be decoded, as others are that cannot
};

/// The samples of all plain files, then of at most `most_shards` shards, taken evenly over the set. Reads our index
/// where a shard has one, else the shard's headers. What is wrong with a shard becomes a warning, and samples that its
/// end cuts are left out.
std::vector<SampleRef> list_samples(const InputSet& input, std::size_t most_shards, Context& context);

/// Which samples a measurement used: enough to take the same ones again.
struct SampleChoice {
  std::uint64_t listed = 0;  ///< to choose from
  std::uint64_t chosen = 0;
  std::string how;
  std::vector<std::string> first;  ///< "shard.tar/key.jpg" of a shard's, the path of a file

  void describe(FieldVisitor& v) {
    v.field({"listed", Unit::count, "images found"}, listed);
    v.field({"chosen", Unit::count, "images used"}, chosen);
    v.field({"how", "how they were chosen"}, how);
    v.field({"first", "the first of them: a file, or a shard and a member name"}, first);
  }
};

/// Names of the samples' images: the file's path, or shard/member as the member's own tar header spells it (at most
/// its first 100 bytes where a long name stands in an extension).
std::vector<std::string> sample_names(const InputSet& input, std::span<const SampleRef> samples);

}  // namespace shardkit::bench
