#include "dataset/index/index.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "catalog/set_listing.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "dataset/bucket/output_location.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "dataset/indexes/reader_indexes.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "dataset/sharding/shard_target.hpp"
#include "formats/plan_file.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_hash.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_scanner.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// Another program's file is not ours to replace.
void refuse_foreign_manifest(io::OutputFiles& files, const std::string& folder) {
  const std::string path = io::join_path(folder, formats::kManifestName);
  if (!files.exists(path) || !formats::is_foreign_manifest(io::read_text(files, path))) return;
  throw Error(ErrorCode::conflict, At{path},
              "'{}' is not a shardkit manifest, and index would replace it; move it away, or write the indexes to "
              "another folder with --output DIR",
              path);
}

/// A manifest of a part of the folder would make strangers of the other shards.
void refuse_subset(const catalog::ShardSet& set) {
  if (!set.manifest) return;
  std::set<std::string_view> named;
  for (const catalog::ShardFile& shard : set.shards) named.insert(shard.name);
  for (const formats::ManifestShard& listed : set.manifest->shards) {
    if (named.contains(listed.name)) continue;
    throw Error(ErrorCode::conflict, At{set.manifest_path},
                "'{}' also lists '{}', which was not given; index the whole folder '{}'", set.manifest_path,
                listed.name, set.folder);
  }
}

/// Announces a run, because a manifest written here would hide what a convert adds meanwhile.
std::unique_ptr<io::RunFile> announce(io::OutputFiles& files, const std::string& folder) {
  auto run = begin_run(files, folder);
  files.claim(folder, "index", true);
  if (!run) return run;
  run->follow("index");
  for (const io::Run& other : run->others()) {
    if (other.plan.empty() || other.plan == "index") continue;
    throw Error(ErrorCode::in_use, At{folder},
                "another run writes to '{}': {}; run this command again when it has ended", folder,
                io::describe(other));
  }
  remove_leftovers(files, folder, *run);
  return run;
}

/// Makes the index of a tar from another program, and those of other readers, while it is read: any dialect, offsets as
/// they really are.
class ShardIndexer final : public ReaderIndexScan {
 public:
  /// Samples go to both writers; they and `path`, which is for messages, stay the caller's.
  ShardIndexer(formats::ShardIndexWriter& index, ReaderIndexWriter& others, const std::string& path)
      : ReaderIndexScan(others), index_(index), path_(path) {}

  bool entry(const formats::TarEntry& entry) override {
    ReaderIndexScan::entry(entry);
    if (entry.type != formats::TarType::regular || formats::is_metadata_name(entry.name)) return false;
    const auto name = formats::split_sample_name(entry.name);
    if (!name) return false;
    hash_.reset();
    in_label_ = lower_case(name->extension) == kLabelExtension;
    if (in_label_) label_reader_.start();
    return true;
  }

  void content(Bytes piece) override {
    hash_.update(piece);
    if (in_label_) label_reader_.add(piece);
  }

  void content_end() override {
    hashes_.push_back(hash_.digest64());
    if (in_label_) label_ = label_reader_.label();
  }

 protected:
  void add(formats::IndexSample& sample) override {
    // A file that shrinks while it is read ends in a finding, but not before its last member was counted.
    if (hashes_.size() != sample.members.size()) {
      throw Error(ErrorCode::io, At{path_}, "shard '{}' changed while being read", path_);
    }
    sample.label = std::exchange(label_, std::nullopt);
    for (std::size_t i = 0; i < hashes_.size(); ++i) sample.members[i].xxh3 = hashes_[i];
    hashes_.clear();
    index_.add(sample);
    ReaderIndexScan::add(sample);
  }

 private:
  formats::ShardIndexWriter& index_;
  const std::string& path_;
  Xxh3Stream hash_;
  std::vector<std::uint64_t> hashes_;  ///< of the current sample's members so far
  bool in_label_ = false;              ///< the current member is a .cls
  LabelReader label_reader_;
  std::optional<std::uint64_t> label_;
};

/// The requested readers.
std::vector<std::string> names_of(const std::map<std::string, bool>& readers) {
  std::vector<std::string> names;
  for (const auto& [name, wanted] : readers) {
    if (wanted) names.push_back(name);
  }
  return names;
}

/// A shard that cannot be indexed needs the records that --replace removes: a salvage takes more samples with them.
void require_whole(const std::string& path, Context& context) {
  const auto files = io::posix_file_system();
  ReaderIndexWriter no_readers(*files, io::parent_folder(path), path, {});
  ReaderIndexScan scan(no_readers);
  io::FileSource source(path);
  formats::read_tar(
      source, scan, [](Bytes) {}, context);
}

/// The indexes of other readers that shards which are no longer there have left in a folder.
std::set<std::string> indexes_of_missing(const catalog::ShardSet& set) {
  const auto indexes_of = [&](const std::string& shard) {
    std::set<std::string> indexes = {io::join_path(set.folder, formats::shard_md5_path(shard))};
    for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
      if (kind.shard_file != nullptr) indexes.insert(io::join_path(set.folder, kind.shard_file(shard)));
    }
    return indexes;
  };
  std::set<std::string> stale;
  if (!set.manifest) return stale;
  for (const formats::ManifestShard& shard : set.manifest->shards) stale.merge(indexes_of(shard.name));
  for (const catalog::ShardFile& shard : set.shards) {
    for (const std::string& used : indexes_of(shard.name)) stale.erase(used);
  }
  return stale;
}

/// Nothing can be written to a web server.
void refuse_web_folder(const std::string& folder) {
  if (!catalog::is_address(folder)) return;
  const catalog::ObjectLocation location = catalog::parse_location(folder);
  if (location.kind != catalog::ObjectLocation::Kind::web) return;
  throw Error(ErrorCode::usage, At{location.display()},
              "indexes cannot be written to '{}'; give a folder or s3://bucket/prefix with --output DIR",
              location.display());
}

/// Of a folder that --replace gives.
void check_replace(const IndexOptions& options) {
  const std::string& folder = options.shards.front();
  if (options.shards.size() > 1 || catalog::is_address(folder) || !std::filesystem::is_directory(folder) ||
      !options.output.empty())
    throw usage_error("--replace is for the shards of one local folder, without --output; give the folder");
}

/// One run of index().
class Indexing {
 public:
  Indexing(const IndexOptions& options, const catalog::ShardSet& set, OutputLocation location, Context& context)
      : kinds_(parse_index_kinds(names_of(options.readers))),
        extras_(options.extras),
        replace_(options.replace),
        threads_(system::thread_count(options.threads)),
        set_(set),
        location_(std::move(location)),
        context_(context) {}

  IndexResult run() {
    refuse_shared_names(kinds_, names());
    const bool is_beside = folder_ == set_.folder;
    const catalog::SeenSet* const seen = set_.seen_in(folder_);
    if (is_beside && seen == nullptr) {
      refuse_subset(set_);
      catalog::enforce(catalog::SetVerb::index, catalog::look_at(files_, folder_), context_);
    }
    refuse_foreign_manifest(files_, folder_);
    result_.bytes = set_.bytes();
    if (replace_) {
      for (const catalog::ShardFile& shard : set_.shards) require_whole(shard.path, context_);
    }
    const std::unique_ptr<io::RunFile> run = announce(files_, folder_);
    const bool is_described = seen != nullptr && seen->as<catalog::Complete>() && seen->extra.empty();
    if (is_beside && is_described && !replace_ && !(kinds_.empty() && extras_.empty())) {
      index_for_others();
    } else {
      index_shards();
    }
    return std::move(result_);
  }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const catalog::ShardFile& shard : set_.shards) names.push_back(shard.name);
    return names;
  }

  void index_for_others() {
    publish_set_indexes(files_, folder_,
                        write_shard_indexes(files_, folder_, set_.manifest->shards, kinds_, threads_, context_),
                        context_);
    formats::Manifest manifest = *set_.manifest;
    list_extras(manifest);
    publish_manifest(files_, folder_, manifest);
    sum_up(manifest);
  }

  void index_shards() {
    formats::Manifest manifest;
    list_extras(manifest);
    context_.progress().start("index", set_.shards.size(), result_.bytes);
    manifest.shards.resize(set_.shards.size());
    std::vector<formats::IndexedShard> foreign(set_.shards.size());
    sync::for_each_index(set_.shards.size(), threads_, context_.stop_token(), [&](std::size_t i, std::size_t) {
      manifest.shards[i] = read_whole(set_.shards[i], foreign[i]);
      ++context_.progress().items;
    });
    warn_of_changes(manifest);
    for (const formats::ManifestShard& shard : manifest.shards) {
      manifest.samples += shard.samples;
      manifest.bytes += shard.bytes;
    }
    publish_set_indexes(files_, folder_, {kinds_, std::move(foreign)}, context_);
    if (replace_) forget_conversion();
    publish_manifest(files_, folder_, manifest);
    result_.manifest_written = true;
    sum_up(manifest);
  }

  /// The manifest that is replaced may be the only record of the right bytes.
  void warn_of_changes(const formats::Manifest& now) {
    if (!set_.manifest) return;
    const auto is_changed = [&](const formats::ManifestShard& shard) {
      const auto before = std::ranges::find(set_.manifest->shards, shard.name, &formats::ManifestShard::name);
      return before != set_.manifest->shards.end() && !(before->xxh3_128 == shard.xxh3_128);
    };
    const auto first = std::ranges::find_if(now.shards, is_changed);
    if (first == now.shards.end()) return;
    context_.warn(
        "bytes_changed",
        "{} had other bytes when the replaced manifest was written, the first is '{}'; if they were not written again "
        "since, restore them from a copy and run index again",
        format_count(std::ranges::count_if(now.shards, is_changed), "shard"), first->name);
  }

  /// Removes what convert or reshard wrote about the shards, whose indexes are replaced by now. Until the manifest is
  /// replaced too, the old one describes them.
  void forget_conversion() {
    std::set<std::string> paths = indexes_of_missing(set_);
    std::set<std::string> indexes;
    for (const catalog::ShardFile& shard : set_.shards) indexes.insert(formats::shard_index_path(shard.name));
    const std::string state = io::join_path(folder_, formats::kStateFolder);
    for (const std::string& name : files_.names_in(state)) {
      const bool is_record =
          name.starts_with("plan") || name.starts_with("part-") || name.starts_with("manifest-") ||
          name.ends_with(".bad") ||
          (name.ends_with(".index") && !indexes.contains(io::join_path(formats::kStateFolder, name)));
      if (is_record) paths.insert(io::join_path(state, name));
      if (name.starts_with("append-")) std::filesystem::remove_all(io::join_path(state, name));
    }
    for (const std::string& path : paths) files_.remove(path);
    files_.sync_directory(state);
  }

  void list_extras(formats::Manifest& manifest) {
    for (const std::string& name : extras_) {
      const std::string path = io::join_path(set_.folder, name);
      Xxh3Stream hash;
      const auto file = set_.inputs->open(path);
      const std::uint64_t bytes = file->stream_all([&](Bytes piece) {
        hash.update(piece);
        context_.throw_if_stopped();
      });
      std::erase_if(manifest.files, [&](const auto& listed) { return listed.name == name; });
      manifest.files.push_back({name, bytes, hash.digest()});
    }
  }

  /// All indexes of one shard in one read.
  formats::ManifestShard read_whole(const catalog::ShardFile& shard, formats::IndexedShard& foreign) {
    io::AtomicFile file(files_, io::join_path(folder_, formats::shard_index_path(shard.name)));
    formats::ShardIndexWriter index(file, shard.name, "");
    ReaderIndexWriter others(files_, folder_, shard.path, kinds_);
    ShardIndexer indexer(index, others, shard.path);
    std::optional<ChecksumStream> md5;
    if (need_md5(kinds_)) md5.emplace(ChecksumKind::md5);
    formats::ShardHasher hash;
    const auto hash_bytes = [&](Bytes bytes) {
      hash.update(bytes);
      if (md5) md5->update(bytes);
    };
    const std::uint64_t bytes = formats::read_tar(*set_.inputs->open(shard.path), indexer, hash_bytes, context_);
    indexer.finish();
    formats::ManifestShard entry = index.finish(bytes, hash.whole(), hash.parts());
    file.commit();
    foreign = std::move(others.facts());
    foreign.bytes = entry.bytes;
    if (md5) keep_md5(files_, folder_, entry, foreign.md5 = md5->finish());
    return entry;
  }

  void sum_up(const formats::Manifest& manifest) {
    result_.manifest = io::join_path(folder_, formats::kManifestName);
    result_.shards = manifest.shards.size();
    result_.samples = manifest.samples;
    result_.bytes = manifest.bytes;
  }

  const IndexKinds kinds_;
  const std::vector<std::string>& extras_;
  const bool replace_;
  const unsigned threads_;
  const catalog::ShardSet& set_;
  const OutputLocation location_;
  io::OutputFiles& files_ = *location_.files;
  const std::string& folder_ = location_.folder;  ///< of the indexes
  Context& context_;
  IndexResult result_;
};

}  // namespace

IndexResult index(const IndexOptions& options, Context& context) {
  using Reader = std::pair<const std::string, bool>;
  const auto start = std::chrono::steady_clock::now();
  if (options.replace) check_replace(options);
  const bool for_readers = !options.extras.empty() || std::ranges::any_of(options.readers, &Reader::second);
  const auto verb = options.replace           ? catalog::SetVerb::replace
                    : !options.output.empty() ? catalog::SetVerb::read
                    : for_readers             ? catalog::SetVerb::index_readers
                                              : catalog::SetVerb::index;
  std::optional<OutputLocation> location;
  if (!options.output.empty()) location = open_output_location(options.output, options.access, context);
  for (const std::string& operand : options.shards) {  // before it is looked at; tars have their own errors
    if (!location && !catalog::is_tar_name(operand)) refuse_web_folder(operand);
  }
  const catalog::ShardSet set = catalog::resolve_shards(options.shards, verb, context, options.access);
  if (set.folder.empty()) {
    throw usage_error("the shards are in several folders; index each folder separately");
  }
  if (!location) {
    refuse_web_folder(set.folder);
    location = open_output_location(set.folder, options.access, context);
  }
  catalog::check_names(options.extras, set.folder);
  for (const std::string& name : options.extras) {
    if (name.ends_with(".tar") || name == formats::kManifestName || name.starts_with(formats::kStateFolder))
      throw usage_error("--extra {} is not for shards and their indexes: those are always in the manifest", name);
  }
  IndexResult result = Indexing(options, set, *std::move(location), context).run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.bytes_per_second = static_cast<double>(result.bytes) / elapsed.count();
  return result;
}

void IndexOptions::describe(FieldList& v) {
  v.field(catalog::kShardsOperand, shards);
  for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
    v.field({kind.name, kind.help}, readers[std::string(kind.name)]);
  }
  v.field({"extra",
           "also list this file of the set, such as classes.txt, in the manifest with its checksum, so that stage and "
           "verify compare its bytes; relative to the folder of the shards; may be repeated",
           "NAME"},
          extras);
  v.field(
      {"output", "folder or s3://bucket/prefix for the indexes; default: next to the shards", "DIR", kOutputLocation},
      output);
  v.field({"replace",
           "index the tars as they are, and remove the manifest, plan and indexes that convert or reshard wrote, with "
           "their class names and original paths"},
          replace);
  v.field(system::threads_field("shards read in parallel; default: CPUs available to the process"), threads);
  access.describe(v);
}

void IndexResult::describe(FieldList& v) {
  v.field({"shards", Unit::count, "shards indexed"}, shards);
  v.field({"samples", Unit::count, "samples found in them"}, samples);
  v.field({"bytes", Unit::bytes, "size of the shards"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "size of the shards divided by time"}, bytes_per_second);
  v.field({"manifest", "manifest of the set"}, manifest);
  v.field({"manifest_written", "false if one already described the shards: it only lists new indexes"},
          manifest_written);
}

}  // namespace shardkit::dataset
