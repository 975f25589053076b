#include "dataset/convert/folder_source.hpp"

#include <algorithm>
#include <utility>

#include "system/limits.hpp"

namespace shardkit {

class FolderSource::Pending final : public PendingSample {
 public:
  Pending(FolderSource& source, PlannedSample sample)
      : source_(source),
        sample_(std::move(sample)),
        tar_bytes_(sample_tar_bytes(sample_, sample_.class_index ? source.label_digits_[*sample_.class_index] : 0)) {}

  std::size_t tar_bytes() const override { return tar_bytes_; }
  Result<IndexSample> read(MutableBytes out, WaitMeter& meter) override {
    return source_.reader_.read(sample_, out, meter);
  }
  std::string path() const override { return image_path(source_.plan_.head(), sample_); }

 private:
  FolderSource& source_;
  PlannedSample sample_;
  std::size_t tar_bytes_;
};

class FolderSource::Samples final : public ShardSamples {
 public:
  Samples(FolderSource& source, std::size_t shard) : source_(source), samples_(source.plan_.read_shard(shard)) {}

  std::unique_ptr<PendingSample> next() override {
    PlannedSample sample;
    if (!samples_.next(sample)) return nullptr;
    return std::make_unique<Pending>(source_, std::move(sample));
  }

 private:
  FolderSource& source_;
  PlanReader::ShardReader samples_;
};

FolderSource::FolderSource(const PlanReader& plan, const std::string& folder, unsigned cores)
    : plan_(plan),
      rules_(image_rules(plan.head())),
      label_digits_(label_digits(plan.head())),
      reader_(folder, plan.head(), {cores, std::min(usable_descriptors() / 4, 512U)}) {}

std::unique_ptr<ShardSamples> FolderSource::open(std::size_t shard) { return std::make_unique<Samples>(*this, shard); }

bool FolderSource::leaves_out(const Error& error) const {
  return rules_.on_bad == OnBad::skip && is_bad_file(error.code());
}

}  // namespace shardkit
