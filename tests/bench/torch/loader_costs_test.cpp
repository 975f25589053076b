#include "bench/torch/loader_costs.hpp"

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
using doctest::Approx;

namespace {

InputSet input_of(const ShardFolder& folder) {
  Context context;
  return find_input({folder.path()}, context);
}

LoaderReads reads_of(const ShardFolder& folder, CacheRequest cache) {
  Context context;
  return measure_loader_reads(input_of(folder), 1000, 0, cache, 5, context);
}

LoaderBatches float_crops() {
  LoaderBatches batches;
  batches.decoded_bytes = 602112;
  return batches;
}

LoaderCosts estimate(LoaderKind kind, const SampleWork& work) {
  LoaderData data;
  data.kind = kind;
  return loader_costs(data, work, {}, float_crops(), 100e3, {});
}

constexpr SampleWork kPhoto{100e3, 0.2, 0.001, 1.2};

}  // namespace

TEST_CASE("image files are read one by one, with the time of each call") {
  const ShardFolder folder;
  for (std::uint32_t i = 0; i < 20; ++i) folder.write(std::to_string(i) + ".jpg", small_jpeg(i));
  const LoaderReads reads = reads_of(folder, CacheRequest::any);
  REQUIRE(reads.file_costs);
  CHECK(reads.file_costs->files == 20);
  CHECK(reads.file_costs->read_seconds > 0);
  CHECK(reads.samples_per_second.value() > 0);
  CHECK(reads.wait_seconds >= 0);
}

TEST_CASE("shards have no costs of files, and data in memory has no limit of storage") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(20, "a"));
  const LoaderReads reads = reads_of(folder, CacheRequest::warm);
  CHECK_FALSE(reads.file_costs);
  CHECK_FALSE(reads.samples_per_second);
  CHECK(reads.wait_seconds == 0);
  CHECK(reads_of(folder, CacheRequest::any).samples_per_second.value() > 0);
}

TEST_CASE("the work of a sample has its pixels, and time for decoding all of them") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(16, "a"));
  Context context;
  const SampleWork work = measure_sample_work(input_of(folder), 2, 0.1, {}, context);
  CHECK(work.megapixels == Approx(71.5 * 48 * 1e-6));  // 64 to 79 pixels wide
  CHECK(work.cpu_seconds > 0);
  CHECK(work.busy_ratio >= 1);
  CHECK(work.sample_bytes > 0);
}

TEST_CASE("a sample costs more with more pixels, from a shard, and in the shared memory of a worker") {
  SampleWork large = kPhoto;
  large.megapixels = 12;
  const LoaderCosts photo = estimate(LoaderKind::image_folder, kPhoto);
  CHECK(photo.cpu_seconds > kPhoto.cpu_seconds);
  CHECK(photo.busy_ratio == 1.2);
  CHECK(photo.cpu_seconds > photo.alone_cpu_seconds);
  CHECK_FALSE(photo.calibrated);
  CHECK(estimate(LoaderKind::image_folder, large).cpu_seconds > 5 * photo.cpu_seconds);
  CHECK(estimate(LoaderKind::webdataset, kPhoto).cpu_seconds > photo.cpu_seconds);
}

TEST_CASE("unpacking costs a process its CPU time, and samples count unpacked in its memory") {
  SampleWork packed = kPhoto;
  packed.unpack = UnpackCosts{4, 100, 100e3, 120e3, 0.0007};
  const LoaderCosts plain = estimate(LoaderKind::webdataset, kPhoto);
  const LoaderCosts unpacked = estimate(LoaderKind::webdataset, packed);
  CHECK(unpacked.cpu_seconds == Approx(plain.cpu_seconds + 0.0007));
  CHECK(unpacked.alone_cpu_seconds == Approx(plain.alone_cpu_seconds + 0.0007));
  CHECK(unpacked.sample_bytes == 120e3);
  CHECK(plain.sample_bytes == 100e3);
}

TEST_CASE("measured costs of the user's Python replace the estimates") {
  Calibration calibration;
  calibration.worker_seconds = 0.004;
  calibration.alone_seconds = 0.003;
  calibration.trainer_seconds = 0.0002;
  calibration.worker_bytes = 5e7;
  calibration.trainer_bytes = 9e8;
  LoaderReads reads;
  reads.wait_seconds = 0.01;
  const LoaderCosts costs = loader_costs({}, kPhoto, reads, float_crops(), 100e3, calibration);
  CHECK(costs.calibrated);
  CHECK(costs.cpu_seconds == 0.004);
  CHECK(costs.alone_cpu_seconds == 0.003);
  CHECK(costs.trainer_cpu_seconds == 0.0002);
  CHECK(costs.worker_bytes == 5e7);
  CHECK(costs.trainer_bytes == 9e8);
  CHECK(costs.wait_seconds == 0.01);
}
