#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/read/read_options.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

ReadOptions job(const std::string& name) {
  ReadOptions options;
  options.job = name;
  return options;
}

const std::vector<InputFile> kFile{{"/data/x.bin", 1U << 30U, false, 1}};

}  // namespace

TEST_CASE("seq-read stands for 1 MiB reads of 4 jobs, direct, for a minute") {
  const ReadOptions full = with_job(job("seq-read"));
  CHECK(full.mode == ReadMode::sequential);
  CHECK(block_of(full) == 1U << 20U);
  CHECK(threads_of(full) == 4);
  CHECK(engine_of(full) == io::EngineKind::pread);
  CHECK(depth_of(full) == 1);
  CHECK(full.direct);
  CHECK(full.min_time == 60.0);
  CHECK(full.budget == 60.0);
  CHECK(describe_job(full).starts_with("fio's seq-read: sequential reads of 1MiB, 1 in flight in each of 4"));
}

TEST_CASE("rand-read stands for 256 KiB reads, 32 in flight in each of 8 jobs") {
  const ReadOptions full = with_job(job("rand-read"));
  CHECK(full.mode == ReadMode::random);
  CHECK(grid_of(full) == 256U << 10U);
  CHECK(threads_of(full) == 8);
  CHECK(engine_of(full) == io::EngineKind::uring);
  CHECK(depth_of(full) == 32);
  CHECK(full.direct);
}

TEST_CASE("rand-read by pread is what people run who give fio no ioengine: a depth of 1") {
  ReadOptions options = job("rand-read");
  options.engine = io::EngineKind::pread;
  CHECK(depth_of(with_job(options)) == 1);
  CHECK(threads_of(with_job(options)) == 8);
}

TEST_CASE("what is given goes before what the job says, and the time bounds both ways") {
  ReadOptions options = job("rand-read");
  options.threads = 2;
  options.depth = 4;
  options.block = 4096;
  options.min_time = 3;
  const ReadOptions full = with_job(options);
  CHECK(threads_of(full) == 2);
  CHECK(depth_of(full) == 4);
  CHECK(grid_of(full) == 4096);
  CHECK(full.budget == 3.0);
  options.min_time.reset();
  options.budget = 5;
  CHECK(with_job(options).min_time == 5.0);
}

TEST_CASE("a job that there is not, or that --mode contradicts, is a usage error") {
  CHECK(error_code_of([] { with_job(job("seq-write")); }) == ErrorCode::usage);
  CHECK(error_code_of([] { with_job(job("")); }) == ErrorCode::usage);
  ReadOptions options = job("seq-read");
  options.mode = ReadMode::random;
  CHECK(error_code_of([&] { with_job(options); }) == ErrorCode::usage);
  options.mode = ReadMode::imagefolder;
  CHECK(error_code_of([&] { with_job(options); }) == ErrorCode::usage);
}

TEST_CASE("fio's command has the same pattern, engine, depth, threads, cache and time") {
  ReadOptions options = job("rand-read");
  options.min_time = 20;
  CHECK(
      fio_command(with_job(options), kFile) ==
      "fio --name=read --filename='/data/x.bin' --readonly --rw=randread --bs=262144 --ioengine=io_uring --iodepth=32 "
      "--numjobs=8 --size=12% --offset_increment=12% --direct=1 --fixedbufs=1 --time_based --runtime=20 --thread "
      "--group_reporting");
  CHECK(fio_command(with_job(job("seq-read")), kFile) ==
        "fio --name=read --filename='/data/x.bin' --readonly --rw=read --bs=1048576 --ioengine=psync --iodepth=1 "
        "--numjobs=4 --size=25% --offset_increment=25% --direct=1 --time_based --runtime=60 --thread "
        "--group_reporting");
}

TEST_CASE("fio's command quotes names, and there is none for what fio cannot do") {
  ReadOptions options;
  options.threads = 1;
  const std::vector<InputFile> odd{{"/a:b/it's", 1, false, 1}, {"/c", 1, false, 1}};
  CHECK(fio_command(options, odd).find("--filename='/a\\:b/it'\\''s:/c'") != std::string::npos);
  options.cache = CacheRequest::cold;
  CHECK(fio_command(options, kFile).find("--direct=0 --invalidate=1") != std::string::npos);
  options.min_time = 20;  // a time-based job would go round in what it has read
  CHECK(fio_command(options, kFile).find("--loops=1000 --runtime=20") != std::string::npos);
  options.mode = ReadMode::random;  // samples
  CHECK(fio_command(options, kFile).empty());
  options.mode = ReadMode::imagefolder;
  CHECK(fio_command(options, kFile).empty());
}
