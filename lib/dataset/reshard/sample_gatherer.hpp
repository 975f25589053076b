#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/reshard/sample_table.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// Which samples a reshard keeps. Thread-safe.
class SampleFilter {
 public:
  /// `classes` are those that the inputs' manifests know. Throws Error{usage} for a class that is neither a name among
  /// them nor a number, and for sizes that exclude each other.
  SampleFilter(const ReshardOptions& options, const std::vector<formats::ManifestClass>& classes);

  /// By class or label, key in the input, and bytes of all members together. Of classes that share a label the
  /// sample's path tells which it is of.
  bool keeps(const formats::MovedSample& sample) const;

 private:
  bool keeps_class(const formats::MovedSample& sample) const;

  std::set<std::uint64_t> labels_;                           ///< of which all samples are wanted
  std::map<std::uint64_t, std::set<std::string>> classes_;   ///< wanted by name, by label
  std::map<std::uint64_t, std::vector<std::string>> names_;  ///< of labels that several classes share
  std::vector<std::string> globs_;                           ///< empty: any
  std::uint64_t min_size_;
  std::uint64_t max_size_;
};

/// --rename: extensions by those that they replace.
class ExtensionMap {
 public:
  /// "OLD=NEW" each. Throws Error{usage} for anything else, and for extensions that no portable member can have.
  explicit ExtensionMap(const std::vector<std::string>& renames);

  /// What a member with this extension in the input is called in the output: portable_moved_extension(), then renamed.
  std::string operator()(const std::string& extension) const;

 private:
  std::map<std::string, std::string> renames_;
};

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
