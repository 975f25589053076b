#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "bench/input/input_files.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "system/storage.hpp"

/// Bringing the page cache into the state that a measurement asks for, and saying which state it had.
namespace shardkit::bench {

/// What of the data is not on the disk byte for byte, by at most 2000 files taken evenly.
struct DataOnDisk {
  std::uint64_t files_asked = 0;
  std::uint64_t hole_bytes = 0;
  std::uint64_t unwritten_bytes = 0;
  std::uint64_t compressed_bytes = 0;

  void describe(FieldVisitor& v);
};

enum class CacheRequest { any, cold, warm };
constexpr auto enum_names(CacheRequest) { return std::to_array<std::string_view>({"any", "cold", "warm"}); }

/// What the page cache held of the data before a measurement that goes through it.
enum class CacheState {
  none,         ///< nothing was read
  unknown,      ///< the system does not report it to this user
  cold,         ///< not in memory
  client_cold,  ///< not in this machine's memory, but a server may have it in its own
  mixed,        ///< in part in memory
  warm,         ///< in memory, or just read into the cache
  direct,       ///< read past the page cache (O_DIRECT)
};
constexpr auto enum_names(CacheState) {
  return std::to_array<std::string_view>({"", "unknown", "cold", "client-cold", "mixed", "warm", "direct"});
}

struct CacheReport {
  CacheRequest requested = CacheRequest::any;
  CacheState state = CacheState::none;
  std::optional<double> residency_before_ratio;
  std::optional<double> residency_after_ratio;

  void describe(FieldVisitor& v) {
    v.field({"requested", "requested by --cache"}, requested);
    v.field({"state", "measured state; empty: nothing was read", kJudged}, state);
    v.field({"residency_before_ratio", Unit::ratio, "share of the bytes in the page cache before; absent: unknown"},
            residency_before_ratio);
    v.field({"residency_after_ratio", Unit::ratio, "share of the bytes in the page cache afterwards"},
            residency_after_ratio);
  }
};

/// Share of the files' bytes that are in the page cache, from at most 2000 files taken evenly. Empty where the system
/// does not tell this user.
std::optional<double> residency(std::span<const InputFile> files, Context& context);

/// Drops the files from the cache, or reads them into it, in their order and several at once, until `seconds` are over;
/// empty: until all are done. Returns how many of them, from the first on, are in the state asked for: all for
/// CacheRequest::any, and never none. Throws Error{unsupported} where that state cannot be had.
std::size_t prepare_cache(std::span<const InputFile> files, CacheRequest request, std::optional<double> seconds,
                          Context& context);

/// The files that prepare_cache() gets into that state within `seconds`, from the first on. Doing it to them once more,
/// as each measurement does, takes no longer than that.
InputSet preparable(const InputSet& input, CacheRequest request, double seconds, Context& context);

/// The state that a report's residency stands for. What was just read into the cache is warm, also where the system
/// does not report it.
CacheState cache_state(const CacheReport& report, system::StorageClass storage_class);

/// Looks how at most 2000 files, taken evenly, lie on their disk. Where that is to be measured, throws
/// Error{unsupported} for holes and extents that were never written, whose reading touches no disk, and with `direct`
/// for compressed data, which file systems read through the page cache all the same; otherwise a warning.
DataOnDisk check_on_disk(std::span<const InputFile> files, bool disk_is_measured, bool direct, Context& context);

}  // namespace shardkit::bench
