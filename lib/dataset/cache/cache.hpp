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

struct CacheCheckOptions {
  std::string folder;
  bool quick = false;
  bool repair = false;
  std::optional<std::uint64_t> threads;

  void describe(FieldVisitor& v);
};

struct CacheCheckResult {
  static constexpr std::size_t kMostProblems = 10'000;

  bool quick = false;
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

  void describe(FieldVisitor& v);
  bool has_findings() const { return errors > 0; }
};

/// Is what was staged still whole and right: `shardctl cache check`. Every file that a journal names is looked for and,
/// unless `quick`, read and held against the XXH3-128 that it had when it was staged. Folders that are being staged are
/// passed over with a warning. A marker that says more than its journal names is an error. With `repair` damaged files
/// of folders that nobody leases are removed, and the marker of each folder that lacks anything, so that nobody takes
/// it for whole and the next stage brings what is missing; leased folders are left alone, with a warning. Problems are
/// in the result; throws what cache_folders() throws.
CacheCheckResult cache_check(const CacheCheckOptions& options, Context& ctx);

struct CacheGcOptions {
  std::string folder;
  std::optional<std::uint64_t> limit;
  bool dry_run = false;

  void describe(FieldVisitor& v);
};

struct CacheGcFolder {
  std::string path;
  std::string source;
  std::uint64_t bytes = 0;
  std::string last_used;

  void describe(FieldVisitor& v);
};

struct CacheGcResult {
  bool dry_run = false;
  std::vector<CacheGcFolder> evicted;
  std::uint64_t evicted_bytes = 0;
  std::uint64_t leftover_files = 0;
  std::uint64_t leftover_bytes = 0;
  std::uint64_t folders_left = 0;
  std::uint64_t bytes_left = 0;

  void describe(FieldVisitor& v);
};

/// Removes what nobody will use from a node cache, then evicts staged folders, those used least recently first, down to
/// the limit: `shardctl cache gc`. Never one that is leased, at work or of no known source. Throws Error{no_space} when
/// the limit cannot be reached, after all was evicted that could be; and what cache_folders() throws.
CacheGcResult cache_gc(const CacheGcOptions& options, Context& ctx);

struct CacheLsOptions {
  std::string folder;
  bool files = false;

  void describe(FieldVisitor& v);
};

struct CacheLsLease {
  std::string owner;
  std::string purpose;
  std::string taken_at;
  std::string expires_at;
  bool live = true;
  std::string fault;

  void describe(FieldVisitor& v);
};

struct CacheLsFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<double> resident_ratio;

  void describe(FieldVisitor& v);
};

struct CacheLsFolder {
  std::string path;
  std::string source;
  staging::StagedState state = staging::StagedState::partial;
  std::string fault;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t partial_bytes = 0;
  std::string last_used;
  std::optional<double> resident_ratio;
  std::vector<CacheLsLease> leases;
  std::vector<CacheLsFile> contents;

  void describe(FieldVisitor& v);
};

struct CacheLsResult {
  std::vector<CacheLsFolder> folders;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t partial_bytes = 0;
  std::uint64_t leased_bytes = 0;
  std::optional<double> resident_ratio;

  void describe(FieldVisitor& v);
};

/// What a node cache, or one staged folder, holds: `shardctl cache ls`. Changes nothing. Throws what cache_folders()
/// throws.
CacheLsResult cache_ls(const CacheLsOptions& options, Context& ctx);

struct CacheReleaseOptions {
  std::string folder;
  std::string owner;
  bool all = false;

  void describe(FieldVisitor& v);
};

struct CacheReleaseResult {
  std::string owner;
  std::uint64_t folders = 0;
  std::uint64_t released = 0;

  void describe(FieldVisitor& v);
};

/// Ends leases in a node cache or one staged folder: `shardctl cache release`. That there is none is no error. Leases
/// that this user may not remove are passed over, and make it throw Error{denied} once all others have ended. Throws
/// what cache_folders() throws; Error{usage} for an owner beside `all`.
CacheReleaseResult cache_release(const CacheReleaseOptions& options, Context& ctx);

struct CacheWarmOptions {
  std::string folder;
  std::optional<std::uint64_t> memory;
  std::optional<std::uint64_t> threads;

  void describe(FieldVisitor& v);
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

  void describe(FieldVisitor& v);
};

/// Reads staged files into the page cache, those of the folder used last first, whole files only, until all are there
/// or the next does not fit in the budget of memory: `shardctl cache warm`. Changes nothing on the disk. A file that is
/// there already is not read. Throws what cache_folders() throws.
CacheWarmResult cache_warm(const CacheWarmOptions& options, Context& ctx);

// What these verbs share.

/// A file that a journal names.
struct CacheFile {
  std::string folder;
  std::string name;  ///< relative to it
  staging::StagedFile staged;

  std::string path() const;
};

/// The staged folders of the cache, or the one, at `folder`. Throws Error{not_found} when there is no such folder,
/// Error{unsupported} when it lies on a network file system.
std::vector<staging::StagedFolder> cache_folders(const std::string& folder, Context& ctx);

/// The files of staged folders, of unreadable ones none, in the folders' order, then by name. About 200 bytes of memory
/// each.
std::vector<CacheFile> cache_files(const std::vector<staging::StagedFolder>& folders);

/// Bytes in the page cache, of some files.
struct Residency {
  std::uint64_t bytes = 0;  ///< sizes of these files on the disk
  std::uint64_t cached = 0;
  bool known = true;  ///< false: the system does not tell this user

  /// Empty when not known or when there are no bytes.
  std::optional<double> ratio() const;
  Residency& operator+=(const Residency& more);
};

/// Of one file; of one that is not there nothing, of one that may not be read nothing is known.
Residency residency_of(const CacheFile& file);
/// Of all; throws Error{cancelled}.
Residency residency_of(const std::vector<CacheFile>& files, Context& ctx);

}  // namespace shardkit::dataset
