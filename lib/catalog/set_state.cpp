#include "catalog/set_state.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "formats/shard_index.hpp"
#include "formats/stage_records.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"

namespace shardkit::catalog {
namespace {

constexpr std::string_view kState = ".shardkit/";

std::string append_file(std::uint64_t number, std::string_view name) {
  return io::join_path(formats::append_path(number), name);
}

/// What one look at a folder collects before it has a name for the state.
class Looking {
 public:
  Looking(const Listing& listing, const OpenFile& open) : listing_(listing), open_(open) {
    seen_.folder = listing.folder;
    seen_.is_live = listing.is_live;
    seen_.is_listed = listing.is_whole;
  }

  SeenSet look() {
    sort_names();
    read_manifest();
    read_plans();
    seen_.has_leftovers = !parts_.empty() || has_append_;
    seen_.state = state();
    if (!newer_.empty()) seen_.state = Newer{newer_};
    if (!listing_.is_whole && seen_.manifest) take_listed();
    if (!seen_.as<Group>() && !seen_.as<Newer>()) find_extra();
    return std::move(seen_);
  }

 private:
  void sort_names() {
    for (const Listing::File& file : listing_.files) {
      const std::string_view name = file.name;
      if (name.starts_with(kState)) {
        const std::string_view record = name.substr(kState.size());
        has_run_ = has_run_ || io::is_run_name(record);
        if (const auto part = formats::parse_part_name(record)) parts_.push_back(*part);
        in_parts_ = in_parts_ || formats::is_part_name(record) || record.ends_with(".division");
        has_later_plan_ = has_later_plan_ || record == "plan-1";
        has_append_ = has_append_ || record.starts_with("append-");
      } else if (name.starts_with('.')) {
        continue;
      } else if (name.find('/') != std::string_view::npos) {
        has_below_ = has_below_ || !is_hidden_or_system(name.substr(0, name.find('/')));
      } else if (name.ends_with(".tar")) {
        seen_.tars.push_back(file);
      } else if (is_compressed_tar_name(name)) {
        seen_.packed.emplace_back(name);
      } else {
        has_files_ = true;
      }
    }
  }

  std::string text(const std::string& name) const {
    const auto file = open_(name);
    std::string text(file->size(), '\0');
    text.resize(file->read_at(0, std::as_writable_bytes(std::span(text))));
    return text;
  }

  /// Calls `read`; false if the record `name` that it reads is damaged, or of a newer version.
  template <class Read>
  bool is_intact(const std::string& name, const Read& read) {
    try {
      read();
      return true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) newer_ = name;
      if (newer_.empty() && error.code() != ErrorCode::corrupt) throw;
      return false;
    }
  }

  void read_manifest() {
    if (!listing_.has(formats::kManifestName)) return;
    const std::string bytes = text(formats::kManifestName);
    seen_.other_manifest = formats::is_foreign_manifest(bytes);
    if (seen_.other_manifest) return;
    manifest_hash_ = xxh3_128(as_bytes(bytes));
    has_manifest_ = true;
    try {
      seen_.manifest = formats::read_manifest(bytes, io::join_path(listing_.folder, formats::kManifestName));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) newer_ = formats::kManifestName;
      if (newer_.empty() && error.code() != ErrorCode::corrupt) throw;
      why_damaged_ = error.what();
    }
  }

  std::optional<SeenPlan> read_plan(const std::string& name) {
    SeenPlan plan{name, {}, {}};
    const bool intact = is_intact(name, [&] {
      const auto file = open_(name);
      const formats::PlanReader reader(*file, io::join_path(listing_.folder, name));
      plan.hash = reader.hash();
      plan.is_reshard = !reader.head().inputs.empty();
      if (reader.head().parts) part_count_ = reader.head().parts;
      for (std::size_t i = 0; i < reader.shards().size(); ++i) plan.shards.push_back(reader.shard_name(i));
    });
    if (intact) return plan;
    seen_.plan = PlanState::damaged;
    seen_.damaged_plan = name;
    return std::nullopt;
  }

  void read_plans() {
    for (std::uint64_t number = 0; listing_.has(formats::plan_path(number)); ++number) {
      ++plans_;
      if (auto plan = read_plan(formats::plan_path(number))) seen_.plans.push_back(*std::move(plan));
    }
    if (plans_ == 0 && has_later_plan_) {
      seen_.plan = PlanState::damaged;
      seen_.damaged_plan = formats::plan_path(0);
    }
    if (plans_ > 0 && seen_.plan == PlanState::none) seen_.plan = PlanState::good;
  }

  /// The first that fits.
  SetState state() {
    if (const auto journal = unfinished_stage()) return *journal;
    if (!has_manifest_ && listing_.has(formats::kUploadRecord)) return Uploading{};
    if (!has_manifest_) return without_manifest();
    if (!why_damaged_.empty()) return Damaged{why_damaged_, planned_and_missing(), marker_.has_value()};
    return with_manifest();
  }

  std::optional<Staging> unfinished_stage() {
    const bool has_marker = listing_.has(formats::kStagedMarkerPath);
    const bool is_own = has_marker || listing_.has(formats::kStageJournalPath);
    if (!is_own && !listing_.staged_in) return std::nullopt;
    const std::string up = is_own ? std::string() : listing_.staged_in->up;
    if (!is_own || listing_.has(formats::kStageJournalPath)) journal_.take(text(up + formats::kStageJournalPath));
    if (journal_.is_newer) newer_ = up + formats::kStageJournalPath;
    if (is_own ? has_marker : listing_.staged_in->has_marker) read_marker(up + formats::kStagedMarkerPath);
    if (!is_own) keep_files_below(listing_.staged_in->below);
    if (marker_ || journal_.files.empty()) return std::nullopt;
    return Staging{journal_.set ? journal_.set->source : std::string()};
  }

  void read_marker(const std::string& name) {
    is_intact(name, [&] { marker_ = formats::read_staged_marker(text(name), io::join_path(listing_.folder, name)); });
  }

  void keep_files_below(const std::string& folder) {
    std::map<std::string, formats::StagedFile> files;
    for (auto& [name, file] : journal_.files) {
      if (name.starts_with(folder)) files.emplace(name.substr(folder.size()), std::move(file));
    }
    journal_.files = std::move(files);
    if (journal_.files.empty()) marker_.reset();
  }

  SetState without_manifest() {
    if (plans_ > 0) {
      std::uint64_t planned = 0;
      for (const SeenPlan& plan : seen_.plans) planned += plan.shards.size();
      std::vector<std::string> missing = planned_and_missing();
      if (missing.empty() && seen_.plan == PlanState::good) return Unmerged{};
      const SetWriter writer =
          !seen_.plans.empty() && seen_.plans.front().is_reshard ? SetWriter::reshard : SetWriter::convert;
      return Writing{writer, std::move(missing), planned, in_parts_, missing_parts()};
    }
    if (!seen_.tars.empty() || !seen_.packed.empty()) return Foreign{};
    if (has_run_) return Writing{};
    if (has_below_ && find_members()) return Group{marker_.has_value()};
    return has_files_ || has_below_ || seen_.other_manifest ? SetState(Files{}) : SetState(Empty{});
  }

  std::vector<std::uint64_t> missing_parts() const {
    std::vector<std::uint64_t> missing;
    const std::uint64_t count = !parts_.empty() ? parts_.front().second : part_count_.value_or(0);
    for (std::uint64_t part = 0; part < count; ++part) {
      if (std::ranges::find(parts_, std::pair(part, count)) == parts_.end()) missing.push_back(part);
    }
    return missing;
  }

  /// Whether folders below are sets, or will be.
  bool find_members() {
    std::string_view last;
    for (const Listing::File& file : listing_.files) {
      const std::string_view name = std::string_view(file.name).substr(0, file.name.find('/'));
      if (name == last || name.size() == file.name.size() || is_hidden_or_system(name)) continue;
      last = name;
      const std::string folder(name);
      SeenSet member = catalog::look(listing_.below(folder), [&](const std::string& below) {
        return open_(below.starts_with("../") ? below.substr(3) : io::join_path(folder, below));
      });
      const bool is_set = !member.as<Empty>() && !member.as<Files>() && !member.as<Group>();
      if (is_set) seen_.members.push_back({folder, std::move(member)});
    }
    return !seen_.members.empty();
  }

  SetState with_manifest() {
    const std::string& plan = seen_.manifest->plan_hash;
    const auto is_of = [&](const SeenPlan& of) { return to_hex(of.hash) == plan; };
    const auto added = read_append();
    if (seen_.plan == PlanState::good && !is_of(seen_.plans.back()) && !(added && is_of(added->plan)))
      return Damaged{{}, planned_and_missing(), marker_.has_value()};
    if (auto partial = staged_part()) return *std::move(partial);
    if (auto incomplete = lost_shards()) return *std::move(incomplete);
    if (added && added->is_complete) return Appended{added->shards, added->is_joined};
    if (added) return Appending{added->shards};
    if (auto growing = this->growing()) return *std::move(growing);
    return Complete{marker_.has_value()};
  }

  /// Shards that a later stage or upload has brought: readers of the manifest are not concerned before it is replaced.
  std::optional<Growing> growing() const {
    const bool is_staged = marker_ && journal_.set && !(journal_.set->hash == marker_->manifest);
    if (!is_staged && !listing_.has(formats::kUploadRecord)) return std::nullopt;
    std::unordered_set<std::string_view> listed;
    for (const formats::ManifestShard& shard : seen_.manifest->shards) listed.insert(shard.name);
    Growing growing{{}, is_staged};
    for (const Listing::File& tar : seen_.tars) {
      if (!listed.contains(tar.name) && (!is_staged || journal_.files.contains(tar.name)))
        growing.shards.push_back(tar.name);
    }
    if (growing.shards.empty()) return std::nullopt;
    return growing;
  }

  struct Append {
    SeenPlan plan;
    std::vector<std::string> shards;
    bool is_complete = false;
    bool is_joined = false;
  };

  /// What an append has written behind the last plan.
  std::optional<Append> read_append() {
    if (plans_ == 0 || !listing_.has(append_file(plans_, formats::plan_path(0)))) return std::nullopt;
    Append append;
    const PlanState before = seen_.plan;
    if (auto plan = read_plan(append_file(plans_, formats::plan_path(0)))) append.plan = *std::move(plan);
    seen_.plan = before;
    append.shards = append.plan.shards;
    const auto is_written = [&](const std::string& shard) {
      const std::string own = append_file(plans_, shard);
      const std::string index = append_file(plans_, formats::shard_index_path(shard));
      return listing_.has(own) || listing_.has(shard) || (listing_.has(index) && has_no_samples(index));
    };
    append.is_complete = !append.shards.empty() && std::ranges::all_of(append.shards, is_written);
    const std::string manifest = append_file(plans_, formats::kManifestName);
    if (!listing_.has(manifest)) return append;
    is_intact(manifest, [&] {
      append.is_joined = formats::read_manifest(text(manifest), manifest).plan_hash == to_hex(append.plan.hash);
    });
    return append;
  }

  std::optional<SetState> staged_part() const {
    if (!marker_ || marker_->subsets.empty()) return std::nullopt;
    const auto manifest = journal_.files.find(formats::kManifestName);
    if (manifest == journal_.files.end() || !(manifest->second.hash == manifest_hash_)) return std::nullopt;
    Incomplete lost{{}, {}, 0, true};
    Partial part{marker_->subsets, {}};
    for (const auto& [name, file] : journal_.files) {
      part.files.insert(name);
      const Listing::File* found = listing_.find(name);
      if (!is_shard_name(name)) continue;
      if (found == nullptr && listing_.lacks(name)) {
        lost.missing.push_back(name);
      } else if (found != nullptr && found->bytes.value_or(file.bytes) != file.bytes) {
        lost.resized.push_back(name);
      }
      lost.left += found != nullptr ? 1 : 0;
    }
    if (lost.missing.empty() && lost.resized.empty()) return part;
    return lost;
  }

  static bool is_shard_name(std::string_view name) { return name.ends_with(".tar") && name.find('/') == name.npos; }

  std::optional<Incomplete> lost_shards() const {
    Incomplete lost{{}, {}, 0, marker_.has_value()};
    for (const formats::ManifestShard& shard : seen_.manifest->shards) {
      const Listing::File* file = listing_.find(shard.name);
      if (file == nullptr && listing_.lacks(shard.name)) {
        lost.missing.push_back(shard.name);
      } else if (file != nullptr && file->bytes.value_or(shard.bytes) != shard.bytes) {
        lost.resized.push_back(shard.name);
      }
      lost.left += listing_.lacks(shard.name) ? 0 : 1;
    }
    if (lost.missing.empty() && lost.resized.empty()) return std::nullopt;
    return lost;
  }

  /// Planned shards that are not there. Of a shard of which every sample was left out there is only an index.
  std::vector<std::string> planned_and_missing() {
    std::vector<std::string> missing;
    bool may_be_left_out = true;
    for (const SeenPlan& plan : seen_.plans) {
      for (const std::string& shard : plan.shards) {
        if (listing_.has(shard)) continue;
        const std::string index = formats::shard_index_path(shard);
        if (may_be_left_out && listing_.has(index)) {
          may_be_left_out = has_no_samples(index);
          if (may_be_left_out) continue;
        }
        missing.push_back(shard);
      }
    }
    return missing;
  }

  bool has_no_samples(const std::string& index) {
    bool has_none = false;
    is_intact(index, [&] { has_none = formats::read_shard_summary(*open_(index), index).samples == 0; });
    return has_none;
  }

  /// The server cannot list: the shards are those of the manifest that are not known to be absent.
  void take_listed() {
    for (const formats::ManifestShard& shard : seen_.manifest->shards) {
      const Listing::File* file = listing_.find(shard.name);
      if (file == nullptr && !listing_.lacks(shard.name)) seen_.tars.push_back({shard.name, shard.bytes});
    }
    std::ranges::sort(seen_.tars, {}, &Listing::File::name);
  }

  void find_extra() {
    std::unordered_set<std::string_view> known;
    if (seen_.manifest) {
      for (const formats::ManifestShard& shard : seen_.manifest->shards) known.insert(shard.name);
    } else if (seen_.plans.empty()) {
      return;  // nothing says what belongs to the set
    }
    if (!seen_.manifest || seen_.as<Damaged>()) {
      for (const SeenPlan& plan : seen_.plans) known.insert(plan.shards.begin(), plan.shards.end());
    }
    if (const auto* added = seen_.added()) known.insert(added->begin(), added->end());
    for (const Listing::File& tar : seen_.tars) {
      if (!known.contains(tar.name)) seen_.extra.push_back(tar.name);
    }
  }

  const Listing& listing_;
  const OpenFile& open_;
  SeenSet seen_;
  bool has_files_ = false;
  bool has_below_ = false;  ///< visible files in folders
  bool has_run_ = false;
  bool has_later_plan_ = false;
  bool has_append_ = false;  ///< or what is left of one
  bool in_parts_ = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts_;  ///< that have ended, each with the number of parts
  std::optional<std::uint64_t> part_count_;                     ///< that the plan names
  bool has_manifest_ = false;                                   ///< of ours, perhaps damaged
  std::string newer_;                                           ///< a record of a newer version
  Hash128 manifest_hash_;
  std::string why_damaged_;
  std::uint64_t plans_ = 0;  ///< files of plans
  formats::StageJournalState journal_;
  std::optional<formats::StagedMarker> marker_;
};

}  // namespace

const Listing::File* Listing::find(std::string_view name) const {
  const auto found =
      std::ranges::lower_bound(files, name, {}, [](const File& file) -> std::string_view { return file.name; });
  return found != files.end() && found->name == name ? &*found : nullptr;
}

Listing Listing::below(const std::string& name) const {
  Listing listing{io::join_path(folder, name), {}, is_whole};
  if (has(formats::kStageJournalPath)) listing.staged_in = StagedIn{"../", name + '/', has(formats::kStagedMarkerPath)};
  const std::string prefix = name + '/';
  const auto first = std::ranges::lower_bound(files, prefix, {}, &File::name);
  for (auto file = first; file != files.end() && file->name.starts_with(prefix); ++file)
    if (file->name.size() > prefix.size()) listing.files.push_back({file->name.substr(prefix.size()), file->bytes});
  return listing;
}

bool SeenSet::is_of_plan() const {
  return !plans.empty() || plan == PlanState::damaged || (manifest && !manifest->plan_hash.empty());
}

const std::vector<std::string>* SeenSet::added() const {
  if (const auto* appended = as<Appended>()) return &appended->shards;
  const auto* growing = as<Growing>();
  return growing != nullptr ? &growing->shards : nullptr;
}

namespace {

std::vector<Listing::File> without(std::vector<Listing::File> files, const std::vector<std::string>& names) {
  if (names.empty()) return files;
  const std::unordered_set<std::string_view> gone(names.begin(), names.end());
  std::erase_if(files, [&](const Listing::File& file) { return gone.contains(file.name); });
  return files;
}

}  // namespace

std::vector<Listing::File> SeenSet::shards_and_extra() const {
  const std::vector<std::string>* const added = this->added();
  if (added == nullptr || !manifest) return tars;
  std::vector<std::string> unlisted;  // those that were moved into the set and are not in its manifest yet
  for (const std::string& shard : *added) {
    if (std::ranges::find(manifest->shards, shard, &formats::ManifestShard::name) == manifest->shards.end())
      unlisted.push_back(shard);
  }
  return without(tars, unlisted);
}

std::vector<Listing::File> SeenSet::shards() const { return without(shards_and_extra(), extra); }

SeenSet look(const Listing& listing, const OpenFile& open) { return Looking(listing, open).look(); }

}  // namespace shardkit::catalog
