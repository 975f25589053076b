#include "dataset/index/shard_indexer.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/ascii.hpp"
#include "core/error.hpp"

namespace shardkit {

bool ShardIndexer::entry(const TarEntry& entry) {
  if (auto done = grouper_.add(entry)) write(std::move(*done));
  if (entry.type != TarType::regular || is_metadata_name(entry.name)) return false;
  const auto name = split_sample_name(entry.name);
  if (!name) return false;
  hash_.reset();
  in_label_ = lower_case(name->extension) == kLabelExtension;
  if (in_label_) label_reader_.start();
  return true;
}

void ShardIndexer::content(Bytes piece) {
  hash_.update(piece);
  if (in_label_) label_reader_.add(piece);
}

void ShardIndexer::content_end() {
  hashes_.push_back(hash_.digest());
  if (in_label_) label_ = label_reader_.label();
}

void refuse_unreadable(const TarFinding& finding, const std::string& path) {
  if (finding.fault == TarFault::missing_end || finding.fault == TarFault::short_end) return;
  throw Error(
      ErrorCode::corrupt,
      fmt::format("shard '{}' cannot be indexed, at byte {}: {}; `shardctl verify` tells all that is wrong with it",
                  path, finding.offset, finding.text),
      path, finding.offset);
}

void ShardIndexer::finding(const TarFinding& finding) { refuse_unreadable(finding, path_); }

void ShardIndexer::finish() {
  if (auto last = grouper_.finish()) write(std::move(*last));
}

void ShardIndexer::write(Sample&& sample) {
  // A file that shrinks while it is read ends in a finding, but not before its last member was counted.
  if (hashes_.size() != sample.members.size()) {
    throw Error(ErrorCode::io, fmt::format("shard '{}' changed while it was read", path_), path_);
  }
  IndexSample line;
  line.key = std::move(sample.key);
  line.label = std::exchange(label_, std::nullopt);
  for (std::size_t i = 0; i < sample.members.size(); ++i) {
    SampleMember& member = sample.members[i];
    line.members.push_back({std::move(member.extension), member.offset, member.size, hashes_[i]});
  }
  hashes_.clear();
  index_.add(line);
}

}  // namespace shardkit
