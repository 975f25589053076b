#include "dataset/indexes/reader_indexes.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "formats/tar_scanner.hpp"
#include "io/file.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// Whether each member has one plain header and there is no data between them: only then does an index contain where
/// records start.
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
  return !index.plan.empty() && index.name == shard.name && index.bytes == shard.bytes &&
         index.xxh3_128 == shard.xxh3_128;
}

/// Empty when our index is missing, damaged or not exact enough.
std::optional<formats::IndexedShard> index_by_index(io::OutputFiles& files, const std::string& folder,
                                                    const formats::ManifestShard& shard, const IndexKinds& kinds,
                                                    Context& context) try {
  const std::string path = io::join_path(folder, formats::shard_index_path(shard.name));
  const auto source = files.open(path);
  if (!is_exact(formats::read_shard_summary(*source, path), shard)) return std::nullopt;
  ReaderIndexWriter writer(files, folder, io::join_path(folder, shard.name), kinds);
  formats::ShardIndexVisitor visitor;
  PlainLayout layout;
  visitor.sample = [&](formats::IndexSample&& line) {
    layout.add(line);
    formats::name_members(line);
    writer.add(line);
  };
  const formats::ShardSummary summary = formats::read_shard_index(*source, path, visitor);
  if (!layout.is_whole(summary.bytes)) return std::nullopt;
  writer.facts().wids_samples = summary.samples;
  writer.publish(summary.bytes - formats::kTarEnd);
  context.progress().bytes.fetch_add(shard.bytes, std::memory_order_relaxed);
  return std::move(writer.facts());
} catch (const Error& error) {
  if (error.code() == ErrorCode::not_found || error.code() == ErrorCode::corrupt) return std::nullopt;
  throw;
}

formats::IndexedShard index_by_headers(io::OutputFiles& files, const std::string& folder,
                                       const formats::ManifestShard& shard, const IndexKinds& kinds, Context& context) {
  ReaderIndexWriter writer(files, folder, io::join_path(folder, shard.name), kinds);
  ReaderIndexScan scan(writer);
  formats::scan_tar(*files.open(writer.path()), scan, context);
  scan.finish();
  return std::move(writer.facts());
}

std::string md5_of(io::OutputFiles& files, const std::string& folder, const formats::ManifestShard& shard,
                   Context& context) {
  const std::string kept = io::join_path(folder, formats::shard_md5_path(shard.name));
  if (files.exists(kept)) {
    if (auto md5 = formats::read_shard_md5(io::read_text(files, kept), shard)) return *md5;
  }
  const std::string path = io::join_path(folder, shard.name);
  ChecksumStream md5(ChecksumKind::md5);
  Xxh3Stream hash;
  files.open(path)->stream_all([&](Bytes piece) {
    context.throw_if_stopped();
    hash.update(piece);
    md5.update(piece);
    context.progress().bytes.fetch_add(piece.size(), std::memory_order_relaxed);
  });
  if (!(hash.digest() == shard.xxh3_128)) {
    throw Error(ErrorCode::corrupt, At{path},
                "shard '{}' does not have the bytes that {} describes; {} shows what is wrong with it", path,
                formats::kManifestName, remedy::in_text(remedy::verify({path})));
  }
  std::string text = md5.finish();
  keep_md5(files, folder, shard, text);
  return text;
}

/// Writes the per-shard indexes of all `shards`, `threads` at a time; returns their summaries for the indexes of the
/// set.
std::vector<formats::IndexedShard> index_known_shards(io::OutputFiles& files, const std::string& folder,
                                                      const std::vector<formats::ManifestShard>& shards,
                                                      const IndexKinds& kinds, unsigned threads, Context& context) {
  std::vector<formats::IndexedShard> facts(shards.size());
  sync::for_each_index(shards.size(), threads, context.stop_token(), [&](std::size_t i, std::size_t) {
    std::optional<formats::IndexedShard> by_index = index_by_index(files, folder, shards[i], kinds, context);
    facts[i] = by_index ? std::move(*by_index) : index_by_headers(files, folder, shards[i], kinds, context);
    facts[i].bytes = shards[i].bytes;
    if (need_md5(kinds)) facts[i].md5 = md5_of(files, folder, shards[i], context);
    ++context.progress().items;
  });
  return facts;
}

/// Users edit some files: one with another text is kept.
void publish_unless_edited(io::OutputFiles& files, const formats::IndexKind& kind, const std::string& path,
                           const formats::SetIndexFile& file, const std::string& before, Context& context) {
  if (!files.exists(path)) {
    if (file.unknown.empty()) return io::publish(files, path, as_bytes(file.text));
    return context.warn(file.code, file.unknown);
  }
  const std::string text = io::read_text(files, path);
  if (!file.unknown.empty() || text == file.text) return;
  if (text == before) return io::publish(files, path, as_bytes(file.text));
  context.warn(fmt::format("{}_file_kept", kind.name),
               "'{}' differs from the index for these shards and was kept; to have it written again, move it elsewhere",
               path);
}

void publish_set_index(io::OutputFiles& files, const std::string& folder, const formats::IndexKind& kind,
                       const std::vector<formats::IndexedShard>& shards, std::size_t earlier, Context& context) {
  const std::string prefix = io::join_path(folder, "");
  formats::SetIndex index = kind.write_set(shards, prefix);
  formats::SetIndex before;
  if (earlier > 0 && earlier < shards.size()) {
    before = kind.write_set({shards.begin(), shards.begin() + static_cast<std::ptrdiff_t>(earlier)}, prefix);
  }
  for (Finding& warning : index.warnings) context.warn(std::move(warning.code), std::move(warning.text));
  const std::string lies_in = io::parent_folder(io::join_path(folder, kind.set_files.front()));
  if (kind.set_files.front().find('/') != std::string::npos) {
    files.create_directories(lies_in);
    files.sync_directory(folder);
    if (files.is_local()) io::remove_stale_temps(files, lies_in);
  }
  for (std::size_t i = 0; i < index.files.size(); ++i) {
    const formats::SetIndexFile& file = index.files[i];
    const std::string path = io::join_path(folder, file.name);
    if (file.users_edit) {
      publish_unless_edited(files, kind, path, file, i < before.files.size() ? before.files[i].text : "", context);
    } else {
      io::publish(files, path, as_bytes(file.text));
    }
  }
}

/// Whether every one of `shards` has its index of this kind. Warns if only some have.
bool all_have(io::OutputFiles& files, const formats::IndexKind& kind, const std::string& folder,
              const std::vector<formats::ManifestShard>& shards, Context& context) {
  const auto has = [&](const formats::ManifestShard& shard) {
    // A damaged MD5 is computed again.
    return files.exists(
        io::join_path(folder, kind.needs_md5 ? formats::shard_md5_path(shard.name) : kind.shard_file(shard.name)));
  };
  const auto with = static_cast<std::size_t>(std::ranges::count_if(shards, has));
  if (with == 0 || with == shards.size()) return with > 0;
  const auto lacking = std::ranges::find_if_not(shards, has);
  context.warn("index_incomplete", "'{}' has no index for {}, other shards have one; {} makes all of them",
               io::join_path(folder, lacking->name), kind.name, remedy::in_text(remedy::index({folder}, kind.name)));
  return false;
}

/// An index would hide that a member's content is not stored where it is.
void refuse_unstored(const formats::TarEntry& entry, const std::string& path) {
  const auto refuse = [&](std::string_view what, const std::string& how) {
    throw Error(ErrorCode::unsupported, At{path, entry.record_offset},
                "'{}' in shard '{}', at byte {}, is {}, which readers of shards do not follow; {}", entry.name, path,
                entry.record_offset, what, how);
  };
  if (entry.type == formats::TarType::hard_link || entry.type == formats::TarType::symbolic_link)
    refuse("a link", remedy::in_text(remedy::reshard({path})) + " writes files instead");
  if (entry.facts.has(formats::TarFact::sparse)) refuse("a sparse file", "pack it again without --sparse");
}

}  // namespace

IndexKinds parse_index_kinds(const std::vector<std::string>& names) {
  IndexKinds kinds;
  std::vector<std::string_view> known;
  for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
    known.push_back(kind.name);
    if (std::ranges::find(names, kind.name) != names.end()) kinds.push_back(&kind);
  }
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw usage_error("--index: '{}' is not one of {}", name, fmt::join(known, ", "));
  }
  return kinds;
}

bool need_md5(const IndexKinds& kinds) {
  return std::ranges::any_of(kinds, [](const formats::IndexKind* kind) { return kind->needs_md5; });
}

void refuse_shared_names(const IndexKinds& kinds, const std::vector<std::string>& shards) {
  for (const formats::IndexKind* kind : kinds) {
    if (kind->shard_file == nullptr) continue;
    std::map<std::string, std::string> owners;
    for (const std::string& shard : shards) {
      const auto [owner, fresh] = owners.emplace(kind->shard_file(shard), shard);
      if (fresh) continue;
      throw Error(ErrorCode::usage, At{shard},
                  "'{}' and '{}' have the same name for DALI's index, '{}', which ends at the first dot; rename the "
                  "shards without extra dots",
                  owner->second, shard, owner->first);
    }
  }
}

ReaderIndexWriter::ReaderIndexWriter(io::OutputFiles& files, const std::string& folder, const std::string& path,
                                     const IndexKinds& kinds)
    : files_(files), path_(path) {
  facts_.name = path.substr(path.rfind('/') + 1);
  for (const formats::IndexKind* kind : kinds) {
    if (kind->shard_file == nullptr) continue;
    OpenIndex& open = open_.emplace_back(files, io::join_path(folder, kind->shard_file(facts_.name)));
    open.lines = kind->shard_writer(open.file, path_);
  }
}

void ReaderIndexWriter::add(const formats::IndexSample& sample) {
  facts_.add(sample);
  for (OpenIndex& open : open_) open.lines->add(sample);
}

void ReaderIndexWriter::publish(std::uint64_t end) {
  if (facts_.samples == 0 && !open_.empty()) {
    throw Error(ErrorCode::unsupported, At{path_},
                "shard '{}' contains no sample, which DALI and Energon refuse; move it out of the set", path_);
  }
  for (OpenIndex& open : open_) {
    open.lines->finish(end);
    const std::string head = open.lines->head();
    if (head.empty()) {
      open.file.commit();
      continue;
    }
    open.file.flush();
    io::AtomicFile whole(files_, open.file.path());
    whole.write(as_bytes(head));
    files_.open(open.file.temp_path())->stream_all([&](Bytes piece) { whole.write(piece); });
    whole.commit();
  }
}

bool ReaderIndexScan::entry(const formats::TarEntry& entry) {
  refuse_unstored(entry, writer_.path());
  end_ = entry.data_offset + formats::tar_padded(entry.size);
  wids_.add(entry);
  if (const auto why = formats::wids_trouble(entry); !why.empty() && !writer_.facts().wids_trouble) {
    writer_.facts().wids_trouble = fmt::format("member '{}' at byte {}: {}", entry.name, entry.record_offset, why);
  }
  if (auto done = grouper_.add(entry)) add(*done);
  return false;
}

void ReaderIndexScan::finish() {
  if (auto last = grouper_.finish()) add(*last);
  writer_.facts().wids_samples = wids_.samples();
  writer_.publish(end_);
}

void ReaderIndexScan::finding(const formats::TarFinding& finding) {
  const std::string& path = writer_.path();
  if (finding.fault == formats::TarFault::missing_end || finding.fault == formats::TarFault::short_end) return;
  throw Error(ErrorCode::corrupt, At{path, finding.offset},
              "shard '{}' cannot be indexed, at byte {}: {}; {} lists everything that is wrong with it", path,
              finding.offset, finding.text, remedy::in_text(remedy::verify({path})));
}

void keep_md5(io::OutputFiles& files, const std::string& folder, const formats::ManifestShard& shard,
              const std::string& md5) {
  const std::string text = formats::write_shard_md5(shard, md5);
  io::publish(files, io::join_path(folder, formats::shard_md5_path(shard.name)), as_bytes(text));
}

IndexKinds index_kinds_of(io::OutputFiles& files, const std::string& folder,
                          const std::vector<formats::ManifestShard>& shards) {
  IndexKinds kinds;
  for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
    const bool there =
        kind.set_files.empty()
            ? std::ranges::all_of(
                  shards,
                  [&](const auto& shard) { return files.exists(io::join_path(folder, kind.shard_file(shard.name))); })
            : files.exists(io::join_path(folder, kind.set_files.front()));
    if (there) kinds.push_back(&kind);
  }
  return kinds;
}

void publish_set_indexes(io::OutputFiles& files, const std::string& folder, SetIndexes indexes, Context& context,
                         std::size_t earlier) {
  if (indexes.shards.empty()) return;
  std::ranges::sort(indexes.shards, {}, &formats::IndexedShard::name);
  for (const formats::IndexKind* kind : indexes.kinds) {
    if (kind->write_set != nullptr) publish_set_index(files, folder, *kind, indexes.shards, earlier, context);
  }
}

namespace {

/// The names that other readers' indexes of the set have, whether they are there or not.
std::set<std::string> reader_index_names(const formats::Manifest& manifest) {
  std::set<std::string> names;
  for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
    if (!kind.set_files.empty()) names.insert(kind.set_files.front());
    if (kind.shard_file == nullptr) continue;
    for (const formats::ManifestShard& shard : manifest.shards) names.insert(kind.shard_file(shard.name));
  }
  return names;
}

}  // namespace

std::vector<formats::ManifestFile> extras_of(const formats::Manifest& manifest) {
  const std::set<std::string> indexes = reader_index_names(manifest);
  std::vector<formats::ManifestFile> extras = manifest.files;
  std::erase_if(extras, [&](const formats::ManifestFile& file) { return indexes.contains(file.name); });
  return extras;
}

namespace {

/// Of the manifest that is replaced. One that cannot be read lists nothing.
std::vector<formats::ManifestFile> extras_at(io::OutputFiles& files, const std::string& path) try {
  return extras_of(formats::read_manifest(io::read_text(files, path), path));
} catch (const Error&) {
  return {};
}

}  // namespace

std::string publish_manifest(io::OutputFiles& files, const std::string& folder, formats::Manifest manifest) {
  const std::string at = io::join_path(folder, formats::kManifestName);
  std::vector<formats::ManifestFile> listed = extras_of(manifest);
  for (formats::ManifestFile& file : extras_at(files, at)) {
    if (std::ranges::find(listed, file.name, &formats::ManifestFile::name) == listed.end())
      listed.push_back(std::move(file));
  }
  manifest.files = std::move(listed);
  for (const std::string& name : reader_index_names(manifest)) {
    const std::string path = io::join_path(folder, name);
    if (!files.exists(path)) continue;
    const std::string text = io::read_text(files, path);
    manifest.files.push_back({name, text.size(), xxh3_128(as_bytes(text))});
  }
  std::ranges::sort(manifest.files, {}, &formats::ManifestFile::name);
  io::publish(files, at, as_bytes(formats::write_manifest(manifest)));
  return at;
}

SetIndexes write_shard_indexes(io::OutputFiles& files, const std::string& folder,
                               const std::vector<formats::ManifestShard>& shards, const IndexKinds& kinds,
                               unsigned threads, Context& context) {
  if (kinds.empty()) return {};
  context.progress().start("index for other readers", shards.size());
  return {kinds, index_known_shards(files, folder, shards, kinds, threads, context)};
}

SetIndexes find_shard_indexes(io::OutputFiles& files, const std::string& folder,
                              const std::vector<formats::ManifestShard>& shards, Context& context) {
  IndexKinds kinds;
  IndexKinds to_count;  // without a file beside each shard: those are there
  for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
    // Nothing of the set depends on indexes that lie only beside each shard, such as DALI's.
    if (kind.write_set == nullptr || !all_have(files, kind, folder, shards, context)) continue;
    kinds.push_back(&kind);
    if (kind.shard_file == nullptr) to_count.push_back(&kind);
  }
  if (kinds.empty()) return {};
  return {kinds, index_known_shards(files, folder, shards, to_count, system::thread_count(std::nullopt), context)};
}

}  // namespace shardkit::dataset
