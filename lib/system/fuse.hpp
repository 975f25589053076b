#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/mounts.hpp"
#include "system/probe.hpp"

namespace shardkit {

/// A file system that a program serves through FUSE.
struct FuseFacts {
  std::string client;  ///< "JuiceFS", "s3fs", ...; the type of the mount when we do not know it
  std::string kind;    ///< "object store", "remote shell", "cluster", "cache"; empty when we do not know it
  std::vector<std::string> cache_folders;    ///< JuiceFS's, where they can be read
  std::optional<std::uint64_t> cache_limit;  ///< bytes that it may hold
  std::optional<std::uint64_t> cached;       ///< bytes that it holds
  std::optional<double> cache_hit_ratio;     ///< bytes that came from it, of all that were read since the mount

  void describe(FieldVisitor& v) {
    v.field({"client", Unit::none, "program that serves it"}, client);
    v.field({"kind", Unit::none, "what lies behind it"}, kind);
    v.field({"cache_folders", Unit::none, "where JuiceFS keeps its cache on this node"}, cache_folders);
    v.field({"cache_limit", Unit::bytes, "what that cache may hold"}, cache_limit);
    v.field({"cached", Unit::bytes, "what it holds"}, cached);
    v.field({"cache_hit_ratio", Unit::ratio, "share of the bytes read since the mount that came from it"},
            cache_hit_ratio);
  }
};

/// JuiceFS's cache is known from its control files .config and .stats and from the command line of its process,
/// whichever this user may read.
FuseFacts read_fuse(const Mount& mount, const Probe& probe);

}  // namespace shardkit
