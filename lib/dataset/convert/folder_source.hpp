#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/image_source.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "dataset/checks/image_fault.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "formats/plan_file.hpp"
#include "image/jpeg_resizer.hpp"
#include "io/file.hpp"
#include "sync/adaptive_workers.hpp"
#include "sync/loan_pool.hpp"

namespace shardkit::dataset {

/// What a plan says is to be done with each image on its way into a shard.
struct ImageRules {
  Validate validate = Validate::none;
  OnBad on_bad = OnBad::fail;
  std::optional<image::ResizeOptions> resize;
};

/// Throws Error{corrupt} for a plan whose options say nothing or nonsense about it.
ImageRules image_rules(const formats::PlanHead& head);

/// What became of images on their way. Written by many threads.
struct ImageCounts {
  std::atomic<std::uint64_t> kept_bad{0};       ///< failed validation or would not be resized, and kept (--on-bad keep)
  std::atomic<std::uint64_t> resized{0};        ///< made smaller
  std::atomic<std::uint64_t> other_quality{0};  ///< of these: at a lower quality than asked for
  std::atomic<std::uint64_t> not_jpeg{0};       ///< of another kind, and therefore not resized
};

/// Reads the files of one sample into their place in a tar. Thread-safe.
class SampleReader {
 public:
  /// `cores` decode at a time.
  SampleReader(catalog::SourceFolder source, const formats::PlanHead& head, unsigned cores);

  /// Writes headers, contents and padding to the front of `out`, which has room for sample_tar_bytes(). The members'
  /// offsets count from there. The Error says why there is no sample: a file that is gone, unreadable, another than
  /// planned, or refused by validation. What is made smaller on the way takes less of `out`: the members tell.
  Result<formats::IndexSample> read(const formats::PlannedSample& sample, MutableBytes out, sync::WaitMeter& meter);

  /// Nanoseconds that all threads together spent reading files.
  std::int64_t read_ns() const { return read_ns_; }
  const ImageCounts& counts() const { return counts_; }

 private:
  struct Member;
  void read_file(const std::string& path, const formats::PlannedFile& file, MutableBytes out, sync::WaitMeter& meter);
  void read_local(const std::string& path, const formats::PlannedFile& file, MutableBytes out);
  void read_object(const std::string& path, const formats::PlannedFile& file, MutableBytes out);
  /// Applies the rules to an image in its place; returns how many of its bytes are left.
  std::size_t check_image(const formats::PlannedSample& sample, MutableBytes content);
  std::string image_problem(const formats::PlannedSample& sample, Bytes content);
  std::size_t resize_image(const formats::PlannedSample& sample, MutableBytes content);
  /// Throws for an image that is not good, or counts it where bad images are kept.
  void refuse_image(const formats::PlannedSample& sample, const std::string& why);

  catalog::SourceFolder source_;
  io::File root_;  ///< of a local source
  const formats::PlanHead& head_;
  ImageRules rules_;
  ImageJudge judge_;
  sync::LoanPool<image::JpegResizer> resizers_;
  std::atomic<std::int64_t> read_ns_{0};
  ImageCounts counts_;
};

/// The samples of a convert's plan, read from the files of their source.
class FolderSource final : public SampleSource {
 public:
  /// `plan` outlives the source. `cores` decode at a time (--validate decode, --resize). Throws what image_rules()
  /// throws.
  FolderSource(const formats::PlanReader& plan, const catalog::SourceFolder& images, unsigned cores);

  NextSample open(std::size_t shard) override;
  bool leaves_out(const Error& error) const override;
  std::int64_t read_ns() const override { return reader_.read_ns(); }
  const ImageCounts& counts() const { return reader_.counts(); }

 private:
  const formats::PlanReader& plan_;
  ImageRules rules_;
  std::vector<std::size_t> label_digits_;
  SampleReader reader_;
};

}  // namespace shardkit::dataset
