#include "dataset/extract/extract.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/checks/apart.hpp"
#include "dataset/checks/expected_shard.hpp"
#include "dataset/checks/whole_set.hpp"
#include "dataset/extract/extract_target.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kDiskBlock = 4096;

struct ExtractNeed {
  std::uint64_t samples = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;       ///< contents
  std::uint64_t disk_bytes = 0;  ///< in blocks of 4 KiB
  std::uint64_t unlabeled = 0;   ///< samples without label and without original path
  std::uint64_t unnamed = 0;     ///< samples whose class has a label but no name
  std::uint64_t left_out = 0;    ///< members that belong to no sample
  bool by_headers = false;       ///< for a shard: its samples were listed from tar headers, without an index

  void add_file(std::uint64_t size) {
    ++files;
    bytes += size;
    disk_bytes += (size + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
  }

  void add(const ExtractNeed& other) {
    samples += other.samples;
    files += other.files;
    bytes += other.bytes;
    disk_bytes += other.disk_bytes;
    unlabeled += other.unlabeled;
    unnamed += other.unnamed;
    left_out += other.left_out;
  }
};

/// Called for each file of the shard.
using ExtractFile = std::function<void(const formats::IndexMember& member, const std::string& name)>;

[[noreturn]] void refuse(const catalog::ShardFile& shard, const std::string& name, std::uint64_t offset,
                         std::string_view why) {
  throw Error(ErrorCode::corrupt, At{shard.path, offset},
              "member '{}' of shard '{}' is not extracted: {}; nothing was written", name, shard.path, why);
}

/// Members that belong to no sample are not extracted; those that mean harm end it.
void check_other(const catalog::ShardFile& shard, const formats::TarEntry& entry) {
  if (entry.type == formats::TarType::hard_link || entry.type == formats::TarType::symbolic_link) {
    refuse(shard, entry.name, entry.header_offset, "it is a link");
  }
  if (entry.type == formats::TarType::directory) return;
  if (const auto path = contained_path(entry.name); !path) {
    refuse(shard, entry.name, entry.header_offset, path.error().what());
  }
}

std::uint64_t left_after(std::uint64_t need, std::uint64_t present) { return need - std::min(need, present); }

/// Goes through one shard. Throws Error{corrupt}, with the member's name, for one that must not be written.
ExtractNeed survey_shard(const SampleLister& lister, const MemberPaths& paths, const catalog::ShardFile& shard,
                         const ExtractFile& file) {
  ExtractNeed need;
  ListingVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& sample) {
    ++need.samples;
    if (sample.path.empty()) {
      need.unlabeled += sample.label ? 0 : 1;
      need.unnamed += sample.label && !paths.knows_class(*sample.label) ? 1 : 0;
    }
    for (const formats::IndexMember& member : sample.members) {
      const Result<std::string> name = paths.path_of(sample, member);
      if (!name) refuse(shard, member.name, member.offset, name.error().what());
      if (name->empty()) continue;
      need.add_file(member.size);
      file(member, *name);
    }
    return true;
  };
  visitor.other = [&](formats::TarEntry&& entry) {
    check_other(shard, entry);
    need.left_out += entry.type == formats::TarType::directory ? 0 : 1;
  };
  visitor.finding = [&](const formats::TarFinding& finding) {
    throw Error(ErrorCode::corrupt, At{shard.path, finding.offset},
                "shard '{}' cannot be extracted completely, at byte {}: {}; {} lists everything that is wrong with it",
                shard.path, finding.offset, finding.text, remedy::in_text(remedy::verify({shard.path})));
  };
  need.by_headers = !lister.list(shard, visitor);
  return need;
}

/// Throws Error{no_space} if the file system of `target` has less free space than `need`. `present` returns the bytes
/// that already exist; it is called only if the space is too small.
void check_space(const std::string& target, const ExtractNeed& need, const std::function<ExtractNeed()>& present) {
  const std::string folder = system::nearest_folder(target);
  const system::FreeSpace free = system::free_space(folder);
  const auto fits = [&](std::uint64_t bytes, std::uint64_t files) {
    return bytes <= free.bytes && files <= free.files;
  };
  if (fits(need.disk_bytes, need.files)) return;
  const ExtractNeed there = present();
  const std::uint64_t bytes = left_after(need.disk_bytes, there.disk_bytes);
  const std::uint64_t files = left_after(need.files, there.files);
  if (fits(bytes, files)) return;
  const bool lacks_bytes = bytes > free.bytes;
  throw Error(ErrorCode::no_space, At{target},
              "{} {} still to be written, but the file system of '{}' has {}; free space there, or give another folder",
              lacks_bytes ? format_size(bytes) : format_count(files, "file"), lacks_bytes || files != 1 ? "are" : "is",
              folder, lacks_bytes ? format_size(free.bytes) + " free" : "room for " + format_count(free.files, "file"));
}

/// One extract from resolved shards to result.
class Extraction {
 public:
  Extraction(io::FileSystem& files, const ExtractOptions& options, Context& context)
      : files_(files),
        options_(options),
        context_(context),
        threads_(system::thread_count(options.threads)),
        set_(catalog::resolve_shards(options.shards, catalog::SetVerb::read, context, options.access)),
        lister_(set_, context),
        manifests_(catalog::manifests_by_folder(set_)),
        listed_(catalog::listed_shards(set_, manifests_)) {
    paths_.insert(manifests_.begin(), manifests_.end());
  }

  ExtractResult run() {
    refuse_own_folder();
    std::error_code no_folder;
    had_files_ = !folder_entries(options_.target, no_folder).empty();
    const ExtractNeed need = survey();
    check_space(options_.target, need, [this] { return present(); });
    const auto start = std::chrono::steady_clock::now();
    need_ = need;
    write_all_shards();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result_.shards = set_.shards.size();
    result_.samples = need.samples;
    result_.files = need.files;
    result_.bytes = need.bytes;
    result_.files_renamed = renamed_.size();
    result_.files_per_second = static_cast<double>(need.files) / elapsed.count();
    result_.bytes_per_second = static_cast<double>(need.bytes) / elapsed.count();
    warn(need);
    return result_;
  }

 private:
  const MemberPaths& paths_of(const catalog::ShardFile& shard) const {
    return paths_.at(io::parent_folder(shard.path));
  }

  /// Class folders among the shards would be part of the set for later readers.
  void refuse_own_folder() const {
    require_apart(options_.target, options_.shards, "set");
    const std::filesystem::path target = resolved_path(options_.target);
    std::set<std::string> folders;
    for (const catalog::ShardFile& shard : set_.shards) {
      if (catalog::is_address(shard.path)) continue;
      const std::string folder = io::parent_folder(shard.path);
      if (!folders.insert(folder).second || resolved_path(folder) != target) continue;
      throw Error(ErrorCode::usage, At{options_.target}, "the shards themselves are in '{}'; choose another folder",
                  options_.target);
    }
  }

  /// For a shard without an index: only its manifest has a checksum of its bytes.
  void refuse_changed(const catalog::ShardFile& shard, const formats::ManifestShard& listed) const {
    const auto changed = changed_bytes(*set_.inputs->open(shard.path), listed, context_);
    if (!changed) return;
    throw Error(ErrorCode::corrupt, At{shard.path}, "shard '{}' differs from its manifest ({}): {}", shard.path,
                *changed, remedy_of_changed(shard.path));
  }

  /// The sum of `look` over all shards, several at a time.
  ExtractNeed sum_over_shards(const std::function<ExtractNeed(std::size_t shard)>& look) {
    ExtractNeed sum;
    std::mutex mutex;
    sync::for_each_index(set_.shards.size(), threads_, context_.stop_token(), [&](std::size_t at, std::size_t) {
      const ExtractNeed of_shard = look(at);
      ++context_.progress().items;
      const std::scoped_lock lock(mutex);
      sum.add(of_shard);
    });
    return sum;
  }

  /// Names and sizes of all shards, so that a bad one ends it before the first is written.
  ExtractNeed survey() {
    context_.progress().expect_stages(2);
    context_.progress().next_stage();
    context_.progress().start("check names", set_.shards.size(), set_.bytes());
    std::mutex mutex;
    const ExtractNeed need = sum_over_shards([&](std::size_t at) {
      const catalog::ShardFile& shard = set_.shards[at];
      PathHashes of_shard;
      const ExtractNeed found =
          survey_shard(lister_, paths_of(shard), shard,
                       [&](const formats::IndexMember&, const std::string& name) { of_shard.add(name); });
      if (found.by_headers && listed_[at] != nullptr) refuse_changed(shard, *listed_[at]);
      const std::scoped_lock lock(mutex);
      const auto& manifest = manifests_.at(io::parent_folder(shard.path));
      if (found.by_headers && manifest && !manifest->plan_hash.empty()) ++without_paths_;
      hashes_.add(std::move(of_shard));
      return found;
    });
    hashes_.finish();
    return need;
  }

  /// Gives members with colliding paths other paths, in the order of the shards: the output does not depend on threads,
  /// and the same extract again gives the same.
  void settle_paths(bool folds_case) {
    if (!hashes_.has_meetings()) return;
    context_.progress().start("compare files of one name", set_.shards.size());
    PathClaims claims(hashes_, folds_case);
    for (std::size_t shard = 0; shard < set_.shards.size(); ++shard) {
      survey_shard(lister_, paths_of(set_.shards[shard]), set_.shards[shard],
                   [&](const formats::IndexMember& member, const std::string& name) {
                     if (!hashes_.meets(name)) return;
                     const auto same = [&](const PathClaim& first) {
                       return first.member.size == member.size && content_hash(first) == content_hash({shard, member});
                     };
                     std::string path = claims.claim(name, {shard, member}, set_.shards[shard].name, same);
                     if (path == name) return;
                     if (renamed_.empty()) first_renamed_ = fmt::format("'{}' became '{}'", name, path);
                     renamed_.emplace(std::pair(shard, member.offset), std::move(path));
                   });
      ++context_.progress().items;
    }
  }

  std::uint64_t content_hash(const PathClaim& claim) const {
    if (claim.member.xxh3) return *claim.member.xxh3;
    const std::string& path = set_.shards[claim.shard].path;
    Xxh3Stream hash;
    read_member(*set_.inputs->open(path), path, claim.member, context_, [&](Bytes piece) { hash.update(piece); });
    return hash.digest64();
  }

  /// Bytes that exist in the target, judged by name and size.
  ExtractNeed present() {
    if (!std::filesystem::is_directory(options_.target)) return {};
    const io::ContainedFolder root(options_.target);
    context_.progress().start("look for what is there", set_.shards.size());
    return sum_over_shards([&](std::size_t at) {
      const catalog::ShardFile& shard = set_.shards[at];
      ExtractNeed found;
      survey_shard(lister_, paths_of(shard), shard, [&](const formats::IndexMember& member, const std::string& name) {
        if (has_size_at(root, name, member.size)) found.add_file(member.size);
      });
      return found;
    });
  }

  void write_all_shards() {
    ExtractTarget target(files_, options_.target);
    settle_paths(target.folds_case());
    context_.progress().next_stage();
    context_.progress().start("extract", need_.files, 0, "files");
    std::vector<std::unique_ptr<ExtractBatch>> batches;
    const std::size_t writers = std::min<std::size_t>(threads_, set_.shards.size());
    for (std::size_t i = 0; i < writers; ++i) batches.push_back(std::make_unique<ExtractBatch>(target, i, context_));
    sync::for_each_index(set_.shards.size(), threads_, context_.stop_token(), [&](std::size_t at, std::size_t thread) {
      const std::string& path = set_.shards[at].path;
      const auto shard = set_.inputs->open(path);
      survey_shard(lister_, paths_of(set_.shards[at]), set_.shards[at],
                   [&](const formats::IndexMember& member, const std::string& name) {
                     const auto renamed = renamed_.find({at, member.offset});
                     batches[thread]->add(*shard, path, member, renamed == renamed_.end() ? name : renamed->second);
                     ++context_.progress().items;
                   });
      batches[thread]->publish();
    });
    target.finish();
    for (const auto& batch : batches) {
      result_.files_written += batch->written();
      result_.files_kept += batch->kept();
    }
  }

  /// What was there before and is part of no shard: a reader of the folder takes it for samples of the set.
  void warn_of_others() {
    std::set<std::string> written;
    for (const auto& [member, path] : renamed_) written.insert(path);
    std::uint64_t count = 0;
    std::string first;
    std::vector<std::string> folders{""};  // below the target, each with a slash at its end
    while (!folders.empty()) {
      const std::string inside = std::move(folders.back());
      folders.pop_back();
      std::error_code unreadable;
      for (const FolderEntry& entry : folder_entries(io::join_path(options_.target, inside), unreadable)) {
        if (is_hidden_or_system(entry.name)) continue;
        const std::string path = inside + entry.name;
        if (entry.is_folder()) {
          folders.push_back(path + '/');
        } else if (hashes_.is_free(path) && !written.contains(path) && ++count == 1) {
          first = path;
        }
      }
    }
    if (count == 0) return;
    context_.warn("other_files",
                  "'{}' also contains {} of no shard, such as '{}': a reader of the folder reads {} too; move what is "
                  "not meant, or extract into a new folder",
                  options_.target, format_count(count, "file"), first, count == 1 ? "it" : "them");
  }

  void warn(const ExtractNeed& need) {
    if (had_files_) warn_of_others();
    if (need.unlabeled > 0) {
      context_.warn("unlabeled",
                    "{} without a label: files are extracted to the paths of their names, not to class folders",
                    format_count(need.unlabeled, "sample"));
    }
    if (without_paths_ > 0) {
      context_.warn("index_missing",
                    "{} made by convert or reshard without an index: original names are not known, so files are named "
                    "after their keys",
                    format_count(without_paths_, "shard"));
    }
    if (need.unnamed > 0) {
      context_.warn(
          "class_names_unknown",
          "no manifest has the class names, so folders are named by label; loaders sort folders as text, where "
          "10 comes before 2, and number them differently");
    }
    for (const auto& [folder, manifest] : manifests_) {
      const auto empty = manifest ? std::ranges::count(manifest->classes, 0U, &formats::ManifestClass::samples) : 0;
      if (empty == 0) continue;
      context_.warn(
          "classes_empty",
          "no folders for {} of '{}' without samples: a convert of the copy needs --class-map to keep the labels",
          format_count(empty, "class"), folder);
    }
    if (!renamed_.empty()) {
      context_.warn("files_renamed", "{} renamed, because another file or folder has the same path: {}",
                    format_count(renamed_.size(), "file"), first_renamed_);
    }
    if (need.left_out > 0) {
      context_.warn("members_left_out", "{} outside of samples not extracted", format_count(need.left_out, "member"));
    }
  }

  io::FileSystem& files_;
  const ExtractOptions& options_;
  Context& context_;
  const unsigned threads_;
  const catalog::ShardSet set_;
  const SampleLister lister_;
  const catalog::FolderManifests manifests_;
  const std::vector<const formats::ManifestShard*> listed_;  ///< by shard; null without a manifest
  std::map<std::string, MemberPaths> paths_;                 ///< by the shards' folders, which have a manifest each
  PathHashes hashes_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::string> renamed_;  ///< paths by shard and offset of the content
  std::string first_renamed_;
  std::uint64_t without_paths_ = 0;  ///< shards of ours that lack an index
  bool had_files_ = false;           ///< the target, before the first was written
  ExtractNeed need_;
  ExtractResult result_;
};

}  // namespace

ExtractResult extract(const ExtractOptions& options, Context& context) {
  return extract_on(*io::posix_file_system(), options, context);
}

ExtractResult extract_on(io::FileSystem& files, const ExtractOptions& options, Context& context) {
  if (options.shards.size() == 1) {
    ExtractOptions other = options;
    std::swap(other.shards.front(), other.target);
    catalog::refuse_swapped(options.shards.front(), options.target, catalog::Content::shards,
                            command_text("shardctl extract", other));
  }
  return Extraction(files, options, context).run();
}

void ExtractOptions::describe(FieldList& v) {
  v.field(catalog::kShardsOperand, shards);
  v.field({"DST", "folder for the class folders; existing files with other content are not overwritten",
           Role::positional, kOutputFolder},
          target);
  v.field(system::threads_field("shards extracted in parallel; default: CPUs available to the process"), threads);
  access.describe(v);
}

void ExtractResult::describe(FieldList& v) {
  v.field({"shards", Unit::count, "shards extracted"}, shards);
  v.field({"samples", Unit::count, "samples in them"}, samples);
  v.field({"files", Unit::count, "files of these samples, without labels, which become folders"}, files);
  v.field({"files_written", Unit::count, "files written in this run"}, files_written);
  v.field({"files_kept", Unit::count, "existing files with the right content"}, files_kept);
  v.field({"files_renamed", Unit::count,
           "files renamed because another file or folder has their path: -XXXXXXXX follows the stem"},
          files_renamed);
  v.field({"bytes", Unit::bytes, "bytes of all files"}, bytes);
  v.field({"files_per_second", Unit::per_second, "files divided by the time from the check of names until durable"},
          files_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by the same time"}, bytes_per_second);
}

}  // namespace shardkit::dataset
