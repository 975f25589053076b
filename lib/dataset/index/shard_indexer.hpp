#pragma once

#include <string>
#include <vector>

#include "core/hash.hpp"
#include "dataset/samples/sample_label.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit {

/// Makes the index of a tar that somebody else wrote, while it is read: any dialect, offsets as they really are.
class ShardIndexer final : public TarHandler {
 public:
  /// Samples go to `index`; it and `path`, which is for messages, stay the caller's.
  ShardIndexer(ShardIndexWriter& index, const std::string& path) : index_(index), path_(path) {}

  bool entry(const TarEntry& entry) override;
  void content(Bytes piece) override;
  void content_end() override;
  /// As refuse_unreadable().
  void finding(const TarFinding& finding) override;

  /// No member follows.
  void finish();

 private:
  void write(Sample&& sample);

  ShardIndexWriter& index_;
  const std::string& path_;
  SampleGrouper grouper_;
  Xxh3Stream64 hash_;
  std::vector<std::uint64_t> hashes_;  ///< of the current sample's members so far
  bool in_label_ = false;              ///< the current member is a .cls
  LabelReader label_reader_;
  std::optional<std::uint64_t> label_;
};

/// Throws Error{corrupt} for what keeps readers from reading a shard whole; lets pass what they cope with.
void refuse_unreadable(const TarFinding& finding, const std::string& path);

}  // namespace shardkit
