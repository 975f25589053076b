#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

#include "bench/input/input_files.hpp"
#include "bench/pipeline/samples/sample_flow.hpp"
#include "core/context.hpp"

/// Where a pipeline's compressed images come from.
namespace shardkit::bench {

/// A larger image is passed over: a header can claim anything.
inline constexpr std::uint64_t kMostImageBytes = 256U << 20U;

/// Where a reader puts what it read. One thread each.
class SampleOutlet {
 public:
  virtual ~SampleOutlet() = default;
  /// Memory for an image of this size.
  virtual SampleBuffer buffer(std::size_t bytes) = 0;
  /// Passes an image on; waits for room. False when no more are wanted.
  virtual bool give(SampleBuffer image) = 0;
  /// One of more than kMostImageBytes was passed over.
  virtual void pass_over() = 0;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  /// "shards", "files" or "null".
  virtual std::string_view kind() const = 0;
  /// Readers beyond this number have nothing to do.
  virtual std::size_t most_readers() const = 0;

  /// Puts the data in the order of epoch `epoch`, counted from 0. No reader runs meanwhile.
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  /// Reads until nothing is left, no more is wanted or the stop comes. All readers of an epoch are in it at once and
  /// share the data. Throws what reading throws.
  virtual void read(SampleOutlet& outlet, const std::stop_token& stop) = 0;
};

struct SourceOrder {
  bool shuffled = false;  ///< shards are taken in an order drawn anew for each epoch, files always
  std::uint64_t seed = 0;
};

/// Shards are streamed whole, one reader each, in blocks of 256 KiB; of each sample the first image is passed on. Image
/// files are opened, read and closed, one after the other. Where there are shards, other files are left out. Throws
/// Error{not_found} for files of which none is an image by name.
std::unique_ptr<ImageSource> make_source(const InputSet& input, const SourceOrder& order, Context& context);

/// Images of no bytes, without end: what is left when nothing is read.
std::unique_ptr<ImageSource> null_source();

}  // namespace shardkit::bench
