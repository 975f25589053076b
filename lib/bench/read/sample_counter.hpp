#pragma once

#include <cstdint>

#include "bench/input/input_files.hpp"
#include "core/context.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit {

/// Counts the samples of a shard whose bytes come by from its start, and warns of the first fault.
class SampleCounter final : public TarHandler {
 public:
  /// Both outlive it.
  SampleCounter(const InputFile& shard, Context& context);

  void feed(Bytes bytes) { feed_.feed(bytes); }
  /// All bytes have come.
  void finish();

  std::uint64_t samples() const { return samples_; }
  /// From the shard's start to the end of the last one counted.
  std::uint64_t sample_bytes() const { return sample_bytes_; }

  bool entry(const TarEntry& entry) override;
  void finding(const TarFinding& finding) override;

 private:
  void count(std::uint64_t end);

  const InputFile& shard_;
  Context& context_;
  TarFeed feed_;
  SampleGrouper grouper_;
  std::uint64_t samples_ = 0;
  std::uint64_t sample_bytes_ = 0;
  bool warned_ = false;
};

}  // namespace shardkit
