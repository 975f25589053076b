#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

#include "bench/watch/watch_sample.hpp"
#include "core/fields.hpp"
#include "net/clock.hpp"

namespace shardkit {

/// Why a watch ended.
enum class WatchEnd { stopped, process, duration, count };
template <>
struct EnumNames<WatchEnd> {
  static constexpr std::array<std::string_view, 4> names{"stopped", "process", "duration", "count"};
};

/// How long it may go on.
struct WatchBounds {
  double interval = 2;             ///< seconds
  std::optional<double> duration;  ///< seconds
  std::optional<std::uint64_t> count;
};

using WatchLook = std::function<WatchSample()>;
/// False when no more intervals are wanted.
using WatchInterval = std::function<bool(const WatchSample& before, const WatchSample& after)>;

/// Looks at once and then every interval, at the times that the first look sets, so that delays do not add up; a look
/// that takes longer than an interval lets intervals be longer. Each pair of looks is handed to `take`, but not the one
/// in which the process ended. A stop ends it as well: what came since the last look is an interval of its own when it
/// is a tenth of a second or more. So does `take`, which is a stop as well. Throws what `look` and `take` throw.
WatchEnd watch_loop(const WatchBounds& bounds, Clock& clock, const std::stop_token& stop, const WatchLook& look,
                    const WatchInterval& take);

}  // namespace shardkit
