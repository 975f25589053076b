#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/context.hpp"
#include "formats/index_kinds.hpp"
#include "formats/manifest.hpp"
#include "formats/tar_scanner.hpp"
#include "formats/wids_index.hpp"
#include "io/publish.hpp"

/// The indexes that other readers keep of a set of shards in one folder: beside each shard, and over all of them.
namespace shardkit::dataset {

/// The kinds to write, in the order of reader_index_kinds().
using IndexKinds = std::vector<const formats::IndexKind*>;

/// The kinds of these names. Throws Error{usage} for a name that is none.
IndexKinds parse_index_kinds(const std::vector<std::string>& names);

/// The kinds that a finished set has: whose file over the set is there, or where it has none the file beside each shard.
IndexKinds index_kinds_of(const std::string& folder, const std::vector<formats::ManifestShard>& shards);

/// Whether a kind needs each shard's MD5.
bool need_md5(const IndexKinds& kinds);

/// Throws Error{usage} that names both when the indexes of two shards have one name: DALI cuts it at the first dot.
void refuse_shared_names(const IndexKinds& kinds, const std::vector<std::string>& shards);

/// Takes a shard's samples in order and writes what other readers keep beside the shard.
class ReaderIndexWriter {
 public:
  ReaderIndexWriter(io::FileSystem& files, const std::string& folder, const std::string& shard,
                    const IndexKinds& kinds);

  /// Throws Error{unsupported} that names the first member that a reader cannot read.
  void add(const formats::Sample& sample);
  formats::IndexedShard& facts() { return facts_; }
  const std::string& path() const { return path_; }  ///< of the shard

  /// No sample follows, the archive's content ends at byte `end`: puts the files in place, durably. Throws
  /// Error{unsupported} for a shard without samples, which DALI and Energon refuse.
  void publish(std::uint64_t end);

 private:
  struct OpenIndex {
    OpenIndex(io::FileSystem& files, std::string path) : file(files, std::move(path)) {}
    io::AtomicFile file;  ///< where the format has a head: the lines after it, never committed
    std::unique_ptr<formats::ShardIndexLines> lines;
  };

  io::FileSystem& files_;
  const std::string path_;
  formats::IndexedShard facts_;
  std::list<OpenIndex> open_;
};

/// Makes them while a tar is read or its headers are scanned.
class ReaderIndexScan final : public formats::TarHandler {
 public:
  /// `writer` stays the caller's.
  explicit ReaderIndexScan(ReaderIndexWriter& writer) : writer_(writer) {}

  bool entry(const formats::TarEntry& entry) override;
  /// Throws Error{corrupt} for what keeps readers from reading a shard whole; ignores what they cope with.
  void finding(const formats::TarFinding& finding) override;

  /// No member follows: publishes.
  void finish();

 private:
  ReaderIndexWriter& writer_;
  formats::SampleGrouper grouper_;
  formats::WidsSampleCounter wids_;
  std::uint64_t end_ = 0;
};

/// Publishes what lies over the whole set: shardindex.json, .nv-meta/. A file that a user edited is kept, with a
/// warning.
void publish_set_indexes(io::FileSystem& files, const std::string& folder, const IndexKinds& kinds,
                         std::vector<formats::IndexedShard> shards, Context& ctx);

/// Writes the per-shard indexes of shards that a manifest describes, `threads` at a time, and when they are the whole
/// set those of the set. They come from our own index where a convert wrote it, else from the tar's headers; an MD5 is
/// the one that was kept, or the tar is read for it. Throws Error{corrupt} when its bytes are not the manifest's. What
/// convert and its parts do before they publish their manifest.
void write_reader_indexes(io::FileSystem& files, const std::string& folder,
                          const std::vector<formats::ManifestShard>& shards, const IndexKinds& kinds, bool whole_set,
                          unsigned threads, Context& ctx);

/// The parts of a convert wrote what lies beside each shard: writes what lies over all of them, of the kinds that every
/// shard has. Warns when some parts wrote what others did not.
void merge_reader_indexes(io::FileSystem& files, const std::string& folder,
                          const std::vector<formats::ManifestShard>& shards, Context& ctx);

/// Keeps a shard's MD5 for later.
void keep_md5(io::FileSystem& files, const std::string& folder, const formats::ManifestShard& shard,
              const std::string& md5);

}  // namespace shardkit::dataset
