#pragma once

#include <vector>

#include "dataset/sample_reader.hpp"
#include "dataset/sample_source.hpp"

namespace shardkit {

/// The samples of a convert's plan, read from the files of an ImageFolder tree.
class FolderSource final : public SampleSource {
 public:
  /// `plan` outlives the source. `cores` decode at a time (--validate decode).
  FolderSource(const PlanReader& plan, const std::string& folder, Validate validate, OnBad on_bad, unsigned cores);

  std::unique_ptr<ShardSamples> open(std::size_t shard) override;
  bool leaves_out(const Error& error) const override;
  std::int64_t read_ns() const override { return reader_.read_ns(); }
  /// Images that failed validation and were kept (--on-bad keep).
  std::uint64_t kept_bad() const { return reader_.kept_bad(); }

 private:
  class Samples;
  class Pending;

  const PlanReader& plan_;
  OnBad on_bad_;
  std::vector<std::size_t> label_digits_;
  SampleReader reader_;
};

}  // namespace shardkit
