#pragma once

#include <cstdint>
#include <span>

#include "bench/decode/decode.hpp"

/// What results of both backends have in common.
namespace shardkit {

/// What one thread, or one engine, decoded. On a cache line of its own.
struct alignas(64) DecodeTally {
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;   ///< compressed
  std::uint64_t pixels = 0;  ///< of the whole images

  void add(const JpegStore& store, std::size_t index) {
    ++images;
    bytes += store.image(index).size();
    pixels += store.pixels(index);
  }
  void add(const DecodeTally& other) {
    images += other.images;
    bytes += other.bytes;
    pixels += other.pixels;
  }
};

/// A result that says which images it is about.
DecodeResult result_of(const JpegStore& store);

/// Rates and times.
void add_measurement(const Timing& timing, std::span<const DecodeTally> tallies, DecodeResult& result);

/// Throws Error{corrupt} when all images failed that had their turn.
void add_failures(const DecodeFailures& failures, std::uint64_t tried, const InputSet& input, DecodeResult& result);

/// Warns where decoding on the CPU had clearly less of `cores` than its threads could use: other work took the rest,
/// and rates and scaling are of what was left.
void warn_of_shared_cores(const DecodeResult& result, double cores, Context& context);

}  // namespace shardkit
