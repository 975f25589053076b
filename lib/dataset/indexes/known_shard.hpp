#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/hash.hpp"
#include "dataset/indexes/foreign_indexes.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/manifest.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_scanner.hpp"

/// Indexes for other readers, of shards that a manifest describes already.
namespace shardkit::dataset {

/// Makes the index of a tar that somebody else wrote, while it is read: any dialect, offsets as they really are.
class ShardIndexer final : public formats::TarHandler {
 public:
  /// Samples go to `index`; it and `path`, which is for messages, stay the caller's.
  ShardIndexer(formats::ShardIndexWriter& index, const std::string& path) : index_(index), path_(path) {}

  bool entry(const formats::TarEntry& entry) override;
  void content(Bytes piece) override;
  void content_end() override;
  /// As refuse_unreadable().
  void finding(const formats::TarFinding& finding) override;

  /// No member follows.
  void finish();

 private:
  void write(formats::Sample&& sample);

  formats::ShardIndexWriter& index_;
  const std::string& path_;
  formats::SampleGrouper grouper_;
  Xxh3Stream64 hash_;
  std::vector<std::uint64_t> hashes_;  ///< of the current sample's members so far
  bool in_label_ = false;              ///< the current member is a .cls
  LabelReader label_reader_;
  std::optional<std::uint64_t> label_;
};

/// Throws Error{corrupt} for what keeps readers from reading a shard whole; lets pass what they cope with.
void refuse_unreadable(const formats::TarFinding& finding, const std::string& path);

/// Writes the per-shard indexes of one shard that its manifest describes, and returns what those of the set say about
/// it. They come from our own index where a convert wrote it, else from the tar's headers. `kinds.wids` takes the MD5
/// that was kept, or reads the tar, keeps it, and throws Error{corrupt} when the bytes are not the manifest's.
ForeignShard index_known_shard(io::FileSystem& files, const std::string& folder, const formats::ManifestShard& shard,
                               const ForeignKinds& kinds, Context& ctx);

/// The same for all `shards`, `threads` at a time, in their order.
std::vector<ForeignShard> index_known_shards(io::FileSystem& files, const std::string& folder,
                                             const std::vector<formats::ManifestShard>& shards,
                                             const ForeignKinds& kinds, unsigned threads, Context& ctx);

/// Keeps a shard's MD5 for later.
void keep_md5(io::FileSystem& files, const std::string& folder, const formats::ManifestShard& shard,
              const std::string& md5);

}  // namespace shardkit::dataset
