#include "dataset/index/foreign_shard.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/index/shard_indexer.hpp"
#include "formats/energon_index.hpp"
#include "formats/ustar.hpp"
#include "io/file.hpp"

namespace shardkit {
namespace {

void append_file(const std::string& path, ByteSink& sink) {
  const FileSource source(path);
  std::vector<std::byte> block(256U * 1024U);
  for (std::uint64_t offset = 0; offset < source.size();) {
    const std::size_t got = source.file().read_at(offset, block);
    if (got == 0) throw Error(ErrorCode::io, fmt::format("'{}' was cut while it was read", path), path, offset);
    sink.write(Bytes(block).first(got));
    offset += got;
  }
}

}  // namespace

void ForeignShard::add(const Sample& sample) {
  ++samples;
  bool image = false;
  for (const SampleMember& member : sample.members) {
    if (!is_image_extension(member.extension)) continue;
    image = true;
    image_extensions.insert(member.spelling);
  }
  const bool label = std::ranges::any_of(sample.members, [](const auto& member) { return member.spelling == "cls"; });
  if (!image || !label) ++unclassified;
}

ForeignShardWriter::ForeignShardWriter(FileSystem& files, const std::string& folder, const std::string& shard,
                                       const ForeignKinds& kinds)
    : files_(files), path_(join_path(folder, shard)), kinds_(kinds) {
  facts_.name = shard;
  if (kinds.dali) {
    dali_lines_.emplace(files, join_path(folder, dali_index_name(shard)));
    dali_.emplace(*dali_lines_);
  }
  if (kinds.energon) energon_.emplace(files, join_path(folder, energon_index_name(shard)));
}

void ForeignShardWriter::add(const Sample& sample) {
  facts_.add(sample);
  if (energon_) write_energon_offset(*energon_, sample.offset);
  if (!dali_ || dali_->add(sample)) return;
  const SampleMember& first = sample.members.front();
  throw Error(
      ErrorCode::unsupported,
      fmt::format("shard '{}', at byte {}: DALI cannot read an index that names '{}.{}', because it takes white "
                  "space for the end of a name; write the shard anew with other names, or leave out --dali",
                  path_, sample.offset, sample.key, first.spelling),
      path_, sample.offset);
}

void ForeignShardWriter::publish(std::uint64_t end) {
  if (facts_.samples == 0 && (kinds_.dali || kinds_.energon)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("shard '{}' holds no sample, which DALI and Energon refuse; take it out of the set", path_),
                path_);
  }
  if (dali_) publish_dali();
  if (!energon_) return;
  write_energon_offset(*energon_, end);
  energon_->commit();
}

void ForeignShardWriter::publish_dali() {
  dali_->finish();
  dali_lines_->flush();
  AtomicFile whole(files_, dali_lines_->path());
  whole.write(as_bytes(dali_index_head(dali_->samples())));
  append_file(dali_lines_->temp_path(), whole);
  whole.commit();
}

bool ForeignScan::entry(const TarEntry& entry) {
  end_ = entry.data_offset + tar_padded(entry.size);
  wids_.add(entry);
  if (const auto why = wids_trouble(entry); !why.empty() && !writer_.facts().wids_trouble) {
    writer_.facts().wids_trouble = fmt::format("member '{}' at byte {}: {}", entry.name, entry.record_offset, why);
  }
  if (const auto done = grouper_.add(entry)) writer_.add(*done);
  return false;
}

void ForeignScan::finding(const TarFinding& finding) { refuse_unreadable(finding, path_); }

void ForeignScan::finish() {
  if (const auto last = grouper_.finish()) writer_.add(*last);
  writer_.facts().wids_samples = wids_.samples();
  writer_.publish(end_);
}

}  // namespace shardkit
