#pragma once

#include <vector>

#include "dataset/convert/sample_reader.hpp"
#include "dataset/sharding/sample_source.hpp"

namespace shardkit {

/// The samples of a convert's plan, read from the files of an ImageFolder tree.
class FolderSource final : public SampleSource {
 public:
  /// `plan` outlives the source. `cores` decode at a time (--validate decode, --resize). Throws what image_rules()
  /// throws.
  FolderSource(const PlanReader& plan, const std::string& folder, unsigned cores);

  std::unique_ptr<ShardSamples> open(std::size_t shard) override;
  bool leaves_out(const Error& error) const override;
  std::int64_t read_ns() const override { return reader_.read_ns(); }
  const ImageCounts& counts() const { return reader_.counts(); }

 private:
  class Samples;
  class Pending;

  const PlanReader& plan_;
  ImageRules rules_;
  std::vector<std::size_t> label_digits_;
  SampleReader reader_;
};

}  // namespace shardkit
