#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/checks/dry_run.hpp"
#include "dataset/stage/cache_reservation.hpp"
#include "dataset/stage/rank_shards.hpp"
#include "io/file_system.hpp"
#include "io/object_source.hpp"
#include "staging/stage_copier.hpp"
#include "staging/stage_set.hpp"

namespace shardkit::dataset {

struct StageOptions {
  std::vector<std::string> sources;
  std::string target;
  std::vector<std::string> peers;
  std::string manifest;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::optional<std::string> rank;
  std::optional<std::uint64_t> world;
  std::optional<RankSplit> split;
  CacheShareOptions share;
  std::optional<std::uint64_t> concurrency;
  std::optional<std::uint64_t> bandwidth;
  double jitter = 0;
  bool dry_run = false;
  catalog::StoreAccess access;

  void describe(FieldList& v);
};

/// Throws Error{usage} for options that no stage can follow.
void check(const StageOptions& options);

/// A file that failed; the others were staged without it.
struct FailedFile {
  std::string path;  ///< relative to the source
  std::string code;  ///< of its error
  std::string reason;

  void describe(FieldList& v);
};

struct StageResult {
  std::optional<std::string> resumed;
  std::uint64_t files_by_others = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_fetched = 0;
  std::uint64_t bytes_from_peers = 0;
  std::uint64_t bytes_reused = 0;
  double bytes_per_second = 0;
  std::uint64_t retries = 0;
  staging::Verified verified = staging::Verified::nothing;
  std::optional<std::string> verified_at;
  std::uint64_t files_by_size = 0;
  std::uint64_t left_out = 0;
  std::uint64_t failed = 0;
  std::vector<FailedFile> failed_files;
  std::vector<std::string> evicted;
  std::string manifest_xxh3_128;
  std::optional<std::string> lease_id;
  std::optional<std::string> lease_expires_at;
  std::optional<DryRun> dry_run;
  /// Why the set is incomplete although all other files are staged.
  std::optional<Error> failure = {};

  /// Takes the errors of files without which the set is incomplete, by their names.
  void take(const std::map<std::string, Error>& failures);
  void throw_if_failed() const {
    if (failure) throw Error(*failure);
  }
  void describe(FieldList& v);
};

/// Copies a set of files, or the part that some ranks read, to a local folder: `shardctl stage`. Compares every byte
/// with the manifest if there is one. After a kill, the same call continues inside the files it was copying. If the
/// copy is complete, it reads only the manifest, and copies only new indexes of other readers. Any number of calls may
/// copy the same set to one folder at once: each file is fetched by one of them.
///
/// Throws Error{not_found} for a missing source, manifest or file; Error{corrupt} for source bytes that differ from the
/// manifest, also when read again; Error{no_space} if the limit or the disk is too small, before anything is copied;
/// Error{conflict} for a target with other content; Error{unsupported} for a target on a network file system; Error{io}
/// for a source that changes meanwhile, Error{network, denied} of object stores. A failure of single files is in the
/// result instead.
StageResult stage(const StageOptions& options, Context& context);

/// The same with given interfaces, for tests; `options.sources`, `manifest` and `access` are ignored.
StageResult stage_on(io::FileSystem& files, io::ObjectSource& source, const staging::StageRequest& wanted,
                     const StageOptions& options, Context& context, const staging::CopyLimits& limits = {});

}  // namespace shardkit::dataset
