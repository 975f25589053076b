#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "system/mounts.hpp"
#include "system/probe.hpp"

namespace shardkit {

/// How Lustre spreads a file over its storage targets (the extended attribute lustre.lov; struct lov_user_md and
/// lov_comp_md_v1 of lustre_user.h).
struct LustreLayout {
  std::uint64_t stripe_count = 0;  ///< of the last component; 65535 stands for all targets
  std::uint64_t stripe_size = 0;   ///< in bytes
  std::uint64_t components = 1;    ///< more than 1 for a progressive layout
};

/// Empty for bytes that are no layout that we know.
std::optional<LustreLayout> parse_lustre_layout(std::string_view bytes);

/// What the client of a Lustre mount tells. Empty members could not be read: much of it only the superuser sees.
struct LustreFacts {
  std::optional<std::uint64_t> stripe_count;
  std::optional<std::uint64_t> stripe_size;
  std::optional<std::uint64_t> components;
  std::string striped;  ///< path whose layout that is: the path itself, or the first entry of the folder that has one
  std::optional<std::uint64_t> read_requests_in_flight;  ///< osc.*.max_rpcs_in_flight, the least of all targets
  std::optional<std::uint64_t> pages_per_request;        ///< osc.*.max_pages_per_rpc, the least
  std::optional<std::uint64_t> read_ahead;               ///< llite max_read_ahead_mb, in bytes
  std::optional<std::uint64_t> read_ahead_per_file;      ///< llite max_read_ahead_per_file_mb
  std::optional<std::uint64_t> checksums;                ///< osc.*.checksums: 1 when data is checked on the wire

  void describe(FieldVisitor& v) {
    v.field({"stripe_count", Unit::count, "storage targets of a file; 65535: all"}, stripe_count);
    v.field({"stripe_size", Unit::bytes, "bytes on one target before the next"}, stripe_size);
    v.field({"components", Unit::count, "parts of a progressive layout"}, components);
    v.field({"striped", Unit::none, "whose layout that is"}, striped);
    v.field({"read_requests_in_flight", Unit::count, "max_rpcs_in_flight of each target"}, read_requests_in_flight);
    v.field({"pages_per_request", Unit::count, "max_pages_per_rpc"}, pages_per_request);
    v.field({"read_ahead", Unit::bytes, "max_read_ahead_mb of the mount"}, read_ahead);
    v.field({"read_ahead_per_file", Unit::bytes, "max_read_ahead_per_file_mb"}, read_ahead_per_file);
    v.field({"checksums", Unit::none, "1 when data is checked on the wire, which costs processor time"}, checksums);
  }
};

LustreFacts read_lustre(const Mount& mount, const std::string& path, const Probe& probe);

}  // namespace shardkit
