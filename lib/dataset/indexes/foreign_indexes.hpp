#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "formats/dali_index.hpp"
#include "formats/manifest.hpp"
#include "formats/tar_scanner.hpp"
#include "formats/wids_index.hpp"
#include "io/publish.hpp"

/// The indexes that other readers keep of one shard.
///
/// The indexes that other readers keep of a set of shards in one folder: beside each shard, and over all of them.
namespace shardkit::dataset {

/// For which readers indexes are written.
struct ForeignKinds {
  bool dali = false;
  bool wids = false;
  bool energon = false;

  bool any() const { return dali || wids || energon; }
};

/// What the indexes of a whole set say about one shard.
struct ForeignShard {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t wids_samples = 0;           ///< as wids counts them
  std::string md5;                          ///< empty unless asked for
  std::set<std::string> image_extensions;   ///< as spelled in the shard
  std::uint64_t unclassified = 0;           ///< samples that are not an image with a label
  std::optional<std::string> wids_trouble;  ///< the first member that wids misreads, and why

  void add(const formats::Sample& sample);
};

/// Takes a shard's samples in order and writes what DALI and Energon keep beside the shard.
class ForeignShardWriter {
 public:
  /// `kinds.wids` has no file of its own here.
  ForeignShardWriter(io::FileSystem& files, const std::string& folder, const std::string& shard,
                     const ForeignKinds& kinds);

  /// Throws Error{unsupported} that names the first member with a name that DALI cannot read.
  void add(const formats::Sample& sample);
  ForeignShard& facts() { return facts_; }

  /// No sample follows, the archive's content ends at byte `end`: puts the files in place, durably. Throws
  /// Error{unsupported} for a shard without samples, which DALI and Energon refuse.
  void publish(std::uint64_t end);

 private:
  void publish_dali();

  io::FileSystem& files_;
  std::string path_;  ///< of the shard
  ForeignKinds kinds_;
  ForeignShard facts_;
  std::optional<io::AtomicFile> dali_lines_;  ///< never committed: the line that counts comes before them
  std::optional<formats::DaliIndexWriter> dali_;
  std::optional<io::AtomicFile> energon_;
};

/// Makes them while a tar is read or its headers are scanned.
class ForeignScan final : public formats::TarHandler {
 public:
  /// `writer` and `path`, which is for messages, stay the caller's.
  ForeignScan(ForeignShardWriter& writer, const std::string& path) : writer_(writer), path_(path) {}

  bool entry(const formats::TarEntry& entry) override;
  /// Throws Error{corrupt} for what would make the indexes wrong; lets pass what readers cope with.
  void finding(const formats::TarFinding& finding) override;

  /// No member follows: publishes.
  void finish();

 private:
  ForeignShardWriter& writer_;
  const std::string& path_;
  formats::SampleGrouper grouper_;
  formats::WidsSampleCounter wids_;
  std::uint64_t end_ = 0;
};

/// Reads a list of "dali", "wids" and "energon"; throws Error{usage} for anything else.
ForeignKinds parse_foreign_kinds(const std::vector<std::string>& names);

/// Throws Error{usage} that names both when two shards have one name for DALI, which cuts it at the first dot.
void check_dali_names(const std::vector<std::string>& shards);

/// What every one of `shards` has per-shard indexes for: what the parts of a convert were asked for. DALI's are not
/// looked for, because nothing of the set depends on them. Warns when some parts wrote what others did not.
ForeignKinds kinds_of_parts(const std::string& folder, const std::vector<formats::ManifestShard>& shards, Context& ctx);

/// Publishes what lies over the whole set: shardindex.json, .nv-meta/. What somebody edited there is kept, with a
/// warning.
void publish_foreign_set(io::FileSystem& files, const std::string& folder, const ForeignKinds& kinds,
                         std::vector<ForeignShard> shards, Context& ctx);

/// Writes the per-shard indexes of shards that a manifest describes, `threads` at a time, and when they are the whole
/// set those of the set. What convert and its parts do before they publish their manifest.
void write_foreign_indexes(io::FileSystem& files, const std::string& folder,
                           const std::vector<formats::ManifestShard>& shards, const ForeignKinds& kinds, bool whole_set,
                           unsigned threads, Context& ctx);

}  // namespace shardkit::dataset
