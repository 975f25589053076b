#pragma once

#include <chrono>
#include <cstdint>

#include "bench/input/input_files.hpp"
#include "catalog/unpacked_stream.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"

/// Counts the samples of shards without an index whose bytes come by.
namespace shardkit::bench {

/// Counts the samples of a tar from its start, adds them to the progress, and warns of the first fault.
class SampleCounter final : public formats::TarHandler {
 public:
  /// Both outlive it.
  SampleCounter(const InputFile& shard, Context& context);

  void feed(Bytes bytes);
  /// All bytes have come.
  void finish();

  std::uint64_t samples() const { return samples_; }
  /// From the start of the tar to the end of the last sample that was counted.
  std::uint64_t sample_bytes() const { return sample_bytes_; }

  bool entry(const formats::TarEntry& entry) override;
  void finding(const formats::TarFinding& finding) override;

 private:
  void count(std::uint64_t end);

  const InputFile& shard_;
  Context& context_;
  formats::TarFeed feed_;
  formats::SampleGrouper grouper_;
  std::uint64_t bytes_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t sample_bytes_ = 0;
  bool warned_ = false;
};

/// The samples of a compressed shard, which is unpacked while it is read.
class UnpackedSamples {
 public:
  /// Shard and context outlive it. `read` returns its stored bytes, in order.
  UnpackedSamples(const InputFile& shard, catalog::UnpackedStream::ReadPacked read, Context& context);

  /// Unpacks the next piece. False at the end. Throws Error{corrupt} if the shard is damaged or cut off, and the errors
  /// of `read`.
  bool next();

  std::uint64_t samples() const { return counter_.samples(); }
  /// Stored bytes of these samples: their share of the bytes that were read.
  std::uint64_t sample_bytes() const;
  /// Unpacked bytes of these samples.
  std::uint64_t unpacked_sample_bytes() const { return counter_.sample_bytes(); }
  /// CPU time of unpacking what was read, on the threads that called next(). Reading is not included.
  double cpu_seconds() const { return std::chrono::duration<double>(cpu_).count(); }
  /// Stored bytes that were read.
  std::uint64_t bytes() const { return bytes_; }

 private:
  SampleCounter counter_;
  catalog::UnpackedStream content_;
  std::uint64_t bytes_ = 0;
  std::chrono::nanoseconds cpu_{0};
};

/// What unpacking costs.
struct UnpackCosts {
  std::uint64_t shards = 0;   ///< compressed ones of the set; each is unpacked by one thread
  std::uint64_t samples = 0;  ///< that were unpacked
  double sample_bytes = 0;    ///< mean, as stored
  double unpacked_sample_bytes = 0;
  double cpu_seconds = 0;  ///< per sample, on one core

  void describe(FieldList& v);
};

/// Unpacks compressed shards, one after the other, for at most `seconds`, or five times as long until the first sample.
/// Without any sample, all costs are 0. Throws the errors of UnpackedSamples::next() and of reading.
UnpackCosts measure_unpacking(const InputSet& input, double seconds, Context& context);

}  // namespace shardkit::bench
