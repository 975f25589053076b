#include "dataset/stage/stage.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <ranges>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "net/retry.hpp"
#include "staging/peer_source.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_target.hpp"
#include "staging/staged_folder.hpp"
#include "sync/task_group.hpp"
#include "system/clock.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {
namespace {

constexpr unsigned kMostFilesAsked = 32;
constexpr std::size_t kMostOmissionsNamed = 20;
constexpr double kSlowShare = 0.25;  // of the usual rate of a connection

void wait_jitter(double longest, Context& ctx) {
  if (longest <= 0) return;
  std::random_device device;
  const double seconds = std::uniform_real_distribution(0.0, longest)(device);
  ctx.progress().start_for("wait for --jitter", seconds);
  system::system_clock().sleep(system::Seconds(seconds), ctx.stop_token());
}

/// From where a stage takes its files.
struct StageSource {
  io::ObjectSource& source;
  std::vector<std::unique_ptr<io::ObjectSource>> peers;
  const std::atomic<std::uint64_t>& retries;  ///< of requests, so far
};

/// One call of stage, from a source that is open.
class Stage {
 public:
  Stage(io::FileSystem& files, StageSource from, const staging::StageRequest& wanted, const StageOptions& options,
        staging::CopyLimits limits, Context& ctx)
      : files_(files),
        source_(from.source, std::move(from.peers), ctx),
        all_of_one_source_(!wanted.names && options.sources.size() <= 1),
        options_(options),
        limits_(std::move(limits)),
        retries_(from.retries),
        ctx_(ctx),
        is_named_(wanted.names.has_value()),
        manifest_problem_(wanted.manifest_problem),
        set_(source_, wanted, ctx.stop_token()),
        target_(files, options.target),
        share_(files, target_, options.share, system::system_clock(), ctx) {}

  StageResult run() {
    warn_of_left_out();
    keep_ranks();
    const staging::StagedSetId id{set_.hash(), 0, source_.location()};
    const auto holds_all = [&] { return target_.holds(id, set_.expected()); };
    const bool is_in_place = !is_to_compare_again() && holds_all();
    if (is_in_place && options_.share.limit) share_.check_limit(result_in_place().bytes);
    if (is_in_place && set_.missing().empty() && (options_.dry_run || share_.keep(holds_all))) {
      StageResult result = result_in_place();
      if (result.verified == "size") warn_of_missing_manifest();
      return result;
    }
    wanted_ = set_.files(source_, uses_etags(), ctx_.stop_token());
    if (verified() == "size") warn_of_missing_manifest();
    warn_of_missing_indexes();
    refuse_own_files();
    share_.check_limit(final_bytes(id));
    if (options_.dry_run) {
      share_.check_space(final_bytes(id));
      if (const auto found = target_.marker();
          found && !(found->manifest == id.hash) && !staging::StageTarget::only_grows(journal(), wanted_))
        share_.check_replace({*found, id, true, is_update(*found)});
      return dry_run_result();
    }
    share_.await_space([&] { join(id); });
    for (const staging::ManifestSet& set : set_.sets()) target_.check_manifest_name(set);
    ctx_.progress().start("copy", wanted_.size(), bytes());
    try {
      return copy();
    } catch (const Error& error) {
      // No repetition can copy it, or only when there is space again.
      if (is_bad_file(error.code()) || error.code() == ErrorCode::no_space) share_.drop_lease();
      if (error.code() != ErrorCode::no_space) throw;
      throw Error(ErrorCode::no_space, At{error.path()},
                  "{}; {} of the set are still missing: free space, then run the same command again", error.what(),
                  format_size(missing_bytes(target_, wanted_)));
    }
  }

 private:
  staging::StageJournal::State journal() const {
    return staging::StageJournal::read(target_.path_of(staging::kStageJournalPath));
  }

  std::uint64_t final_bytes(const staging::StagedSetId& id) const {
    return dataset::final_bytes(target_, id, wanted_, set_.sets());
  }

  /// Joins the target, with its space reserved. Throws Error{no_space}.
  void join(const staging::StagedSetId& id) {
    share_.check_space(final_bytes(id));
    ctx_.progress().start("wait for another stage into the same folder");
    const auto replace = [&](const staging::StagedMarker& found, bool finished) {
      share_.replace({found, id, finished, is_update(found)});
    };
    target_.join(id, wanted_, replace, ctx_.stop_token());
    share_.take_space(final_bytes(id));
    check_free_space(target_, wanted_);
  }

  /// For a source at the path of its copy: the copy would be the source, and an eviction would remove it.
  void refuse_own_files() const {
    for (const staging::StageFile& file : wanted_) {
      const std::string from = source_.address_of(file.object.name);
      const std::string to = target_.path_of(file.object.name);
      std::error_code error;
      if (!std::filesystem::equivalent(from, to, error) || std::filesystem::is_symlink(to, error)) continue;
      throw Error(ErrorCode::usage, At{from}, "'{}' would be staged onto itself; choose another folder", from);
    }
  }

  void warn_of_missing_manifest() {
    if (set_.has_manifest() || options_.manifest == "none") return;
    if (!manifest_problem_.empty()) {
      return ctx_.warn("manifest_unknown",
                       "the source does not report whether it has a manifest, so only size and version are checked: {}",
                       manifest_problem_);
    }
    ctx_.warn("no_manifest",
              "'{}' has no shardkit manifest, so stage cannot tell whether the bytes are correct: files "
              "are pinned only by size and version; 'shardctl index' creates one for shards",
              source_.location());
  }

  /// Copies made without dot files lack them. The manifest has the right bytes of the shards.
  void warn_of_missing_indexes() {
    if (!set_.has_manifest()) return;
    const std::size_t missing = set_.expected().size() - set_.sets().size() - wanted_.size();
    if (missing == 0) return;
    ctx_.warn("indexes_missing",
              "'{}' lacks or denies {} of its manifest: the set is staged without. Shards are still compared with the "
              "manifest",
              source_.location(), format_count(missing, "file"));
  }

  /// Files that --include and --exclude leave out are named, so that none is missed later.
  void warn_of_left_out() {
    for (const std::string& pattern : set_.unused_patterns()) {
      ctx_.warn("pattern_unused", "no file of '{}' matches '{}'; patterns match whole names, such as 'train/*'",
                source_.location(), pattern);
    }
    const std::vector<std::string>& left_out = set_.left_out();
    if (left_out.empty()) return;
    ctx_.warn("files_left_out", "{} of '{}' not staged: {}{}", format_count(left_out.size(), "file"),
              source_.location(), fmt::join(left_out | std::views::take(kMostOmissionsNamed), ", "),
              left_out.size() > kMostOmissionsNamed ? ", ..." : "");
  }

  /// Each set below the source is divided by itself, as a loader reads it.
  void keep_ranks() {
    const auto ranks = parse_ranks(options_.rank, options_.world);
    if (!ranks) return;
    const RankSplit split = options_.split.value_or(RankSplit::webdataset);
    std::vector<std::string> kept;
    std::set<std::string> warned;
    const std::vector<staging::ShardGroup> groups = set_.groups();
    if (groups.empty())
      ctx_.warn("nothing_to_divide", "--rank has no effect: '{}' has no shards (*.tar)", source_.location());
    for (const staging::ShardGroup& group : groups) {
      const std::string where = group.folder.empty() ? source_.location() : source_.address_of(group.folder);
      RankShards part = shards_of_ranks(group.shards.size(), group.samples, *ranks, split, where);
      for (const std::size_t number : part.shards) kept.push_back(group.shards[number]);
      for (Warning& warning : part.warnings) {
        if (warned.insert(warning.text).second) ctx_.warn(std::move(warning.code), std::move(warning.text));
      }
    }
    set_.keep_shards(kept);
    subset_ = fmt::format("ranks {}-{} of {} by {}", ranks->first, ranks->last, ranks->world, enum_name(split));
  }

  /// Files that follow their source without a manifest are updated. Staged files that are not requested now may only be
  /// removed with a whole source that no longer has them.
  bool is_update(const staging::StagedMarker& found) const {
    if (set_.has_manifest() || found.source != source_.location()) return false;
    const auto files = journal().files;
    return all_of_one_source_ || std::ranges::all_of(files, [&](const auto& item) {
             return std::ranges::binary_search(set_.whole(), item.first);
           });
  }

  StageResult copy() {
    const auto start = std::chrono::steady_clock::now();
    if (!options_.peers.empty()) source_.offer(wanted_);
    staging::StageCopier copier(files_, source_, target_, limits_, ctx_);
    try {
      copier.copy_all(wanted_);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) warn_of_repeated_work(copier.bytes_left());
      throw;
    }
    source_.warn_of_useless();
    target_.warn_of_strangers(ctx_);
    set_.update(copier.changed());
    for (const io::ObjectInfo& now : copier.changed())
      std::ranges::find_if(wanted_, [&](const auto& file) { return file.object.name == now.name; })->object = now;
    const staging::StagedMarker marker = this->marker();
    std::map<std::string, Error> failures = copier.failures();
    failures.insert(set_.missing().begin(), set_.missing().end());
    if (failures.empty()) {
      target_.finish(set_.sets(), marker, wanted_, set_.whole());
    } else {
      target_.sync_names(wanted_);
    }
    share_.take_lease();
    StageResult result = this->result();
    result.take(failures);
    if (!result.failure) result.verified_at = marker.verified_at;
    result.bytes_fetched = copier.bytes_fetched() + set_.manifest_bytes();
    result.bytes_from_peers = source_.bytes();
    result.bytes_reused = copier.bytes_reused();
    if (const auto kept = copier.files_reused(); kept > 0)
      result.resumed = fmt::format("{} of {} files kept", kept, result.files);
    result.files_by_others = copier.files_by_others();
    result.retries = retries_ + copier.refetched();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result.bytes_per_second = static_cast<double>(result.bytes_fetched) / elapsed.count();
    return result;
  }

  /// The files that copy() would copy. Throws for files that the source lacks or has another size of, as copy() does.
  StageResult dry_run_result() {
    system::require_writable(target_.folder());
    const staging::StageJournal::State journal = this->journal();
    std::vector<const staging::StageFile*> missing;
    for (const staging::StageFile& file : wanted_) {
      if (file.object.size == 0 || target_.bytes_arrived(file, journal) < file.object.size) missing.push_back(&file);
    }
    sync::for_each_index(missing.size(), kMostFilesAsked, ctx_.stop_token(),
                         [&](std::size_t at, std::size_t) { staging::find_at_source(source_, *missing[at]); });
    StageResult result = this->result();
    result.verified.clear();
    result.dry_run =
        DryRun{missing.size() + set_.sets().size(), 0, missing_bytes(target_, wanted_) + set_.manifest_bytes(),
               check_free_space(target_, wanted_)};
    for (const staging::StageFile* file : missing)
      result.dry_run->shards += file->object.name.ends_with(".tar") ? 1 : 0;
    result.bytes_reused = result.bytes - std::min(result.bytes, result.dry_run->bytes);
    return result;
  }

  void warn_of_repeated_work(std::uint64_t left) const {
    const std::uint64_t counted = ctx_.progress().bytes + left;  // bytes that were received and discarded are in both
    ctx_.warn("read_again", "the next run reads {}, {} of that again", format_size(left),
              format_size(counted - std::min(counted, bytes())));
  }

  staging::StagedMarker marker() const {
    staging::StagedMarker marker{.source = source_.location(),
                                 .verified = verified(),
                                 .verified_at = system::rfc3339(system::system_clock().now()),
                                 .manifest = set_.hash()};
    if (!subset_.empty()) marker.subsets = {subset_};
    if (subset_.empty() && (is_named_ || set_.is_part()))
      marker.subsets = {fmt::format("{} by name", format_count(wanted_.size(), "file"))};
    return marker;
  }

  bool uses_etags() const { return options_.validate == StageVerify::etag; }

  /// The folder may have been staged by sizes alone.
  bool is_to_compare_again() const {
    const auto marker = uses_etags() ? target_.marker() : std::nullopt;
    return marker && marker->verified == "size";
  }

  static bool has_checksum(const staging::StageFile& file) { return file.hash || file.indexed || file.object.checksum; }

  std::string verified() const {
    if (set_.are_shards_listed()) return "checksum";
    return std::ranges::all_of(wanted_, has_checksum) ? "store_checksum" : "size";
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = set_.manifest_bytes();
    for (const staging::StageFile& file : wanted_) sum += file.object.size;
    return sum;
  }

  StageResult result() const {
    StageResult result;
    result.files = wanted_.size() + set_.sets().size();
    result.bytes = bytes();
    result.verified = verified();
    result.left_out = set_.left_out().size();
    result.evicted = share_.evicted();
    result.files_by_size =
        result.files - set_.sets().size() - static_cast<std::uint64_t>(std::ranges::count_if(wanted_, has_checksum));
    result.manifest_xxh3_128 = to_hex(set_.hash());
    if (const auto& lease = share_.lease()) {
      result.lease_id = lease->owner;
      result.lease_expires_at = system::rfc3339(lease->expires_at);
    }
    return result;
  }

  /// For a complete folder.
  StageResult result_in_place() const {
    StageResult result = this->result();
    const std::vector<staging::ExpectedFile> files = set_.expected();
    result.files = files.size();
    result.bytes = 0;
    if (const auto marker = target_.marker()) {
      result.verified = marker->verified;
      if (!marker->verified_at.empty()) result.verified_at = marker->verified_at;
    }
    const staging::StageJournal::State journal = this->journal();
    result.files_by_size = static_cast<std::uint64_t>(std::ranges::count_if(files, [&](const auto& file) {
      Hash128 hash;
      return file.pin && !parse_hex(*file.pin, hash) && journal.files.at(file.name).pin == *file.pin;
    }));
    for (const staging::ExpectedFile& file : files)
      result.bytes += staging::size_on_disk(target_.path_of(file.name)).value_or(0);
    result.bytes_reused = result.bytes;
    result.resumed = fmt::format("{0} of {0} files kept", result.files);
    if (options_.dry_run) result.dry_run = DryRun{.free_bytes = system::free_bytes(target_.folder())};
    return result;
  }

  io::FileSystem& files_;
  staging::PeerSource source_;
  const bool all_of_one_source_;
  const StageOptions& options_;
  const staging::CopyLimits limits_;
  const std::atomic<std::uint64_t>& retries_;
  Context& ctx_;
  const bool is_named_;
  const std::string manifest_problem_;  ///< not empty: nobody knows whether the source has a manifest
  staging::StageSet set_;
  staging::StageTarget target_;
  CacheReservation share_;
  std::string subset_;  ///< empty: the whole set
  std::vector<staging::StageFile> wanted_;
};

/// A target that was staged is checked or continued by the same command when its source is back. A source that was
/// staged from the target is a copy of it.
void refuse_swapped(const StageOptions& options) {
  if (options.sources.size() != 1) return;
  const std::string& source = options.sources.front();
  StageOptions other = options;
  std::swap(other.sources.front(), other.target);
  const std::string swapped = command_text("shardctl stage", other);
  if (!std::filesystem::exists(io::join_path(options.target, staging::kStageJournalPath)))
    catalog::refuse_swapped(source, options.target, catalog::Content::shards, swapped);
  const auto marker = catalog::is_address(source) ? std::nullopt : staging::find_staged_marker(source);
  std::error_code error;
  if (!marker || !std::filesystem::equivalent(marker->source, options.target, error)) return;
  catalog::throw_swapped(source, fmt::format("'{}' was staged from '{}'", source, options.target), swapped);
}

}  // namespace

StageResult stage(const StageOptions& options, Context& ctx) {
  check(options);
  refuse_swapped(options);
  check(options.share, options.target);
  staging::require_local_folder(options.target, ctx, options.share.limit || !options.share.cache.empty());
  wait_jitter(options.jitter, ctx);
  std::atomic<std::uint64_t> retries = 0;
  std::atomic<bool> throttled = false;
  net::StoreOptions stores = options.access.store_options(ctx);
  stores.http.slow.share = kSlowShare;
  stores.http.receive_buffer = receive_buffer(options);
  stores.retry.on_retry = [&, report = stores.retry.on_retry](const net::RetryEvent& event) {
    report(event);
    ++retries;
    if (event.throttled) throttled = true;
  };
  ctx.progress().start("look up the source");
  const catalog::ObjectSet set = catalog::open_objects(options.sources, stores, ctx.stop_token());
  const bool remote = set.source->location().find("://") != std::string::npos;
  staging::CopyLimits limits = copy_limits(options, remote);
  limits.throttled = [&] { return throttled.exchange(false); };
  const auto files = io::posix_file_system();
  try {
    StageSource from{*set.source, open_peers(options.peers, stores, ctx.stop_token()), retries};
    return Stage(*files, std::move(from), wanted_of(set, options, ctx), options, std::move(limits), ctx).run();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt || options.manifest.empty() || options.manifest == "none") throw;
    throw Error(ErrorCode::corrupt, At{error.path()}, "{}; or --manifest belongs to another set", error.what());
  }
}

StageResult stage_on(io::FileSystem& files, io::ObjectSource& source, const staging::StageRequest& wanted,
                     const StageOptions& options, Context& ctx, const staging::CopyLimits& limits) {
  const std::atomic<std::uint64_t> retries = 0;
  return Stage(files, {source, {}, retries}, wanted, options, limits, ctx).run();
}

}  // namespace shardkit::dataset
