#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields.hpp"

/// What the rates of a store say: whether to stream from it or to stage.
/// Pure; the rules stand in docs/measuring.md. Sizes in bytes, times in seconds, rates in bytes per second.
namespace shardkit {

enum class StreamOrStage { stream, stage };
template <>
struct EnumNames<StreamOrStage> {
  static constexpr std::array<std::string_view, 2> names{"stream", "stage"};
};

/// Whether training can read straight from the store.
struct StreamingVerdict {
  StreamOrStage verdict = StreamOrStage::stream;
  std::string text;  ///< one line
  double required_bytes_per_second = 0;
  double headroom_ratio = 0;                ///< supply over requirement
  double staging_seconds = 0;               ///< to bring the whole set to this node once
  double epoch_seconds = 0;                 ///< of training at the required rate
  double epoch_stall_seconds = 0;           ///< that streaming adds to each epoch
  std::optional<double> break_even_epochs;  ///< after which staging has cost less; empty: never

  void describe(FieldVisitor& v);
};

/// Streaming has to give this many times the requirement: stores slow down when others use them.
inline constexpr double kStreamingReserve = 1.2;

/// Holds what a store supplies against what a job requires, for a set of `set_bytes` that every epoch reads whole. All
/// are more than 0. That the local disk gives the requirement is taken for granted.
StreamingVerdict judge_streaming(double supply, double required, std::uint64_t set_bytes);

}  // namespace shardkit
