#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/input/sample_listing.hpp"
#include "core/fields.hpp"

namespace shardkit {

/// Which samples a measurement used: enough to take the same ones again.
struct SampleChoice {
  std::uint64_t listed = 0;  ///< to choose from
  std::uint64_t chosen = 0;
  std::string how;
  std::vector<std::string> first;  ///< "shard.tar/key.jpg" of a shard's, the path of a file

  void describe(FieldVisitor& v) {
    v.field({"listed", Unit::count, "images that there were to choose from"}, listed);
    v.field({"chosen", Unit::count, "images taken"}, chosen);
    v.field({"how", Unit::none, "how they were chosen"}, how);
    v.field({"first", Unit::none, "the first of them: a file, or a shard and the member's name"}, first);
  }
};

/// Names of the samples' images: the file's path, or shard/member as the member's own tar header spells it (at most
/// its first 100 bytes where a long name stands in an extension).
std::vector<std::string> sample_names(const InputSet& input, std::span<const SampleRef> samples);

}  // namespace shardkit
