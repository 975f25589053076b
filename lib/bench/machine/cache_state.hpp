#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/input/input_files.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "core/fields.hpp"
#include "system/storage.hpp"

/// Prepares the page cache for a measurement, and finds out its state.
namespace shardkit::bench {

/// Parts of the data that are not on the disk byte for byte, from at most 2000 files, evenly distributed.
struct DataOnDisk {
  std::uint64_t files_asked = 0;
  std::uint64_t hole_bytes = 0;
  std::uint64_t unwritten_bytes = 0;
  std::uint64_t compressed_bytes = 0;

  void describe(FieldList& v);
};

enum class CacheRequest { any, cold, warm };
constexpr auto enum_names(CacheRequest) { return std::to_array<std::string_view>({"any", "cold", "warm"}); }

/// State of the page cache before a measurement that reads through it.
enum class CacheState {
  none,         ///< nothing was read
  unknown,      ///< the system does not report it to this user
  cold,         ///< not in memory
  client_cold,  ///< not in memory of this machine, but a server may have it in memory
  mixed,        ///< partly in memory
  warm,         ///< in memory, or just read into the cache
  direct,       ///< reads bypass the page cache (O_DIRECT)
};
constexpr auto enum_names(CacheState) {
  return std::to_array<std::string_view>({"", "unknown", "cold", "client-cold", "mixed", "warm", "direct"});
}

struct CacheReport {
  CacheRequest requested = CacheRequest::any;
  CacheState state = CacheState::none;
  std::optional<double> residency_before_ratio;
  std::optional<double> residency_after_ratio;

  void describe(FieldList& v) {
    v.field({"requested", "requested by --cache"}, requested);
    v.field({"state", "measured state; empty: nothing was read", kCircumstance}, state);
    v.field({"residency_before_ratio", Unit::ratio, "share of the bytes in the page cache before; absent: unknown"},
            residency_before_ratio);
    v.field({"residency_after_ratio", Unit::ratio, "share of the bytes in the page cache afterwards"},
            residency_after_ratio);
  }
};

/// For asking a slow file system about its files.
inline constexpr double kMostAskingSeconds = 0.5;
/// A share of `limit`, the seconds of the work that asks, but no more than that. Empty: it has no limit.
double asking_seconds(std::optional<double> limit, double share);

/// Share of the files' bytes in the page cache, from at most 2000 files, evenly distributed, and as many as `seconds`
/// allow, at least one. Empty if the system does not report it to this user. A stop does not end it: it takes
/// milliseconds, and what was measured before would be lost.
std::optional<double> residency(std::span<const InputFile> files, double seconds = kMostAskingSeconds);

/// A file that cannot be dropped from the cache.
class NotCold : public Error {
 public:
  /// `reason` is that of io::drop_from_cache(). The remedy after it is for those who asked for a cold cache.
  explicit NotCold(const Error& reason);
  /// Without the remedy.
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// Drops the files from the cache, or reads them into it, in order and in parallel, until `seconds` have passed; empty:
/// until all are done. Reading the first file may take a second whatever they are. Returns how many of the first files
/// are in the requested state: at least one, and all for CacheRequest::any. Throws Error{unsupported}, which may be a
/// NotCold, if that state is not available, also if the time was not enough for one file.
std::size_t prepare_cache(std::span<const InputFile> files, CacheRequest request, std::optional<double> seconds,
                          Context& context);

/// The first files that prepare_cache() can prepare within `seconds`. Preparing them again, as each measurement does,
/// takes no longer.
InputSet preparable(const InputSet& input, CacheRequest request, double seconds, Context& context);

/// The state for a measured share. Data that was just read into the cache is warm, also if the system does not report
/// it.
CacheState cache_state(const CacheReport& report, system::StorageClass storage_class);

/// That data which is cold here may be in memory elsewhere, and where; empty if not.
std::string cold_elsewhere(CacheState state, system::StorageClass storage_class);

/// What data on disk is read for: whatever speed it has, that of the disk, or that without the page cache.
enum class DiskUse { any, measured, direct };
constexpr DiskUse use_of_disk(CacheRequest cache) {
  return cache == CacheRequest::cold ? DiskUse::measured : DiskUse::any;
}

/// Checks how at most 2000 files, evenly distributed, are stored on disk, as many as `seconds` allow. Unless any speed
/// will do, throws Error{unsupported} for holes and unwritten extents, which are not read from disk, and for direct
/// reading also for compressed data, which is still read through the page cache. Otherwise warns.
DataOnDisk check_on_disk(std::span<const InputFile> files, DiskUse use, Context& context,
                         double seconds = kMostAskingSeconds);

}  // namespace shardkit::bench
