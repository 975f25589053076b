#include "dataset/indexes/foreign_indexes.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/indexes/known_shard.hpp"
#include "formats/energon_index.hpp"
#include "formats/tar_header.hpp"
#include "io/file.hpp"

namespace shardkit::dataset {
namespace {

void append_file(const std::string& path, ByteSink& sink) {
  const io::FileSource source(path);
  std::vector<std::byte> block(256U * 1024U);
  for (std::uint64_t offset = 0; offset < source.size();) {
    const std::size_t got = source.file().read_at(offset, block);
    if (got == 0) throw Error(ErrorCode::io, fmt::format("'{}' was cut while it was read", path), path, offset);
    sink.write(Bytes(block).first(got));
    offset += got;
  }
}

}  // namespace

void ForeignShard::add(const formats::Sample& sample) {
  ++samples;
  bool image = false;
  for (const formats::SampleMember& member : sample.members) {
    if (!formats::is_image_extension(member.extension)) continue;
    image = true;
    image_extensions.insert(member.spelling);
  }
  const bool label = std::ranges::any_of(sample.members, [](const auto& member) { return member.spelling == "cls"; });
  if (!image || !label) ++unclassified;
}

ForeignShardWriter::ForeignShardWriter(io::FileSystem& files, const std::string& folder, const std::string& shard,
                                       const ForeignKinds& kinds)
    : files_(files), path_(io::join_path(folder, shard)), kinds_(kinds) {
  facts_.name = shard;
  if (kinds.dali) {
    dali_lines_.emplace(files, io::join_path(folder, formats::dali_index_name(shard)));
    dali_.emplace(*dali_lines_);
  }
  if (kinds.energon) energon_.emplace(files, io::join_path(folder, formats::energon_index_name(shard)));
}

void ForeignShardWriter::add(const formats::Sample& sample) {
  facts_.add(sample);
  if (energon_) formats::write_energon_offset(*energon_, sample.offset);
  if (!dali_ || dali_->add(sample)) return;
  const formats::SampleMember& first = sample.members.front();
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
  formats::write_energon_offset(*energon_, end);
  energon_->commit();
}

void ForeignShardWriter::publish_dali() {
  dali_->finish();
  dali_lines_->flush();
  io::AtomicFile whole(files_, dali_lines_->path());
  whole.write(as_bytes(formats::dali_index_head(dali_->samples())));
  append_file(dali_lines_->temp_path(), whole);
  whole.commit();
}

bool ForeignScan::entry(const formats::TarEntry& entry) {
  end_ = entry.data_offset + formats::tar_padded(entry.size);
  wids_.add(entry);
  if (const auto why = formats::wids_trouble(entry); !why.empty() && !writer_.facts().wids_trouble) {
    writer_.facts().wids_trouble = fmt::format("member '{}' at byte {}: {}", entry.name, entry.record_offset, why);
  }
  if (const auto done = grouper_.add(entry)) writer_.add(*done);
  return false;
}

void ForeignScan::finding(const formats::TarFinding& finding) { refuse_unreadable(finding, path_); }

void ForeignScan::finish() {
  if (const auto last = grouper_.finish()) writer_.add(*last);
  writer_.facts().wids_samples = wids_.samples();
  writer_.publish(end_);
}

namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Puts `text` in place unless a file of other content is there: people write their own.
void publish_unless_edited(io::FileSystem& files, const std::string& path, const std::string& text, Context& ctx) {
  if (!exists(path)) return io::publish(files, path, as_bytes(text));
  if (io::read_text_file(path) == text) return;
  ctx.warn(
      "energon_file_kept",
      fmt::format("'{}' is not what would be written for these shards, and was kept; remove it to have it made anew",
                  path));
}

void publish_energon(io::FileSystem& files, const std::string& folder, const std::vector<ForeignShard>& shards,
                     Context& ctx) {
  const std::string place = io::join_path(folder, formats::kEnergonFolder);
  files.create_directories(place);
  files.sync_directory(folder);
  io::remove_stale_temps(files, place);
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  std::vector<std::string> names;
  std::set<std::string> extensions;
  std::uint64_t unclassified = 0;
  for (const ForeignShard& shard : shards) {
    counts.emplace_back(shard.name, shard.samples);
    names.push_back(shard.name);
    extensions.insert(shard.image_extensions.begin(), shard.image_extensions.end());
    unclassified += shard.unclassified;
  }
  const std::string info = formats::write_energon_info(counts);
  io::publish(files, io::join_path(folder, formats::kEnergonInfoName), as_bytes(info));
  publish_unless_edited(files, io::join_path(folder, formats::kEnergonSplitName), formats::write_energon_split(names),
                        ctx);
  const std::string dataset = io::join_path(folder, formats::kEnergonDatasetName);
  if (unclassified == 0) return publish_unless_edited(files, dataset, formats::write_energon_dataset(extensions), ctx);
  if (exists(dataset)) return;
  ctx.warn("energon_sample_type",
           fmt::format("{} no image with a .cls label; write '{}' yourself, which tells Energon what the samples are",
                       unclassified == 1 ? "a sample is" : fmt::format("{} samples are", unclassified), dataset));
}

void publish_wids(io::FileSystem& files, const std::string& folder, const std::vector<ForeignShard>& shards,
                  Context& ctx) {
  formats::WidsIndex index;
  index.name = formats::wids_set_name(shards.front().name);
  for (const ForeignShard& shard : shards) {
    index.shards.push_back({shard.name, shard.wids_samples, shard.bytes, shard.md5});
    if (!shard.wids_trouble) continue;
    ctx.warn("wids_misreads", fmt::format("shard '{}', {}; write the shard anew with plain headers",
                                          io::join_path(folder, shard.name), *shard.wids_trouble));
  }
  const std::string text = formats::write_wids_index(std::move(index));
  io::publish(files, io::join_path(folder, formats::kWidsIndexName), as_bytes(text));
}

}  // namespace

ForeignKinds parse_foreign_kinds(const std::vector<std::string>& names) {
  ForeignKinds kinds;
  for (const std::string& name : names) {
    if (name == "dali") {
      kinds.dali = true;
    } else if (name == "wids") {
      kinds.wids = true;
    } else if (name == "energon") {
      kinds.energon = true;
    } else {
      throw Error(ErrorCode::usage, fmt::format("--index: '{}' is none of dali, wids, energon", name));
    }
  }
  return kinds;
}

void check_dali_names(const std::vector<std::string>& shards) {
  std::map<std::string, std::string> owners;
  for (const std::string& shard : shards) {
    const auto [owner, fresh] = owners.emplace(formats::dali_index_name(shard), shard);
    if (fresh) continue;
    throw Error(
        ErrorCode::usage,
        fmt::format("'{}' and '{}' have one name for DALI's index, '{}', which is cut at the first dot; rename the "
                    "shards without extra dots",
                    owner->second, shard, owner->first),
        shard);
  }
}

ForeignKinds kinds_of_parts(const std::string& folder, const std::vector<formats::ManifestShard>& shards,
                            Context& ctx) {
  const auto all_have = [&](const char* kind, const std::function<bool(const formats::ManifestShard&)>& has) {
    const auto with = static_cast<std::size_t>(std::ranges::count_if(shards, has));
    if (with == 0 || with == shards.size()) return with > 0;
    const auto lacking = std::ranges::find_if_not(shards, has);
    ctx.warn("index_incomplete",
             fmt::format("'{}' has no index for {}, other shards have one; `shardctl index {} --{}` makes all of them",
                         io::join_path(folder, lacking->name), kind, folder, kind));
    return false;
  };
  ForeignKinds kinds;
  kinds.wids = all_have("wids", [&](const formats::ManifestShard& shard) {
    const std::string path = io::join_path(folder, formats::shard_md5_path(shard.name));
    return exists(path) && formats::read_shard_md5(io::read_text_file(path), shard);
  });
  kinds.energon = all_have("energon", [&](const formats::ManifestShard& shard) {
    return exists(io::join_path(folder, formats::energon_index_name(shard.name)));
  });
  return kinds;
}

void publish_foreign_set(io::FileSystem& files, const std::string& folder, const ForeignKinds& kinds,
                         std::vector<ForeignShard> shards, Context& ctx) {
  std::ranges::sort(shards, {}, &ForeignShard::name);
  if (kinds.wids && !shards.empty()) publish_wids(files, folder, shards, ctx);
  if (kinds.energon && !shards.empty()) publish_energon(files, folder, shards, ctx);
}

void write_foreign_indexes(io::FileSystem& files, const std::string& folder,
                           const std::vector<formats::ManifestShard>& shards, const ForeignKinds& kinds, bool whole_set,
                           unsigned threads, Context& ctx) {
  if (!kinds.any()) return;
  ctx.progress().start("index for other readers", shards.size());
  std::vector<ForeignShard> facts = index_known_shards(files, folder, shards, kinds, threads, ctx);
  if (whole_set) publish_foreign_set(files, folder, kinds, std::move(facts), ctx);
}

}  // namespace shardkit::dataset
