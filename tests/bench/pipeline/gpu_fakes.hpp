#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/gpu_sink.hpp"
#include "bench/requirement/requirement.hpp"
#include "support/fake_device.hpp"
#include "support/recorded_tree.hpp"

namespace shardkit::test {

/// One reader and one worker, so that the same samples make the same batches.
inline bench::LoaderSettings small_loader() {
  bench::LoaderSettings settings;
  settings.batch = 4;
  settings.crop = 9;
  return settings;
}

/// A sink on GPUs that looks, as a step would, at what lies there once it was waited for.
class WatchedSink final : public bench::BatchSink {
 public:
  WatchedSink(const bench::LoaderSettings& settings, std::vector<gpu::Device*> devices, Context& context,
              std::vector<gpu::DeviceJpegDecoder*> decoders = {})
      : settings_(settings), devices_(std::move(devices)), sink_(settings, devices_, decoders, tree_, context) {}

  bench::SinkKind kind() const override { return sink_.kind(); }
  unsigned devices() const override { return sink_.devices(); }
  std::unique_ptr<bench::BatchMemory> make_memory(std::size_t bytes) override { return sink_.make_memory(bytes); }
  bench::HandedBatch hand_over(const bench::OutgoingBatch& batch, bench::StageClock& clock) override {
    const bench::HandedBatch handed = sink_.hand_over(batch, clock);
    // What is not copied by now never will be.
    std::ranges::fill(batch.memory.bytes(), std::byte{0xee});
    const std::scoped_lock lock(mutex_);
    samples_[handed.slot] = handed.samples;
    return handed;
  }
  std::optional<Moment> wait_for(std::uint64_t slot) override {
    const auto moment = sink_.wait_for(slot);
    const gpu::DeviceTensor tensor = sink_.tensor_at(slot);
    const std::scoped_lock lock(mutex_);
    std::vector<std::byte> batch(samples_[slot] * bench::tensor_bytes(tensor.side, image::value_bytes(tensor.type)));
    const auto stream = devices_[slot / settings_.slots() % devices_.size()]->make_stream();
    stream->copy_to_host(batch, tensor.values);
    stream->synchronize();
    batches.push_back(std::move(batch));
    return moment;
  }
  bool compute(std::span<const std::uint64_t> slots, double seconds, const std::stop_token& stop) override {
    return sink_.compute(slots, seconds, stop);
  }
  void release(std::uint64_t slot) override { sink_.release(slot); }
  bench::CopyTally copies() const override { return sink_.copies(); }

  std::vector<std::vector<std::byte>> batches;

 private:
  bench::LoaderSettings settings_;
  std::vector<gpu::Device*> devices_;
  RecordedTree tree_;
  bench::GpuSink sink_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> samples_;  ///< of the batch at a slot
};

}  // namespace shardkit::test
