#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/shard_cutter.hpp"
#include "stats/latency_histogram.hpp"

namespace shardkit::dataset {

struct StatOptions {
  std::vector<std::string> shards;
  std::optional<std::uint64_t> threads = {};
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

/// The distribution of a size. min and max are exact, the median of sample sizes is off by less than 1 %.
struct Spread {
  std::uint64_t min = 0;
  std::uint64_t median = 0;
  std::uint64_t max = 0;
  std::vector<stats::LogHistogram::Octave> histogram;

  void describe(FieldList& v);
};

struct StatClass {
  std::uint64_t label = 0;
  std::string name;  ///< by the manifest; several classes of one label are separated by ", "
  std::uint64_t samples = 0;

  void describe(FieldList& v);
};

/// Over the classes that occur.
struct ClassBalance {
  std::uint64_t classes = 0;
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  double largest_to_smallest = 0;

  void describe(FieldList& v);
};

struct StatResult {
  /// More different labels than this are not classes: an identifier, a regression target.
  static constexpr std::size_t kMostClasses = 100'000;

  std::uint64_t shards = 0;
  std::uint64_t shards_by_index = 0;
  std::uint64_t samples = 0;
  std::uint64_t members = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unlabeled = 0;
  Spread sample_size;
  Spread shard_samples;
  std::optional<ClassBalance> class_balance;         ///< empty without labels
  std::optional<ClassesPerShard> classes_per_shard;  ///< empty without labels
  bool mixed = true;
  ShuffleBuffer shuffle_buffer;
  std::vector<StatClass> classes;  ///< by label; includes classes of the manifest without samples

  void describe(FieldList& v);
};

/// Counts and sizes of shards, from shardctl or other programs: `shardctl stat`. Uses indexes that fit, else headers
/// and labels; several shards at a time. Memory grows with shards and classes, not with samples. A damaged shard is a
/// warning; its readable part is counted. Throws the errors of resolve_shards() and SampleLister. The result does not
/// depend on threads.
StatResult stat(const StatOptions& options, Context& context);

}  // namespace shardkit::dataset
