#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dataset/checks/image_fault.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "formats/plan_file.hpp"
#include "io/file.hpp"

namespace shardkit::dataset {

/// The input tars of a reshard, each opened when it is first needed and kept open up to a limit; past that one is
/// opened for each read. Thread-safe.
class InputFiles {
 public:
  InputFiles(const ReshardInputs& inputs, std::size_t most_open);

  /// Fills `out` from the tar's byte `offset`. Throws Error{conflict} for a tar that is not what it was when the plan
  /// was made.
  void read(std::size_t input, std::uint64_t offset, MutableBytes out);

 private:
  std::shared_ptr<ByteSource> open(std::size_t input);

  const ReshardInputs& inputs_;
  std::size_t most_open_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<ByteSource>> files_;
  std::size_t open_ = 0;
};

/// The samples of a reshard's plan, read from its input tars.
class ShardSource final : public SampleSource {
 public:
  /// `plan` and `inputs` outlive the source. `drop_bad`: samples with an image that verify counts as an error
  /// (image_fault()), and labels and texts without data, are left out; `cores` decode at a time.
  ShardSource(const formats::PlanReader& plan, const ReshardInputs& inputs, bool drop_bad, unsigned cores);

  std::unique_ptr<ShardSamples> open(std::size_t shard) override;
  bool leaves_out(const Error& error) const override { return drop_bad_ && error.code() == ErrorCode::corrupt; }
  std::int64_t read_ns() const override { return read_ns_; }

 private:
  class Samples;
  class Pending;

  formats::IndexSample read(const formats::MovedSample& sample, MutableBytes out, sync::WaitMeter& meter);
  void read_member(const formats::MovedSample& sample, const formats::MovedMember& member, MutableBytes out,
                   sync::WaitMeter& meter);
  void check_image(const formats::MovedSample& sample, const formats::MovedMember& member, Bytes content);
  void check_not_orphan(const formats::MovedSample& sample) const;
  [[noreturn]] void drop(const formats::MovedSample& sample, const formats::MovedMember& member,
                         const std::string& why) const;
  std::string skipped_path(const formats::MovedSample& sample) const;

  const formats::PlanReader& plan_;
  const ReshardInputs& inputs_;
  bool drop_bad_;
  InputFiles files_;
  ImageJudge judge_;
  std::map<std::uint64_t, std::vector<std::string>> classes_;  ///< by label
  std::atomic<std::int64_t> read_ns_{0};
};

}  // namespace shardkit::dataset
