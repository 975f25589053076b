#pragma once

#include <atomic>
#include <cstdint>

#include "core/context.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/reshard/sample_filter.hpp"
#include "dataset/reshard/sample_table.hpp"

namespace shardkit::dataset {

/// The first pass of a reshard: what samples the inputs hold and where they lie.
class SampleGatherer {
 public:
  /// All of these outlive the gatherer.
  SampleGatherer(const ReshardInputs& inputs, const SampleFilter& filter, const ExtensionMap& extensions,
                 SampleTable& table, Context& ctx)
      : inputs_(inputs), filter_(filter), extensions_(extensions), table_(table), ctx_(ctx) {}

  /// Reads each tar's index where it has one that fits its size, otherwise the tar's headers and labels, and puts what
  /// the filter keeps into the table, which is closed then. Throws Error{corrupt} with tar and offset for a tar that
  /// readers do not read whole or a sample with two members of one extension, Error{unsupported} for members that
  /// portable shards cannot hold, Error{not_found} when there is no sample at all.
  void run(unsigned threads);

  std::uint64_t found() const { return found_; }      ///< samples, kept or not
  std::uint64_t ignored() const { return ignored_; }  ///< members that belong to no sample

 private:
  /// What one tar gave.
  struct Gathered {
    explicit Gathered(SampleTable& table) : batch(table) {}
    SampleTable::Batch batch;
    std::uint64_t found = 0;
    std::uint64_t ignored = 0;
    bool lacks_end = false;
  };

  bool read_index(std::size_t input);
  void read_headers(std::size_t input);
  void keep(formats::MovedSample&& sample, Gathered& gathered) const;
  void take(std::size_t input, Gathered&& gathered);
  void settle_members(formats::MovedSample& sample) const;

  const ReshardInputs& inputs_;
  const SampleFilter& filter_;
  const ExtensionMap& extensions_;
  SampleTable& table_;
  Context& ctx_;
  std::atomic<std::uint64_t> found_{0};
  std::atomic<std::uint64_t> ignored_{0};
};

}  // namespace shardkit::dataset
