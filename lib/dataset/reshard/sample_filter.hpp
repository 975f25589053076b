#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"

namespace shardkit::dataset {

/// Selects the samples that a reshard keeps. Thread-safe.
class SampleFilter {
 public:
  /// `inputs` outlive it. Throws Error{usage} for a class that is neither one of the names of their manifests nor a
  /// number.
  SampleFilter(const ReshardOptions& options, const ReshardInputs& inputs);

  /// Judges by class or label, and key in the input. If classes share a label, the
  /// sample's path decides the class; throws Error{unsupported} if it is not known.
  bool keeps(const formats::MovedSample& sample) const;
  /// After the last sample: throws Error{usage} for a label that no sample had.
  void require_labels() const;

 private:
  bool keeps_class(const formats::MovedSample& sample) const;

  const ReshardInputs& inputs_;
  std::set<std::uint64_t> labels_;                           ///< of which all samples are wanted
  mutable std::map<std::uint64_t, std::atomic<bool>> seen_;  ///< of the labels wanted by number: whether one has it
  std::map<std::uint64_t, std::set<std::string>> classes_;   ///< wanted by name, by label
  std::map<std::uint64_t, std::vector<std::string>> names_;  ///< of labels that several classes share
  std::vector<std::string> globs_;                           ///< empty: any
};

/// --rename: "OLD=NEW" each, extensions by those that they replace. Throws Error{usage} for any other text, and for
/// extensions that portable members cannot have.
std::map<std::string, std::string> parse_renames(const std::vector<std::string>& texts);

}  // namespace shardkit::dataset
