#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/sample_source.hpp"
#include "core/error.hpp"

namespace shardkit::test {

/// A buffer with the bytes of a text.
inline bench::SampleBuffer buffer_of(std::string_view text) {
  bench::SampleBuffer buffer;
  buffer.resize(text.size());
  std::ranges::copy(as_bytes(text), buffer.bytes().begin());
  return buffer;
}

inline std::string text_of(bench::SampleBuffer& buffer) { return std::string(as_text(buffer.bytes())); }

/// Gives the same image a number of times an epoch; can be made slow, or fail.
class FakeSource final : public bench::ImageSource {
 public:
  FakeSource(std::string image, std::uint64_t samples) : image_(std::move(image)), samples_(samples) {}

  std::chrono::milliseconds delay{0};     ///< before each sample
  std::optional<std::uint64_t> fails_at;  ///< throws instead of giving the sample of this number

  bench::SourceForm form() const override { return bench::SourceForm::files; }
  std::size_t most_readers() const override { return 64; }
  void begin_epoch(std::uint64_t /*epoch*/) override { next_ = 0; }
  void read(bench::SampleOutlet& outlet, const std::stop_token& stop) override {
    while (!stop.stop_requested()) {
      const std::uint64_t number = next_.fetch_add(1);
      if (number >= samples_) return;
      if (fails_at == number) throw Error(ErrorCode::io, "the disk went away", "/disk", 7);
      std::this_thread::sleep_for(delay);
      bench::SampleBuffer buffer = outlet.buffer(image_.size());
      std::ranges::copy(as_bytes(image_), buffer.bytes().begin());
      if (!outlet.give(std::move(buffer))) return;
    }
  }

 private:
  std::string image_;
  std::uint64_t samples_;
  std::atomic<std::uint64_t> next_{0};
};

/// Memory on the heap; remembers what it was given and how many slots were in use at once.
class FakeSink final : public bench::BatchSink {
 public:
  bench::SinkKind kind() const override { return bench::SinkKind::host; }
  std::unique_ptr<bench::BatchMemory> make_memory(std::size_t bytes) override {
    memory_bytes.push_back(bytes);
    return host_->make_memory(bytes);
  }
  unsigned devices() const override { return number; }
  bench::HandedBatch hand_over(const bench::OutgoingBatch& batch, bench::StageClock& /*clock*/) override {
    if (together) together->arrive_and_wait();
    const std::scoped_lock lock(mutex_);
    if (fails) throw Error(ErrorCode::io, "the bus went away");
    gpus.push_back(batch.gpu);
    const Bytes bytes = batch.memory.bytes().first(batch.bytes);
    batches.emplace_back(bytes.begin(), bytes.end());
    most_in_use = std::max(most_in_use, ++in_use_);
    return {batches.size(), batch.samples};
  }
  void release(std::uint64_t slot) override {
    const std::scoped_lock lock(mutex_);
    released.push_back(slot);
    --in_use_;
  }

  bool fails = false;
  unsigned number = 1;                          ///< of devices
  std::optional<std::barrier<>> together = {};  ///< every batch waits until so many are handed over at the same time
  std::vector<std::size_t> memory_bytes;
  std::vector<unsigned> gpus;
  std::vector<std::vector<std::byte>> batches;
  std::vector<std::uint64_t> released;
  std::size_t most_in_use = 0;

 private:
  std::mutex mutex_;
  std::unique_ptr<bench::BatchSink> host_ = bench::host_sink();
  std::size_t in_use_ = 0;
};

}  // namespace shardkit::test
