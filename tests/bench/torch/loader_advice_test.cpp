#include "bench/torch/loader_advice.hpp"

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::bench;
using doctest::Approx;

namespace {

/// 5 ms of CPU time per sample of 100 kB, from memory.
LoaderCosts five_milliseconds() {
  LoaderCosts costs;
  costs.sample_bytes = 100e3;
  costs.cpu_seconds = 0.005;
  costs.alone_cpu_seconds = 0.005;
  return costs;
}

LoaderLimits cores(double count) {
  LoaderLimits limits;
  limits.cores = count;
  return limits;
}

LoaderBatches batches_of(std::uint64_t batch, std::uint64_t gpus = 1) {
  LoaderBatches batches;
  batches.gpus = gpus;
  batches.batch = batch;
  batches.decoded_bytes = 602112;
  return batches;
}

LoaderData shards(std::size_t count) {
  LoaderData data;
  data.kind = LoaderKind::webdataset;
  data.image_field = "jpg";
  data.operands = {"train"};
  for (std::size_t i = 0; i < count; ++i) data.shards.push_back("x-" + std::to_string(i) + ".tar");
  return data;
}

LoaderData folder(std::uint64_t images) {
  LoaderData data;
  data.kind = LoaderKind::image_folder;
  data.folder = "photos";
  data.images = images;
  return data;
}

LoaderAdvice advise(const LoaderCosts& costs, const LoaderLimits& limits, const LoaderData& data,
                    const LoaderBatches& batches) {
  return advise_loader(costs, limits, data, batches);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a process for each core is enough where nothing waits: 90 % of 4 cores / 5 ms are 720 samples/s") {
  const LoaderAdvice advice = advise(five_milliseconds(), cores(4), folder(100'000'000), batches_of(256));
  CHECK(advice.workers == 4);
  CHECK(advice.limit == WorkerLimit::rate);
  CHECK(advice.samples_per_second == Approx(720));
  CHECK(contains(advice.line, "num_workers=4, prefetch_factor=2"));
}

TEST_CASE("shards that do not divide by the GPUs leave some with fewer: the next number that does is advised") {
  LoaderBatches batches = batches_of(256);
  batches.gpus = 4;
  const LoaderAdvice uneven = advise(five_milliseconds(), cores(4), shards(10), batches);
  CHECK(uneven.is_uneven);
  CHECK(uneven.shards_needed == 12);
  CHECK(uneven.reshard == "shardctl reshard train OUT --shards 12");
  const LoaderAdvice even = advise(five_milliseconds(), cores(4), shards(12), batches);
  CHECK_FALSE(even.is_uneven);
  CHECK_FALSE(even.shards_needed);
}

TEST_CASE("more processes than cores help while they wait: with 35 ms + 5 ms, 2 cores have work for 14") {
  LoaderCosts costs = five_milliseconds();
  costs.wait_seconds = 0.035;
  const LoaderAdvice advice = advise(costs, cores(2), folder(100'000'000), batches_of(256));
  CHECK(advice.workers == 14);  // of 360/s
  CHECK(advice.samples_per_second == Approx(14 / 0.040556).epsilon(0.001));
}

TEST_CASE("storage that delivers 100 samples/s needs one process of 5 ms") {
  LoaderCosts costs = five_milliseconds();
  costs.storage_per_second = 100;
  LoaderBatches batches = batches_of(256);
  batches.step_seconds = 2;
  const LoaderAdvice advice = advise(costs, cores(8), folder(100'000'000), batches);
  CHECK(advice.workers == 1);
  CHECK(advice.samples_per_second == Approx(100));
}

TEST_CASE("half a core is shared by all processes: 0.5 / (5 ms + 0.5 ms) are 91 samples/s") {
  LoaderCosts costs = five_milliseconds();
  costs.trainer_cpu_seconds = 0.0005;
  LoaderBatches batches = batches_of(256);
  CHECK(loader_rate(costs, cores(0.5), folder(100'000'000), batches, 1) == Approx(0.5 / 0.0055));
  CHECK(loader_rate(costs, cores(0.5), folder(100'000'000), batches, 4) == Approx(0.5 / 0.0055));
  CHECK(advise(costs, cores(0.5), folder(100'000'000), batches).workers == 0);
}

TEST_CASE(
    "a training process without workers does not load during its steps: 1 s and 200 times 5 ms are 100 samples/s") {
  LoaderBatches batches = batches_of(200);
  batches.step_seconds = 1;
  CHECK(loader_rate(five_milliseconds(), cores(1), folder(100'000'000), batches, 0) == Approx(100));
  CHECK(advise(five_milliseconds(), cores(1), folder(100'000'000), batches).workers == 1);
}

TEST_CASE("busy cores slow each other down: 1.5 times 5 ms on 2 cores are 267 samples/s, not 400") {
  LoaderCosts costs = five_milliseconds();
  costs.busy_ratio = 1.5;
  CHECK(loader_rate(costs, cores(2), folder(100'000'000), batches_of(256), 1) == Approx(200));
  CHECK(loader_rate(costs, cores(2), folder(100'000'000), batches_of(256), 2) == Approx(2 / 0.0075).epsilon(0.001));
}

TEST_CASE("no process is without a shard") {
  for (const std::size_t count : {1, 2, 3, 5, 16}) {
    for (const std::uint64_t gpus : {1, 2, 3}) {
      if (count < gpus) continue;
      LoaderBatches batches = batches_of(256, gpus);
      batches.step_seconds = 0.2;
      const LoaderAdvice advice = advise(five_milliseconds(), cores(16), shards(count), batches);
      CAPTURE(count);
      CAPTURE(gpus);
      CHECK(advice.workers >= 1);
      CHECK(advice.workers * gpus <= count);
      LoaderBatches asked = batches_of(256, gpus);
      asked.workers = 100;
      CHECK(advise(five_milliseconds(), cores(16), shards(count), asked).workers * gpus <= count);
    }
  }
}

TEST_CASE("too few shards for the useful processes come with the command that writes as many") {
  const LoaderAdvice advice = advise(five_milliseconds(), cores(4), shards(3), batches_of(256));
  CHECK(advice.workers == 3);
  CHECK(advice.limit == WorkerLimit::shards);
  CHECK(advice.wanted_workers == 4);
  CHECK(advice.shards_needed == 4);
  CHECK(advice.reshard == "shardctl reshard train OUT --shards 4");
  CHECK_FALSE(advise(five_milliseconds(), cores(4), shards(4), batches_of(256)).shards_needed);
}

TEST_CASE("fewer shards than GPUs have no line, only that command") {
  const LoaderAdvice advice = advise(five_milliseconds(), cores(4), shards(1), batches_of(256, 2));
  CHECK(advice.line.empty());
  CHECK(advice.code.empty());
  CHECK(advice.limit == WorkerLimit::shards);
  CHECK(advice.reshard == "shardctl reshard train OUT --shards 4");  // 2 GPUs, 2 processes each
}

TEST_CASE("an epoch ends with the process that has the most shards: 3 shards keep 2 processes as busy as 1.5") {
  const double one = loader_rate(five_milliseconds(), cores(8), shards(3), batches_of(256), 1);
  CHECK(loader_rate(five_milliseconds(), cores(8), shards(3), batches_of(256), 2) == Approx(1.5 * one).epsilon(0.01));
  CHECK(loader_rate(five_milliseconds(), cores(8), folder(768), batches_of(256), 2) == Approx(1.5 * one).epsilon(0.01));
}

TEST_CASE("batches in /dev/shm limit the processes: each has 2 of 154 MB, and one more is in use") {
  LoaderLimits limits = cores(8);
  limits.dev_shm = 800e6;  // 5 batches
  const LoaderAdvice advice = advise(five_milliseconds(), limits, folder(100'000'000), batches_of(256));
  CHECK(advice.workers == 2);
  CHECK(advice.limit == WorkerLimit::dev_shm);
  CHECK(advice.wanted_workers == 8);
  CHECK(advice.dev_shm_needed == Approx(5.0 * 256 * 602112));
}

TEST_CASE("64 MiB of /dev/shm have no space for a batch: the training process loads by itself") {
  LoaderLimits limits = cores(8);
  limits.dev_shm = 64 << 20;
  const LoaderAdvice advice = advise(five_milliseconds(), limits, folder(100'000'000), batches_of(256));
  CHECK(advice.workers == 0);
  CHECK(advice.line == "loader = DataLoader(dataset, batch_size=256, shuffle=True, num_workers=0, pin_memory=True)");
  CHECK(advice.samples_per_second == Approx(200));
  CHECK(advice.dev_shm_needed == 0);
}

TEST_CASE("processes and batches fit into the memory of the control group, those of all GPUs together") {
  LoaderLimits limits = cores(16);
  limits.memory = 4e9;
  LoaderCosts costs = five_milliseconds();
  costs.worker_bytes = 100e6;
  costs.trainer_bytes = 800e6;
  const LoaderAdvice advice = advise(costs, limits, folder(100'000'000), batches_of(256, 2));
  // 2 * (800 MB + n * 100 MB + (2 n + 1) * 154 MB) <= 4 GB
  CHECK(advice.workers == 2);
  CHECK(advice.limit == WorkerLimit::memory);
  CHECK(advice.memory_needed <= 4e9);
}

TEST_CASE("a number that was asked for stays, if it can work") {
  LoaderBatches asked = batches_of(256);
  asked.workers = 12;
  const LoaderAdvice advice = advise(five_milliseconds(), cores(2), folder(100'000'000), asked);
  CHECK(advice.workers == 12);
  CHECK(advice.limit == WorkerLimit::asked);
  CHECK(advice.samples_per_second == Approx(360));
}
