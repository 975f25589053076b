#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/object_source.hpp"
#include "io/object_store.hpp"
#include "staging/stage_set.hpp"

namespace shardkit::dataset {

struct UploadOptions {
  std::vector<std::string> sources;
  std::string target;
  std::optional<std::uint64_t> part_bytes;
  std::optional<std::uint64_t> concurrency;
  std::string storage_class;
  std::string encryption;
  std::string encryption_key;
  std::string acl;
  bool clean = false;
  double older_than_seconds = 24 * 3600;
  catalog::StoreAccess access;

  void describe(FieldList& v);
};

struct UploadResult {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_reused = 0;
  std::uint64_t retries = 0;
  std::string verified_by;
  std::vector<std::string> aborted;
  std::uint64_t uploads_kept = 0;
  bool has_sent_files = false;  ///< perhaps only empty ones

  void describe(FieldList& v);
};

/// Throws Error{usage} for options that no upload can follow.
void check(const UploadOptions& options);

/// The headers that say how the store keeps new objects.
net::HttpHeaders headers_of(const UploadOptions& options);

/// Copies a set, or other files, to a bucket: `shardctl upload`. The store's answer proves size and checksum of each
/// object, and shards are compared with the hash in their manifest. The manifest is written last, when all that it
/// lists is there. After a kill, the same call continues inside the objects it was writing. Memory: the parts in flight
/// times their size. With `clean`, gives up what was left instead.
///
/// Throws Error{usage} for a target that is not in a bucket and for parts that S3 does not allow; Error{conflict} for
/// an object with other bytes under a name of the set, and for another set that the source does not extend
/// (formats::extends); Error{in_use} if a live command writes something else there; Error{corrupt} for a shard that
/// differs from its manifest, and for bytes that the store changed; Error{io} for a file that changes meanwhile;
/// Error{denied, not_found, network} of the store.
UploadResult upload(const UploadOptions& options, Context& context);

/// The same with given interfaces, for tests; `options.sources`, `target` and `access` are ignored.
UploadResult upload_to(io::ObjectStore& store, io::ObjectSource& source, const staging::StageRequest& wanted,
                       const UploadOptions& options, Context& context);

/// Gives up the uploads below the folder of `store` that have a record, unless a live command writes there, and others
/// that got no part for the time of `older_than_seconds`. Removes records whose uploads are gone, and nothing else.
/// Warns of what stays, and until when.
UploadResult clean_uploads(io::ObjectStore& store, const UploadOptions& options, Context& context);

}  // namespace shardkit::dataset
