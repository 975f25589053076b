#include "catalog/shard_faults.hpp"

#include "core/remedies.hpp"

namespace shardkit::catalog {

formats::ShardSummary fitting_summary(ByteSource& index, const std::string& path, const ShardFile& shard,
                                      const formats::ManifestShard* listed, bool whole) {
  formats::ShardSummary summary = formats::read_shard_summary(index, path, whole);
  const bool as_listed = listed == nullptr || listed->xxh3_128 == summary.xxh3_128;
  if (as_listed && summary.name == shard.name && summary.bytes == shard.bytes) return summary;
  throw Error(ErrorCode::corrupt, "it was made for other bytes than those of the shard", path);
}

void warn_of_index(const std::string& shard_path, const Error& why, Context& context) {
  context.warn("index_ignored", "the index of '{}' is not used: {}", shard_path, why.what());
}

void warn_of_damage(const std::string& shard_path, const formats::TarFinding& finding, Context& context) {
  context.warn("damaged_shard", "'{}' at byte {}: {}; {} lists everything that is wrong with it", shard_path,
               finding.offset, finding.text, remedy::in_text(remedy::verify({shard_path})));
}

}  // namespace shardkit::catalog
