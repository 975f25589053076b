#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/checks/problem.hpp"
#include "staging/stage_journal.hpp"
#include "staging/staged_folder.hpp"

/// The verbs of `shardctl cache`, over a node cache or one staged folder.
namespace shardkit::dataset {

/// The operand of the verbs that write to it.
inline constexpr Field kCacheFolder{"DIR", "a node cache, or one staged folder", Role::positional, kSharedOutput};

enum class CacheCheckDepth {
  structure,  ///< names and sizes
  checksum    ///< also every byte
};
constexpr auto enum_names(CacheCheckDepth) { return std::to_array<std::string_view>({"structure", "checksum"}); }

struct CacheCheckOptions {
  std::string folder;
  CacheCheckDepth depth = CacheCheckDepth::checksum;
  bool repair = false;
  std::optional<std::uint64_t> threads;

  void describe(FieldList& v);
};

struct CacheCheckResult {
  static constexpr std::size_t kMostProblems = 10'000;

  CacheCheckDepth depth = CacheCheckDepth::checksum;
  std::uint64_t folders = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  double bytes_per_second = 0;
  std::uint64_t problems_total = 0;
  std::uint64_t errors = 0;
  std::uint64_t warnings = 0;
  std::vector<Problem> problems;
  std::uint64_t discarded = 0;
  std::vector<std::string> remedies;

  void describe(FieldList& v);
  bool has_findings() const { return errors > 0; }
};

/// Checks that staged files are still complete and unchanged: `shardctl cache check`. Looks for every file that a
/// journal names and, with depth checksum, compares its content with the XXH3-128 it had when it was staged. Folders
/// that are being staged are skipped with a warning. A marker that names more than its journal is an error. With
/// `repair`, marks damaged files and removes the markers of incomplete folders, so that the next stage copies these
/// files again; damaged files are also removed, unless the folder is leased: then they stay until they are replaced.
/// Problems are in the result; throws the errors of cache_folders().
CacheCheckResult cache_check(const CacheCheckOptions& options, Context& ctx);

struct CacheGcOptions {
  std::string folder;
  std::optional<std::uint64_t> limit;
  bool dry_run = false;

  void describe(FieldList& v);
};

struct CacheGcFolder {
  std::string path;
  std::string source;
  std::uint64_t bytes = 0;
  std::string last_used;

  void describe(FieldList& v);
};

struct CacheGcResult {
  bool dry_run = false;
  std::vector<CacheGcFolder> evicted;
  std::uint64_t evicted_bytes = 0;
  std::uint64_t leftover_files = 0;
  std::uint64_t leftover_bytes = 0;
  std::uint64_t folders_left = 0;
  std::uint64_t bytes_left = 0;

  void describe(FieldList& v);
};

/// Removes unusable files from a node cache, then evicts staged folders, least recently used first, until the limit is
/// met: `shardctl cache gc`. Never evicts a folder that is leased, being staged or of unknown source. Throws
/// Error{no_space} if the limit cannot be met after all possible evictions, and the errors of cache_folders().
CacheGcResult cache_gc(const CacheGcOptions& options, Context& ctx);

struct CacheLsOptions {
  std::string folder;
  bool long_ = false;

  void describe(FieldList& v);
};

struct CacheLsLease {
  std::string owner;
  std::string taken_at;
  std::string expires_at;
  bool live = true;
  bool held = false;
  std::string fault;

  void describe(FieldList& v);
};

struct CacheLsFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<double> resident_ratio;

  void describe(FieldList& v);
};

struct CacheLsFolder {
  std::string path;
  std::string source;
  staging::StagedState state = staging::StagedState::partial;
  std::string fault;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t partial_bytes = 0;
  std::uint64_t arrived_bytes = 0;
  std::string last_used;
  double age = 0;  ///< seconds since then
  std::uint64_t live_leases = 0;
  std::uint64_t hits = 0;
  std::optional<double> resident_ratio;
  std::vector<CacheLsLease> leases;
  std::vector<CacheLsFile> contents;

  void describe(FieldList& v);
};

struct CacheLsResult {
  std::vector<CacheLsFolder> folders;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t partial_bytes = 0;
  std::uint64_t leased_bytes = 0;
  std::uint64_t evictions = 0;
  std::optional<double> resident_ratio;

  void describe(FieldList& v);
};

/// Lists the content of a node cache or of one staged folder: `shardctl cache ls`. Changes nothing. Throws the errors
/// of cache_folders().
CacheLsResult cache_ls(const CacheLsOptions& options, Context& ctx);

struct CacheReleaseOptions {
  std::string folder;
  std::string lease_id;
  bool all = false;

  void describe(FieldList& v);
};

struct CacheReleaseResult {
  std::string owner;
  std::uint64_t folders = 0;
  std::uint64_t released = 0;
  std::uint64_t held = 0;

  void describe(FieldList& v);
};

/// Ends leases in a node cache or one staged folder: `shardctl cache release`. A folder without a lease is not an
/// error. Leases of a running cache_hold() stay, unless `all`; those of one that was killed do not. Leases that this
/// user may not remove are skipped; after all others have ended, they cause Error{denied}. Throws the errors of
/// cache_folders(), and Error{usage} for an id in addition to `all`.
CacheReleaseResult cache_release(const CacheReleaseOptions& options, Context& ctx);

struct CacheRenewOptions {
  std::string folder;
  double lease = 86'400;  ///< seconds
  std::string lease_id;

  void describe(FieldList& v);
};

struct CacheRenewResult {
  std::string owner;
  std::uint64_t renewed = 0;
  std::string expires_at;

  void describe(FieldList& v);
};

/// Renews the leases of a job in a node cache or one staged folder, without the source: `shardctl cache renew`. Also an
/// expired one, if its set was not evicted. Throws Error{not_found} if the job has none, and the errors of
/// cache_folders().
CacheRenewResult cache_renew(const CacheRenewOptions& options, Context& ctx);

struct CacheHoldOptions {
  std::string folder;
  double lease = 600;  ///< seconds
  std::string lease_id;

  void describe(FieldList& v);
};

struct CacheHoldResult {
  std::string lease_id;
  std::uint64_t renewals = 0;
  std::uint64_t held = 0;

  void describe(FieldList& v);
};

/// Leases a staged folder, which need not exist yet, until a stop, and then ends this lease: `shardctl cache hold`. The
/// last one of a job ends the lease that its stage took, too. A failed renewal is a warning and tried again. Throws
/// Error{usage} for a cache of several sets, and the errors of the first publication.
CacheHoldResult cache_hold(const CacheHoldOptions& options, Context& ctx);

struct CacheRmOptions {
  std::string folder;

  void describe(FieldList& v);
};

/// Removes the staged files of a folder, also those of a killed stage: `shardctl cache rm`. Throws Error{not_found} for
/// a folder without any, Error{in_use} for one that is leased or at work, Error{conflict} for one without a journal.
CacheGcFolder cache_rm(const CacheRmOptions& options, Context& ctx);

struct CacheWarmOptions {
  std::string folder;
  std::optional<std::uint64_t> memory;
  std::optional<std::uint64_t> threads;

  void describe(FieldList& v);
};

struct CacheWarmResult {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t budget_bytes = 0;
  std::uint64_t files_warmed = 0;
  std::uint64_t bytes_warmed = 0;
  std::uint64_t bytes_read = 0;
  double seconds = 0;
  double bytes_per_second = 0;
  std::optional<double> residency_before_ratio;
  std::optional<double> residency_after_ratio;

  void describe(FieldList& v);
};

/// Reads staged files into the page cache, those of the most recently used folder first, whole files only, until all
/// are cached or the next does not fit in the memory budget: `shardctl cache warm`. Changes nothing on the disk. Does
/// not read files that are already cached. Throws the errors of cache_folders().
CacheWarmResult cache_warm(const CacheWarmOptions& options, Context& ctx);

// Shared by these verbs.

/// A file that a journal names.
struct CacheFile {
  std::string folder;
  std::string name;  ///< relative to it
  staging::StagedFile staged;

  std::string path() const;
};

/// The staged folders of the cache at `folder`, or that folder itself. Throws Error{not_found} if the folder does not
/// exist, Error{unsupported} if it is on a network file system.
std::vector<staging::StagedFolder> cache_folders(const std::string& folder, Context& ctx);

/// The files of readable staged folders, in the folders' order, then by name. About 200 bytes of memory each.
std::vector<CacheFile> cache_files(const std::vector<staging::StagedFolder>& folders);

/// Bytes of some files that are in the page cache.
struct Residency {
  std::uint64_t bytes = 0;  ///< sizes of these files on the disk
  std::uint64_t cached = 0;
  bool known = true;  ///< false: the system does not tell this user

  /// Empty if unknown or if there are no bytes.
  std::optional<double> ratio() const;
  Residency& operator+=(const Residency& more);
};

/// Of one file: nothing for a missing file, unknown for a file that may not be read.
Residency residency_of(const CacheFile& file);
/// Of all; throws Error{cancelled}.
Residency residency_of(const std::vector<CacheFile>& files, Context& ctx);

}  // namespace shardkit::dataset
