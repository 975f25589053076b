#include "bench/read/random_order.hpp"

#include <algorithm>

#include "core/prng.hpp"

namespace shardkit {
namespace {

constexpr unsigned kRounds = 4;

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

ShuffledSamples::ShuffledSamples(std::vector<SampleRef> samples, std::uint64_t seed, std::uint64_t most)
    : samples_(std::move(samples)) {
  Prng prng(seed);
  shuffle(std::span(samples_), prng);
  samples_.resize(std::min<std::uint64_t>(samples_.size(), most));
  for (const SampleRef& sample : samples_) largest_ = std::max(largest_, sample.bytes);
}

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) : size_(size), seed_(mix(seed)) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (unsigned round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mix(seed_ + right * kRounds + round) & mask);
      left = right;
      right = next;
    }
    index = left << half_bits_ | right;
  } while (index >= size_);
  return index;
}

std::vector<std::uint64_t> GridOrder::first_of_files(std::span<const InputFile> files, std::uint64_t unit) {
  std::vector<std::uint64_t> first{0};
  for (const InputFile& file : files) first.push_back(first.back() + file.bytes / unit);
  return first;
}

GridOrder::GridOrder(std::span<const InputFile> files, std::uint64_t unit, std::uint64_t seed, std::uint64_t most)
    : unit_(unit),
      first_(first_of_files(files, unit)),
      permutation_(first_.back(), seed),
      size_(std::min(first_.back(), most)) {}

SampleRef GridOrder::at(std::uint64_t index) const {
  const std::uint64_t piece = permutation_(index);
  const auto file = std::ranges::upper_bound(first_, piece) - first_.begin() - 1;
  return {static_cast<std::uint32_t>(file), (piece - first_[static_cast<std::size_t>(file)]) * unit_, unit_, 0, 0};
}

}  // namespace shardkit
