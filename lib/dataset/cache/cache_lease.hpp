#pragma once

#include <cstdint>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

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
CacheReleaseResult cache_release(const CacheReleaseOptions& options, Context& context);

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
CacheHoldResult cache_hold(const CacheHoldOptions& options, Context& context);

}  // namespace shardkit::dataset
