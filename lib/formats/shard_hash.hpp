#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/hash.hpp"

/// Hashes of a shard: of the whole file, and of its parts, so that a wrong byte makes one part be fetched again and not
/// the shard.
namespace shardkit::formats {

/// Size of a part. The last one is shorter.
inline constexpr std::uint64_t kPartBytes = 16ULL << 20U;

constexpr std::uint64_t count_parts(std::uint64_t bytes) { return (bytes + kPartBytes - 1) / kPartBytes; }

/// XXH3-128 of the bytes of a shard and of each of its parts, in one pass. One thread at a time.
class ShardHasher {
 public:
  void update(Bytes bytes);
  Hash128 whole() const { return whole_.digest(); }
  /// Of all parts; empty for a shard of one part, which whole() describes.
  std::vector<Hash128> parts() const;

 private:
  Xxh3Stream whole_;
  Xxh3Stream part_;
  std::uint64_t in_part_ = 0;
  std::vector<Hash128> parts_;
};

/// The hashes of parts as text: 32 hexadecimal digits for each, without a separator.
std::string part_hash_text(const std::vector<Hash128>& parts);
/// Parses the text for a shard of `bytes`; false for another number of parts, and for anything else.
bool parse_part_hashes(std::string_view text, std::uint64_t bytes, std::vector<Hash128>& parts);

}  // namespace shardkit::formats
