#include "dataset/indexes/known_shard.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "formats/tar_header.hpp"
#include "formats/wids_index.hpp"
#include "io/file.hpp"

namespace shardkit::dataset {

bool ShardIndexer::entry(const formats::TarEntry& entry) {
  if (auto done = grouper_.add(entry)) write(std::move(*done));
  if (entry.type != formats::TarType::regular || formats::is_metadata_name(entry.name)) return false;
  const auto name = formats::split_sample_name(entry.name);
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

void refuse_unreadable(const formats::TarFinding& finding, const std::string& path) {
  if (finding.fault == formats::TarFault::missing_end || finding.fault == formats::TarFault::short_end) return;
  throw Error(
      ErrorCode::corrupt,
      fmt::format("shard '{}' cannot be indexed, at byte {}: {}; `shardctl verify` tells all that is wrong with it",
                  path, finding.offset, finding.text),
      path, finding.offset);
}

void ShardIndexer::finding(const formats::TarFinding& finding) { refuse_unreadable(finding, path_); }

void ShardIndexer::finish() {
  if (auto last = grouper_.finish()) write(std::move(*last));
}

void ShardIndexer::write(formats::Sample&& sample) {
  // A file that shrinks while it is read ends in a finding, but not before its last member was counted.
  if (hashes_.size() != sample.members.size()) {
    throw Error(ErrorCode::io, fmt::format("shard '{}' changed while it was read", path_), path_);
  }
  formats::IndexSample line;
  line.key = std::move(sample.key);
  line.label = std::exchange(label_, std::nullopt);
  for (std::size_t i = 0; i < sample.members.size(); ++i) {
    formats::SampleMember& member = sample.members[i];
    line.members.push_back({std::move(member.extension), member.offset, member.size, hashes_[i]});
  }
  hashes_.clear();
  index_.add(line);
}

namespace {

/// A sample of a shard that convert wrote: each member has one plain header, and its extension in lower case.
formats::Sample sample_of(formats::IndexSample&& line) {
  formats::Sample sample{std::move(line.key), line.members.front().offset - formats::kTarBlock, {}};
  for (formats::IndexMember& member : line.members) {
    sample.members.push_back({member.extension, member.offset, member.size, member.extension});
  }
  return sample;
}

/// Whether each member has one plain header and nothing stands between them: only then does an index tell where records
/// start.
class PlainLayout {
 public:
  void add(const formats::IndexSample& sample) {
    for (const formats::IndexMember& member : sample.members) {
      plain_ = plain_ && member.offset == end_ + formats::kTarBlock;
      end_ = member.offset + formats::tar_padded(member.size);
    }
  }
  bool is_whole(std::uint64_t tar_bytes) const { return plain_ && end_ + formats::kTarEnd == tar_bytes; }

 private:
  bool plain_ = true;
  std::uint64_t end_ = 0;
};

/// False when our index is not that of this very shard, or was made of a tar by others: then it does not know how names
/// are spelled.
bool is_exact(const formats::ShardSummary& index, const formats::ManifestShard& shard) {
  return !index.plan.empty() && index.shard == shard.name && index.bytes == shard.bytes &&
         index.xxh3_128 == shard.xxh3_128;
}

/// Empty when our index is missing, damaged or not exact enough.
std::optional<ForeignShard> index_by_index(io::FileSystem& files, const std::string& folder,
                                           const formats::ManifestShard& shard, const ForeignKinds& kinds,
                                           Context& ctx) try {
  const std::string path = io::join_path(folder, formats::shard_index_path(shard.name));
  io::FileSource source(path);
  if (!is_exact(formats::read_shard_summary(source, path), shard)) return std::nullopt;
  ForeignShardWriter writer(files, folder, shard.name, kinds);
  formats::ShardIndexVisitor visitor;
  PlainLayout layout;
  visitor.sample = [&](formats::IndexSample&& line) {
    layout.add(line);
    writer.add(sample_of(std::move(line)));
  };
  const formats::ShardSummary summary = formats::read_shard_index(source, path, visitor);
  if (!layout.is_whole(summary.bytes)) return std::nullopt;
  writer.facts().wids_samples = summary.samples;
  writer.publish(summary.bytes - formats::kTarEnd);
  ctx.progress().bytes.fetch_add(shard.bytes, std::memory_order_relaxed);
  return std::move(writer.facts());
} catch (const Error& error) {
  if (error.code() == ErrorCode::not_found || error.code() == ErrorCode::corrupt) return std::nullopt;
  throw;
}

ForeignShard index_by_headers(io::FileSystem& files, const std::string& folder, const formats::ManifestShard& shard,
                              const ForeignKinds& kinds, Context& ctx) {
  ForeignShardWriter writer(files, folder, shard.name, kinds);
  const std::string path = io::join_path(folder, shard.name);
  ForeignScan scan(writer, path);
  catalog::scan_shard(path, scan, ctx);
  scan.finish();
  return std::move(writer.facts());
}

/// Passes over everything.
class NoHandler final : public formats::TarHandler {
 public:
  bool entry(const formats::TarEntry&) override { return false; }
  void finding(const formats::TarFinding&) override {}
};

std::string md5_of(io::FileSystem& files, const std::string& folder, const formats::ManifestShard& shard,
                   Context& ctx) {
  const std::string kept = io::join_path(folder, formats::shard_md5_path(shard.name));
  if (std::filesystem::exists(kept)) {
    if (auto md5 = formats::read_shard_md5(io::read_text_file(kept), shard)) return *md5;
  }
  const std::string path = io::join_path(folder, shard.name);
  Md5Stream md5;
  NoHandler handler;
  const catalog::ShardContent content = catalog::read_shard(path, handler, ctx, &md5);
  if (content.bytes != shard.bytes || !(content.xxh3_128 == shard.xxh3_128)) {
    throw Error(
        ErrorCode::corrupt,
        fmt::format("shard '{}' does not have the bytes that {} says; `shardctl verify` tells what is wrong with it",
                    path, formats::kManifestName),
        path);
  }
  std::string text = md5.finish();
  keep_md5(files, folder, shard, text);
  return text;
}

}  // namespace

void keep_md5(io::FileSystem& files, const std::string& folder, const formats::ManifestShard& shard,
              const std::string& md5) {
  const std::string text = formats::write_shard_md5(shard, md5);
  io::publish(files, io::join_path(folder, formats::shard_md5_path(shard.name)), as_bytes(text));
}

ForeignShard index_known_shard(io::FileSystem& files, const std::string& folder, const formats::ManifestShard& shard,
                               const ForeignKinds& kinds, Context& ctx) {
  std::optional<ForeignShard> by_index = index_by_index(files, folder, shard, kinds, ctx);
  ForeignShard facts = by_index ? std::move(*by_index) : index_by_headers(files, folder, shard, kinds, ctx);
  facts.bytes = shard.bytes;
  if (kinds.wids) facts.md5 = md5_of(files, folder, shard, ctx);
  return facts;
}

std::vector<ForeignShard> index_known_shards(io::FileSystem& files, const std::string& folder,
                                             const std::vector<formats::ManifestShard>& shards,
                                             const ForeignKinds& kinds, unsigned threads, Context& ctx) {
  std::vector<ForeignShard> facts(shards.size());
  for_each_shard(shards.size(), threads, ctx, [&](std::size_t shard, std::size_t) {
    facts[shard] = index_known_shard(files, folder, shards[shard], kinds, ctx);
    ++ctx.progress().items;
  });
  return facts;
}

}  // namespace shardkit::dataset
