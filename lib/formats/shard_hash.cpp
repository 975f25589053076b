#include "formats/shard_hash.hpp"

#include <algorithm>

namespace shardkit::formats {

void ShardHasher::update(Bytes bytes) {
  constexpr std::size_t block = 64U << 10U;  // stays in the first caches for the second hash
  while (!bytes.empty()) {
    const Bytes some = bytes.first(std::min({bytes.size(), block, static_cast<std::size_t>(kPartBytes - in_part_)}));
    whole_.update(some);
    part_.update(some);
    in_part_ += some.size();
    bytes = bytes.subspan(some.size());
    if (in_part_ < kPartBytes) continue;
    parts_.push_back(part_.digest());
    part_.reset();
    in_part_ = 0;
  }
}

std::vector<Hash128> ShardHasher::parts() const {
  std::vector<Hash128> all = parts_;
  if (in_part_ > 0) all.push_back(part_.digest());
  if (all.size() == 1) all.clear();
  return all;
}

std::string part_hash_text(const std::vector<Hash128>& parts) {
  std::string text;
  for (const Hash128& part : parts) text += to_hex(part);
  return text;
}

bool parse_part_hashes(std::string_view text, std::uint64_t bytes, std::vector<Hash128>& parts) {
  constexpr std::size_t digits = 32;
  if (text.size() != count_parts(bytes) * digits || bytes <= kPartBytes) return text.empty();
  parts.resize(text.size() / digits);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parse_hex(text.substr(i * digits, digits), parts[i])) return false;
  }
  return true;
}

}  // namespace shardkit::formats
