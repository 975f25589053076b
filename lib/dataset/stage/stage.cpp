#include "dataset/stage/stage.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <ranges>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/object_set.hpp"
#include "catalog/set_listing.hpp"
#include "catalog/set_rules.hpp"
#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "dataset/checks/apart.hpp"
#include "formats/brace_pattern.hpp"
#include "net/retry.hpp"
#include "net/store_opener.hpp"
#include "staging/lost_journal.hpp"
#include "staging/peers.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_target.hpp"
#include "staging/staged_folder.hpp"
#include "system/clock.hpp"
#include "system/limits.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::size_t kMostOmissionsNamed = 20;
constexpr double kSlowShare = 0.25;  // of the usual rate of a connection

void wait_jitter(double longest, Context& context) {
  if (longest <= 0) return;
  std::random_device device;
  const double seconds = std::uniform_real_distribution(0.0, longest)(device);
  context.progress().start_for("wait for --jitter", seconds);
  system::system_clock().sleep(system::Seconds(seconds), context.stop_token());
}

/// From where a stage takes its files.
struct StageSource {
  io::ObjectSource& source;
  std::vector<std::unique_ptr<io::ObjectSource>> peers;
  const std::atomic<std::uint64_t>& retries;  ///< of requests, so far
};

/// Most characters of operands that a journal keeps.
constexpr std::size_t kMostOperands = 16U << 10U;

/// An operand that means the same in any working folder.
std::string from_anywhere(const std::string& operand) {
  if (operand.empty() || catalog::is_address(operand)) return operand;
  return std::filesystem::absolute(operand).lexically_normal();
}

/// Empty if a command cannot have them.
std::string operands_of(const StageOptions& options) {
  StageOptions named;
  for (const std::string& source : options.sources) {
    if (source == "-" || without_secrets(source) != source) return {};
    named.sources.push_back(from_anywhere(source));
  }
  const std::string text = command_text("", named);
  return text.empty() || text.size() > kMostOperands ? std::string() : text.substr(1);
}

/// What decides which files a stage copies, and from where.
staging::StagedCommand command_of(const StageOptions& options, bool is_whole) {
  StageOptions chosen;
  chosen.manifest = options.manifest == "none" ? options.manifest : from_anywhere(options.manifest);
  chosen.include = options.include;
  chosen.exclude = options.exclude;
  chosen.rank = options.rank;
  chosen.world = options.world;
  chosen.split = options.split;
  chosen.access = options.access;
  return {operands_of(options), command_text("", chosen), is_whole};
}

/// One call of stage, from a source that is open.
class Stage {
 public:
  Stage(io::FileSystem& files, StageSource from, const staging::StageRequest& wanted, const StageOptions& options,
        staging::CopyLimits limits, Context& context)
      : files_(files),
        source_(from.source),
        peers_(std::move(from.peers), context),
        all_of_one_source_(!wanted.names && options.sources.size() <= 1),
        options_(options),
        limits_(std::move(limits)),
        retries_(from.retries),
        context_(context),
        is_named_(wanted.names.has_value()),
        manifest_problem_(wanted.manifest_problem),
        set_(source_, wanted, context),
        target_(files, options.target),
        share_(files, target_, options.share, context) {}

  StageResult run() {
    warn_of_left_out();
    keep_ranks();
    const staging::StagedSetId id{set_.hash(), 0, source_.location()};
    const auto holds_all = [&] { return target_.holds(id, set_.expected()); };
    const bool is_in_place = holds_all();
    if (is_in_place && options_.share.limit) share_.check_limit(result_in_place().bytes);
    if (is_in_place && set_.missing().empty() && (options_.dry_run || share_.keep(holds_all))) {
      StageResult result = result_in_place();
      if (result.verified == staging::Verified::size) warn_of_missing_manifest();
      return result;
    }
    set_.require_shards(source_, context_);
    wanted_ = set_.files(source_, context_.stop_token());
    if (verified() == staging::Verified::size) warn_of_missing_manifest();
    warn_of_missing_indexes();
    refuse_own_files();
    refuse_target();
    share_.check_limit(final_bytes(id));
    if (options_.dry_run) {
      check_target(id);
      return dry_run_result();
    }
    share_.await_space([&] { join(id); });
    context_.progress().start("copy", wanted_.size(), bytes());
    try {
      return copy();
    } catch (const Error& error) {
      // No repetition can copy it, or only when there is space again.
      if (is_bad_file(error.code()) || error.code() == ErrorCode::no_space) share_.drop_lease();
      if (error.code() != ErrorCode::no_space) throw;
      throw Error(ErrorCode::no_space, At{error.path()},
                  "{}; {} of the set are still missing: free space, then run the same command again", error.what(),
                  format_size(missing_bytes()));
    }
  }

 private:
  staging::StageJournal::State journal() const {
    return staging::StageJournal::read(target_.path_of(staging::kStageJournalPath));
  }

  /// Bytes of the target with all wanted files, the manifests, and the files of the set that it already has.
  std::uint64_t final_bytes(const staging::StagedSetId& id) const {
    std::uint64_t sum = set_.manifest_bytes();
    std::set<std::string> counted;
    for (const staging::ManifestSet& manifest : set_.sets()) counted.insert(manifest.name());
    for (const staging::StageFile& file : wanted_) {
      if (counted.insert(file.object.name).second) sum += file.object.size;
    }
    const staging::StageJournal::State journal = this->journal();
    if (!journal.set || !journal.set->is(id)) return sum;
    for (const auto& [name, file] : journal.files) {
      if (!counted.contains(name)) sum += file.bytes;
    }
    return sum;
  }

  /// Bytes that a stage has to fetch.
  std::uint64_t missing_bytes() const {
    const staging::StageJournal::State journal = this->journal();
    std::uint64_t missing = 0;
    for (const staging::StageFile& file : wanted_) missing += file.object.size - target_.bytes_arrived(file, journal);
    return missing;
  }

  /// Files that a stage makes, with its own: journal, locks, lease, marker, logs of parts. What these leave is enough
  /// for the folder of the next set, which evicts others only after it has one.
  std::uint64_t new_files() const {
    constexpr std::uint64_t kOwnFiles = 32;
    const auto missing = std::ranges::count_if(wanted_, [&](const staging::StageFile& file) {
      return !staging::size_on_disk(target_.path_of(file.object.name)) &&
             !staging::size_on_disk(target_.partial_path(file.object.name));
    });
    return missing > 0 ? static_cast<std::uint64_t>(missing) + kOwnFiles : 0;
  }

  /// Free space on the target's disk. Throws Error{no_space} if the bytes for which the target has no space, or the new
  /// `files`, exceed it.
  std::uint64_t check_free_space(std::uint64_t files) const {
    const staging::StageJournal::State journal = this->journal();
    std::uint64_t need = 0;  // space that is reserved for partial files is not needed a second time
    for (const staging::StageFile& file : wanted_) need += file.object.size - target_.bytes_on_disk(file, journal);
    const auto [free, free_files] = system::free_space(target_.folder());
    if (files > free_files) {
      throw Error(
          ErrorCode::no_space, At{target_.folder()},
          "{} more are needed, but the file system of '{}' has inodes for {}; remove files there, choose a disk "
          "with more inodes, or evict old sets with --cache",
          format_count(files, "file"), target_.folder(), format_count(free_files, "file"));
    }
    if (need <= free) return free;
    throw Error(ErrorCode::no_space, At{target_.folder()},
                "{} more are needed, but the file system of '{}' has only {} free; free space there, choose "
                "a larger disk, or evict old sets with --cache",
                format_size(need), target_.folder(), format_size(free));
  }

  /// For what is there without a marker. What a stage has finished there has rules of its own: check_target().
  void refuse_target() {
    if (!target_.marker()) enforce(catalog::SetVerb::stage_into, catalog::look_at(files_, target_.folder()), context_);
    target_.refuse_strangers(set_.sets(), wanted_, context_.stop_token());
  }

  /// Throws what join() would, and changes nothing.
  void check_target(const staging::StagedSetId& id) const {
    share_.check_space(final_bytes(id), new_files());
    if (const auto other = target_.replaced_by(id, wanted_, staging::journal_of(target_.folder())))
      share_.check_replace(*other, id, is_update(other->marker));
  }

  /// Joins the target, with its space reserved. Throws Error{no_space}.
  void join(const staging::StagedSetId& id) {
    check_target(id);
    context_.progress().start("wait for another stage into the same folder");
    const auto replace = [&](const staging::StageTarget::OtherSet& other) {
      share_.replace(other, id, is_update(other.marker));
    };
    target_.join(id, wanted_, replace, context_.stop_token());
    if (!options_.sources.empty()) target_.journal().add(command_of(options_, is_whole()));
    target_.refuse_meeting_names(wanted_);  // before others are evicted for it
    const std::uint64_t files = new_files();
    share_.take_space(final_bytes(id), files);
    check_free_space(files);
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
    if (set_.has_manifest() || set_.has_foreign() || options_.manifest == "none") return;
    if (!manifest_problem_.empty()) {
      return context_.warn(
          "manifest_unknown",
          "the source does not report whether it has a manifest, so only size and version are checked: {}",
          manifest_problem_);
    }
    context_.warn("no_manifest",
                  "'{}' has no shardkit manifest, so stage cannot tell whether the bytes are correct: files "
                  "are pinned only by size and version; 'shardctl index' creates one for shards",
                  source_.location());
  }

  /// Copies made without dot files lack them. The manifest has the right bytes of the shards.
  void warn_of_missing_indexes() {
    if (!set_.has_manifest()) return;
    const std::size_t missing = set_.expected().size() - set_.sets().size() - wanted_.size();
    if (missing == 0) return;
    context_.warn(
        "indexes_missing",
        "'{}' lacks or denies {} of its manifest: the set is staged without. Shards are still compared with the "
        "manifest",
        source_.location(), format_count(missing, "file"));
  }

  /// Files that --include and --exclude leave out are named, so that none is missed later.
  void warn_of_left_out() {
    for (const std::string& pattern : set_.unused_patterns()) {
      context_.warn("pattern_unused", "no file of '{}' matches '{}'; patterns match whole names, such as 'train/*'",
                    source_.location(), pattern);
    }
    const std::vector<std::string>& left_out = set_.left_out();
    if (left_out.empty()) return;
    context_.warn("files_left_out", "{} of '{}' not staged: {}{}", format_count(left_out.size(), "file"),
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
      context_.warn("nothing_to_divide", "--rank has no effect: '{}' has no shards (*.tar)", source_.location());
    for (const staging::ShardGroup& group : groups) {
      const std::string where = group.folder.empty() ? source_.location() : source_.address_of(group.folder);
      RankShards part = shards_of_ranks(group.shards.size(), group.samples, *ranks, split, where);
      for (const std::size_t number : part.shards) kept.push_back(group.shards[number]);
      for (Finding& warning : part.warnings) {
        if (warned.insert(warning.text).second) context_.warn(std::move(warning.code), std::move(warning.text));
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
    staging::StageCopier copier(files_, source_, peers_, target_, limits_, context_);
    staging::CopyResult copied;
    try {
      copied = copier.copy_all(wanted_);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) warn_of_repeated_work();
      throw;
    }
    peers_.warn_of_useless();
    target_.warn_of_strangers(context_);
    set_.update(copied.changed);
    for (const io::ObjectInfo& now : copied.changed)
      std::ranges::find_if(wanted_, [&](const auto& file) { return file.object.name == now.name; })->object = now;
    const staging::StagedMarker marker = this->marker();
    std::map<std::string, Error>& failures = copied.failures;
    settle(failures);
    if (failures.empty()) {
      target_.finish(set_.sets(), marker, wanted_, set_.whole());
    } else {
      target_.sync_names(wanted_);
    }
    // Nobody waits for a set that no repetition can complete.
    const bool is_hopeless =
        std::ranges::any_of(failures, [](const auto& item) { return is_bad_file(item.second.code()); });
    is_hopeless ? share_.drop_lease() : share_.take_lease();
    StageResult result = this->result();
    result.files += set_.missing().size();
    result.take(failures);
    if (!result.failure) result.verified_at = marker.verified_at;
    result.bytes_fetched = copied.bytes_fetched + set_.manifest_bytes();
    result.bytes_from_peers = peers_.bytes();
    result.bytes_reused = copied.bytes_reused;
    if (copied.files_reused > 0) result.resumed = fmt::format("{} of {} files kept", copied.files_reused, result.files);
    result.files_by_others = copied.files_by_others;
    result.retries = retries_ + copied.refetched;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result.bytes_per_second = static_cast<double>(result.bytes_fetched) / elapsed.count();
    return result;
  }

  /// Adds the files that the source lacks. Without an index that is damaged there, or of other bytes, the set is
  /// complete: readers read the tar instead.
  void settle(std::map<std::string, Error>& failures) {
    failures.insert(set_.missing().begin(), set_.missing().end());
    std::erase_if(wanted_, [&](const staging::StageFile& file) {
      const auto failed = failures.find(file.object.name);
      if (!file.indexed || failed == failures.end() || failed->second.code() != ErrorCode::corrupt) return false;
      context_.warn("index_ignored", "the set is staged without an index: {}", failed->second.what());
      failures.erase(failed);
      return true;
    });
  }

  /// The files that copy() would copy.
  StageResult dry_run_result() {
    system::require_writable(target_.folder());
    const staging::StageJournal::State journal = this->journal();
    std::vector<const staging::StageFile*> missing;
    for (const staging::StageFile& file : wanted_) {
      if (file.object.size == 0 || target_.bytes_arrived(file, journal) < file.object.size) missing.push_back(&file);
    }
    StageResult result = this->result();
    result.verified = staging::Verified::nothing;
    result.dry_run = DryRun{missing.size() + set_.sets().size(), 0, missing_bytes() + set_.manifest_bytes(),
                            check_free_space(new_files())};
    for (const staging::StageFile* file : missing)
      result.dry_run->shards += file->object.name.ends_with(".tar") ? 1 : 0;
    result.bytes_reused = result.bytes - std::min(result.bytes, result.dry_run->bytes);
    return result;
  }

  /// After a stop, which counts more than a disk that cannot be asked.
  void warn_of_repeated_work() const {
    try {
      const std::uint64_t left = missing_bytes();
      const std::uint64_t counted =
          context_.progress().bytes + left;  // bytes that were received and discarded are in both
      context_.warn("read_again", "the next run reads {}, {} of that again", format_size(left),
                    format_size(counted - std::min(counted, bytes())));
    } catch (const Error&) {
    }
  }

  bool is_whole() const {
    return subset_.empty() && !is_named_ && options_.include.empty() && options_.exclude.empty();
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

  static bool has_checksum(const staging::StageFile& file) { return file.hash || file.indexed || file.object.checksum; }

  staging::Verified verified() const {
    if (set_.are_shards_listed()) return staging::Verified::checksum;
    return std::ranges::all_of(wanted_, has_checksum) ? staging::Verified::store_checksum : staging::Verified::size;
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
      result.verified_at = marker->verified_at;
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
  io::ObjectSource& source_;
  staging::Peers peers_;
  const bool all_of_one_source_;
  const StageOptions& options_;
  const staging::CopyLimits limits_;
  const std::atomic<std::uint64_t>& retries_;
  Context& context_;
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

/// Memory that each connection takes: libcurl's buffers, TLS, a block, the touched part of a stack.
constexpr std::uint64_t kConnectionBytes = 2ULL << 20U;
constexpr std::uint64_t kMostMemory = 256ULL << 20U;
constexpr unsigned kMostFolderReads = 32;
constexpr std::size_t kMostFailedListed = 1000;
constexpr std::size_t kMostFailedNamed = 20;
constexpr std::uint64_t kAheadShare = 4;             // connections together receive a quarter of a second ahead
constexpr std::uint64_t kLeastAhead = 32ULL << 10U;  // for each: with less, its rate suffers
constexpr std::uint64_t kLeastBuffer = 4ULL << 10U;
constexpr std::uint64_t kMostBuffer = 1ULL << 20U;

/// Requests that memory and descriptors allow: each has a connection or a source file, and a partial file.
unsigned most_requests(const StageOptions& options, bool remote) {
  const std::uint64_t memory = std::min(kMostMemory, system::usable_memory() / 4);
  const std::uint64_t by_memory = std::max<std::uint64_t>(1, memory / kConnectionBytes);
  const std::uint64_t asked = options.concurrency.value_or(remote ? staging::CopyLimits{}.maximum : kMostFolderReads);
  return static_cast<unsigned>(std::min({asked, by_memory, std::uint64_t{system::most_reads_in_flight(2)}}));
}

/// How many requests, how large and how fast, to a source that is `remote` or a folder.
staging::CopyLimits copy_limits(const StageOptions& options, bool remote) {
  staging::CopyLimits limits;
  limits.maximum = most_requests(options, remote);
  const unsigned first = remote ? limits.start : std::max(4U, system::usable_threads());
  limits.start = std::min(first, limits.maximum);
  if (options.bandwidth) {
    const std::uint64_t connections = *options.bandwidth / kAheadShare / kLeastAhead;
    limits.maximum = static_cast<unsigned>(std::clamp<std::uint64_t>(connections, 1, limits.maximum));
    limits.start = std::min(limits.start, limits.maximum);
    const auto rate = std::make_shared<net::RateLimit>(*options.bandwidth);
    limits.pace = [rate](std::uint64_t bytes, const std::stop_token& stop) { rate->take(bytes, stop); };
  }
  return limits;
}

/// The copies of --peer, by name or pattern. A peer is in the same cluster, and there is another source: it is given
/// little time.
std::vector<std::unique_ptr<io::ObjectSource>> open_peers(const std::vector<std::string>& patterns,
                                                          net::StoreOptions options, const std::stop_token& stop) {
  options.http.connect_timeout = system::Seconds(3);
  options.http.stall = {256 << 10, system::Seconds(5)};
  options.retry.attempts = 1;
  net::StoreOpener opener(std::move(options));
  std::vector<std::unique_ptr<io::ObjectSource>> peers;
  for (const std::string& pattern : patterns) {
    for (const std::string& address : formats::expand_braces(pattern)) peers.push_back(opener.open(address, stop));
  }
  return peers;
}

/// What to stage from an opened source. Reads the manifest of --manifest.
staging::StageRequest wanted_of(const catalog::ObjectSet& set, const StageOptions& options, Context& context) {
  if (options.manifest == "none" && !set.manifest.empty() && !set.listed && is_http_url(set.source->location())) {
    throw Error(ErrorCode::usage, At{set.source->location()},
                "--manifest none needs a listing, which HTTP does not have; leave it out to stage what "
                "'{}' lists, or give the files as a pattern or a list",
                set.source->address_of(set.manifest));
  }
  staging::StageRequest wanted;
  if (set.listed) wanted.names = set.names;
  wanted.include = options.include;
  wanted.exclude = options.exclude;
  wanted.use_manifests = options.manifest != "none";
  wanted.manifest_problem = set.manifest_problem;
  if (!wanted.use_manifests) return wanted;
  if (!options.manifest.empty()) {
    catalog::Inputs inputs(options.access, context);
    wanted.manifest_path = inputs.add_named(options.manifest);
    wanted.manifest_text = inputs.text(wanted.manifest_path);
    return wanted;
  }
  wanted.manifest_name = set.manifest;
  return wanted;
}

/// A manifest that the user chose may be the fault.
Error with_doubt_of_manifest(const Error& error, const StageOptions& options) {
  if (error.code() != ErrorCode::corrupt || options.manifest.empty() || options.manifest == "none") return error;
  return Error(ErrorCode::corrupt, At{error.path(), error.offset()}, "{}; or --manifest belongs to another set",
               error.what());
}

/// Bytes that a connection may receive ahead so that --bwlimit holds on the wire; 0 without it.
std::uint64_t receive_buffer(const StageOptions& options) {
  if (!options.bandwidth) return 0;
  const std::uint64_t connections = copy_limits(options, true).maximum;
  return std::clamp(*options.bandwidth / kAheadShare / connections, kLeastBuffer, kMostBuffer);
}

}  // namespace

StageResult stage(const StageOptions& options, Context& context) {
  check(options);
  refuse_swapped(options);
  check(options.share, options.target);
  staging::require_local_folder(options.target, context, options.share.limit || !options.share.cache.empty());
  wait_jitter(options.jitter, context);
  std::atomic<std::uint64_t> retries = 0;
  std::atomic<bool> throttled = false;
  net::StoreOptions stores = options.access.store_options(context);
  stores.http.slow.share = kSlowShare;
  stores.http.receive_buffer = receive_buffer(options);
  stores.retry.on_retry = [&, report = stores.retry.on_retry](const net::RetryEvent& event) {
    report(event);
    ++retries;
    if (event.throttled) throttled = true;
  };
  context.progress().start("look up the source");
  const catalog::ObjectSet set = catalog::open_objects(options.sources, stores, context.stop_token());
  const bool remote = catalog::is_address(set.source->location());
  staging::CopyLimits limits = copy_limits(options, remote);
  limits.throttled = [&] { return throttled.exchange(false); };
  const auto files = io::posix_file_system();
  try {
    StageSource from{*set.source, open_peers(options.peers, stores, context.stop_token()), retries};
    Stage stage(*files, std::move(from), wanted_of(set, options, context), options, std::move(limits), context);
    StageResult result = stage.run();
    if (result.failure) result.failure = with_doubt_of_manifest(*result.failure, options);
    return result;
  } catch (const Error& error) {
    throw with_doubt_of_manifest(error, options);
  }
}

StageResult stage_on(io::FileSystem& files, io::ObjectSource& source, const staging::StageRequest& wanted,
                     const StageOptions& options, Context& context, const staging::CopyLimits& limits) {
  const std::atomic<std::uint64_t> retries = 0;
  return Stage(files, {source, {}, retries}, wanted, options, limits, context).run();
}

void check(const StageOptions& options) {
  if (options.target.empty()) throw Error(ErrorCode::usage, "DST is empty; give a folder on a local disk");
  check_ranges(options);
  parse_ranks(options.rank, options.world);
  if (options.split && !options.rank) throw Error(ErrorCode::usage, "--split needs --rank");
  if (options.bandwidth == 0) throw Error(ErrorCode::usage, "--bwlimit 0 allows no bytes; leave it out for no limit");
  for (const std::string& peer : options.peers) {
    if (!is_http_url(peer))
      throw usage_error("--peer {} is not an address; give http(s)://node:port/folder", without_secrets(peer));
  }
  require_apart(options.target, options.sources, "source");
}

namespace {

void describe_choice(FieldList& v, StageOptions& options) {
  v.field({"include",
           "copy only shards and other files whose name, relative to SRC, matches this shell pattern; indexes and "
           "manifests follow their shards; may be repeated",
           "GLOB", Misnomers{"only-manifest"}},
          options.include);
  v.field({"exclude",
           "leave out shards and other files whose name, relative to SRC, matches this shell pattern; indexes and "
           "manifests follow their shards; may be repeated",
           "GLOB"},
          options.exclude);
  v.field({"rank", "copy only the shards that these ranks of the job read: all ranks of this node", "R|R-S"},
          options.rank);
  v.field({"world", Unit::count, "ranks of the whole job, for --rank", at_least(1)}, options.world);
  v.field(
      {"split",
       "loader that divides shards among ranks, for --rank: webdataset (default), dali or hf (Hugging Face datasets)"},
      options.split);
}

void describe_speed(FieldList& v, StageOptions& options) {
  v.topic("Speed");
  v.field({"concurrency", Unit::count,
           "maximum number of requests in flight, 2 MiB of memory each; default: as many as move the most bytes, up "
           "to 128 (32 from folders) and a quarter of the available memory",
           'j', between(1, 1024)},
          options.concurrency);
  v.field({"bwlimit", Unit::bytes, "limit of bytes per second, all connections together; default: none"},
          options.bandwidth);
  v.field({"jitter", Unit::seconds,
           "wait a random time up to this before the start, so that a thousand nodes do not start at once"},
          options.jitter);
}

}  // namespace

void StageOptions::describe(FieldList& v) {
  v.field({"SRC",
           "shards or other files to stage: a folder, s3://bucket/prefix, http(s)://host/folder, a file or its URL, a "
           "brace pattern, a list of files (*.txt), a wids index (*.json), a manifest.json; one or more of these",
           Role::positional},
          sources);
  v.field({"DST", "target folder on a local disk", Role::positional, kOutputFolder}, target);
  v.field({"peer",
           "take bytes from this copy of SRC first, such as a node cache behind a web server; they are compared with "
           "the manifest of SRC, which delivers what is missing or wrong. A pattern, or repeated, for several",
           "URL", kMayDiffer},
          peers);
  v.topic("What is copied");
  v.field({"manifest",
           "compare the bytes with this manifest instead of the source's own; none: take all files of SRC and pin them "
           "only by size and version",
           Role::input_file, "FILE|none"},
          manifest);
  describe_choice(v, *this);
  share.describe(v);
  describe_speed(v, *this);
  v.topic("What is copied");
  v.field(kDryRunOption, dry_run);
  access.describe(v);
}

void FailedFile::describe(FieldList& v) {
  v.field({"path", "path of the file relative to the source"}, path);
  v.field({"code", "code of its error: corrupt, not_found, denied, network or io"}, code);
  v.field({"reason", "its error"}, reason);
}

/// The error is that of a file for which a repetition does not help, if there is one.
void StageResult::take(const std::map<std::string, Error>& failures) {
  if (failures.empty()) return;
  failed = failures.size();
  for (const auto& [name, error] : failures | std::views::take(kMostFailedListed)) {
    failed_files.push_back({name, std::string(error_code_name(error.code())), error.what()});
  }
  const auto permanent =
      std::ranges::find_if(failures, [](const auto& item) { return is_bad_file(item.second.code()); });
  const Error& worst = permanent == failures.end() ? failures.begin()->second : permanent->second;
  std::string others;
  for (const auto& [name, error] : failures | std::views::take(kMostFailedNamed)) {
    if (&error != &worst) others += fmt::format("{} '{}'", others.empty() ? "; also failed:" : ",", name);
  }
  const char* outcome = failed < files ? "the others are staged, without a marker" : "none is staged";
  failure = Error(worst.code(), At{worst.path(), worst.offset()}, "{} of {} failed, {}: {}{}{}", failed,
                  format_count(std::max(files, failed), "file"), outcome, worst.what(), others,
                  failed > kMostFailedNamed ? ", ..." : "");
}

void StageResult::describe(FieldList& v) {
  v.field({"resumed", "what already existed and was kept, such as 4 of 9 files kept; null if nothing"}, resumed);
  v.field({"files_by_others", Unit::count, "files that other stages copied into DST meanwhile"}, files_by_others);
  v.field({"files", Unit::count, "files of the set, or of those that the ranks read: shards, indexes and manifest"},
          files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"bytes_fetched", Unit::bytes, "bytes read from the source and from peers"}, bytes_fetched);
  v.field({"bytes_from_peers", Unit::bytes, "bytes of them that came from peers"}, bytes_from_peers);
  v.field(
      {"bytes_reused", Unit::bytes, "bytes that already existed in the target, or that another stage copied meanwhile"},
      bytes_reused);
  v.field({"bytes_per_second", Unit::bytes_per_second,
           "bytes fetched divided by the time of copying them, until they are durable"},
          bytes_per_second);
  v.field({"retries", Unit::count,
           "requests that were repeated, and files fetched twice because their bytes were wrong or changed"},
          retries);
  v.field({"verified",
           "what the shards were compared with: checksum (of a manifest that lists all of them), store_checksum (of "
           "the store, for each file) or size; empty with --dry-run"},
          verified);
  v.field({"verified_at", "when the last of them were compared, RFC 3339"}, verified_at);
  v.field({"files_by_size", Unit::count, "files that no checksum of the source describes: they have the right size"},
          files_by_size);
  v.field({"evicted", "sets that were evicted for this one, also the previous one in DST: folder, bytes, source"},
          evicted);
  v.field({"left_out", Unit::count,
           "shards and other files below the source that the options leave out; indexes follow their shards"},
          left_out);
  v.field({"failed", Unit::count, "files that failed; the others are staged, without a marker"}, failed);
  v.field({"failed_files", "the first 1000 of them"}, failed_files);
  v.field(
      {"manifest_xxh3_128",
       "XXH3-128 of the manifest, as in the marker; without a manifest, that of the list of names, sizes and versions"},
      manifest_xxh3_128);
  v.field({"lease_id", "id of the lease that protects the copy, for cache release and hold; null without one"},
          lease_id);
  v.field({"lease_expires_at", "expiry of this lease, RFC 3339"}, lease_expires_at);
  v.field(kDryRunResult, dry_run);
}

}  // namespace shardkit::dataset
