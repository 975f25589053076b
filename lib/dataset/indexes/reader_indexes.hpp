#pragma once

#include <cstddef>
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

/// The indexes that other readers use for a set of shards in one folder: one per shard, and one for the whole set.
namespace shardkit::dataset {

/// The kinds to write, in the order of reader_index_kinds().
using IndexKinds = std::vector<const formats::IndexKind*>;

/// The kinds of these names. Throws Error{usage} for an unknown name.
IndexKinds parse_index_kinds(const std::vector<std::string>& names);

/// The kinds of a finished set: those whose file for the set exists or, if the kind has no such file, the file of each
/// shard.
IndexKinds index_kinds_of(io::OutputFiles& files, const std::string& folder,
                          const std::vector<formats::ManifestShard>& shards);

/// Whether a kind needs each shard's MD5.
bool need_md5(const IndexKinds& kinds);

/// Throws Error{usage} that names both shards if their indexes have the same name: DALI cuts it at the first dot.
void refuse_shared_names(const IndexKinds& kinds, const std::vector<std::string>& shards);

/// Takes a shard's samples in order and writes the other readers' indexes of the shard.
class ReaderIndexWriter {
 public:
  /// Of the shard at `path`; the files go to `folder`.
  ReaderIndexWriter(io::OutputFiles& files, const std::string& folder, const std::string& path,
                    const IndexKinds& kinds);

  /// Throws Error{unsupported} that names the first member that a reader cannot read.
  void add(const formats::IndexSample& sample);
  formats::IndexedShard& facts() { return facts_; }
  const std::string& path() const { return path_; }  ///< of the shard

  /// Called after the last sample; the archive's content ends at byte `end`. Publishes the files, durably. Throws
  /// Error{unsupported} for a shard without samples, which DALI and Energon refuse.
  void publish(std::uint64_t end);

 private:
  struct OpenIndex {
    OpenIndex(io::OutputFiles& files, std::string path) : file(files, std::move(path)) {}
    io::AtomicFile file;  ///< if the format has a header: the lines after it, never committed
    std::unique_ptr<formats::ShardIndexLines> lines;
  };

  io::OutputFiles& files_;
  const std::string path_;
  formats::IndexedShard facts_;
  std::list<OpenIndex> open_;
};

/// Makes them while a tar is read or its headers are scanned.
class ReaderIndexScan : public formats::TarHandler {
 public:
  /// The caller keeps `writer` alive.
  explicit ReaderIndexScan(ReaderIndexWriter& writer) : writer_(writer) {}

  /// Throws Error{unsupported} for links and sparse files.
  bool entry(const formats::TarEntry& entry) override;
  /// Throws Error{corrupt} for a fault that keeps readers from reading the shard completely; ignores others.
  void finding(const formats::TarFinding& finding) override;

  /// Called after the last member: publishes.
  void finish();

 protected:
  /// Called with each sample, after its last member.
  virtual void add(formats::IndexSample& sample) { writer_.add(sample); }

 private:
  ReaderIndexWriter& writer_;
  formats::SampleGrouper grouper_;
  formats::WidsSampleCounter wids_;
  std::uint64_t end_ = 0;
};

/// What the indexes of the whole set are made of: shardindex.json, .nv-meta/.
struct SetIndexes {
  IndexKinds kinds;
  std::vector<formats::IndexedShard> shards;
};

/// Publishes them. A file that a user edited is kept, with a warning. `earlier`: how many of the shards the set had
/// before --append: a file that was written for these is replaced.
void publish_set_indexes(io::OutputFiles& files, const std::string& folder, SetIndexes indexes, Context& context,
                         std::size_t earlier = 0);

/// What a manifest lists beside shards and indexes: the files of `index --extra`.
std::vector<formats::ManifestFile> extras_of(const formats::Manifest& manifest);

/// Publishes `manifest` in `folder`, with the hashes of the indexes that are there for other readers, except those that
/// users may edit, and with the extras of the manifest that it replaces. Returns its path.
std::string publish_manifest(io::OutputFiles& files, const std::string& folder, formats::Manifest manifest);

/// Writes the indexes of shards that a manifest describes, `threads` at a time; returns what those of the whole set are
/// made of. Uses our own index if convert wrote it, else the tar's headers; for an MD5, the saved one, or reads the
/// tar. Throws Error{corrupt} if its bytes differ from the manifest. Convert and its parts call this before they
/// publish their manifest.
SetIndexes write_shard_indexes(io::OutputFiles& files, const std::string& folder,
                               const std::vector<formats::ManifestShard>& shards, const IndexKinds& kinds,
                               unsigned threads, Context& context);

/// The same after the parts of a convert wrote the indexes of each shard, of the kinds that every shard has. Warns if
/// only some parts wrote a kind.
SetIndexes find_shard_indexes(io::OutputFiles& files, const std::string& folder,
                              const std::vector<formats::ManifestShard>& shards, Context& context);

/// Saves a shard's MD5.
void keep_md5(io::OutputFiles& files, const std::string& folder, const formats::ManifestShard& shard,
              const std::string& md5);

}  // namespace shardkit::dataset
