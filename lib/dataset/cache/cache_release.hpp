#pragma once

#include <cstdint>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

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

}  // namespace shardkit::dataset
