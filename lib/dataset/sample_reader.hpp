#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/result.hpp"
#include "dataset/sharding_options.hpp"
#include "formats/plan_file.hpp"
#include "image/jpeg_decoder.hpp"
#include "io/file.hpp"
#include "sync/adaptive_workers.hpp"

namespace shardkit {

/// Open class folders, so that a file is opened by its last name alone. Each is opened when it is first needed, up to a
/// limit; past that, and for the files of a list, the source folder serves. Thread-safe.
class ClassFolders {
 public:
  ClassFolders(const std::string& source, const PlanHead& head, std::size_t most_open);

  /// Opens the file at `path`, which is relative to the source.
  File open(std::optional<std::uint32_t> class_index, const std::string& path);

 private:
  /// The open folder of a class, or null when too many are open.
  const File* folder(std::uint32_t class_index);

  std::string source_;
  File root_;
  bool listed_;
  std::vector<std::string> names_;
  std::size_t most_open_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<File>> folders_;
  std::size_t open_ = 0;
};

/// Decoders for --validate decode: as many as there are cores, however many reads are in flight.
class DecoderPool {
 public:
  explicit DecoderPool(unsigned cores);
  /// Why the JPEG cannot be decoded; empty when it can.
  std::string problem(Bytes jpeg);

 private:
  /// A decoder taken out of the pool until the end of a scope. A wait for one is short: others only compute with it.
  struct Loan {
    explicit Loan(DecoderPool& from);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    DecoderPool& pool;
    std::unique_ptr<JpegDecoder> decoder;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<JpegDecoder>> idle_;
};

/// Reads the files of one sample into their place in a tar. Thread-safe.
class SampleReader {
 public:
  struct Limits {
    unsigned cores = 1;
    std::size_t open_folders = 256;
  };
  SampleReader(const std::string& source, const PlanHead& head, Validate validate, OnBad on_bad, const Limits& limits);

  /// Writes headers, contents and padding to the front of `out`, which has room for sample_tar_bytes(). The members'
  /// offsets count from there. The Error says why there is no sample: a file that is gone, unreadable, another than
  /// planned, or refused by validation.
  Result<IndexSample> read(const PlannedSample& sample, MutableBytes out, WaitMeter& meter);

  /// Nanoseconds that all threads together spent reading files.
  std::int64_t read_ns() const { return read_ns_; }
  /// Images that failed validation and were kept (--on-bad keep).
  std::uint64_t kept_bad() const { return kept_bad_; }

 private:
  struct Member;
  void read_file(const PlannedSample& sample, const PlannedFile& file, MutableBytes out, WaitMeter& meter);
  void validate_image(const PlannedSample& sample, Bytes content);

  std::string source_;
  const PlanHead& head_;
  Validate validate_;
  OnBad on_bad_;
  ClassFolders folders_;
  DecoderPool decoders_;
  std::atomic<std::int64_t> read_ns_{0};
  std::atomic<std::uint64_t> kept_bad_{0};
};

}  // namespace shardkit
