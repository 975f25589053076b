#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/read/read_options.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

const std::vector<InputFile> kFile{{"/data/x.bin", 1U << 30U, false, 1}};

}  // namespace

TEST_CASE("fio's command has the same pattern, engine, depth, threads, cache and time") {
  ReadOptions options;
  options.mode = ReadMode::random;
  options.block = 256U << 10U;
  options.threads = 8;
  options.engine = io::EngineKind::uring;
  options.direct = true;
  options.min_time = 20;
  CHECK(
      fio_command(options, kFile) ==
      "fio --name=read --filename='/data/x.bin' --readonly --rw=randread --bs=262144 --ioengine=io_uring --iodepth=32 "
      "--numjobs=8 --size=12% --offset_increment=12% --direct=1 --fixedbufs=1 --time_based --runtime=20 --thread "
      "--group_reporting");
  options.mode = ReadMode::sequential;
  options.engine = io::EngineKind::pread;
  options.threads = 4;
  CHECK(fio_command(options, kFile) ==
        "fio --name=read --filename='/data/x.bin' --readonly --rw=read --bs=262144 --ioengine=psync --iodepth=1 "
        "--numjobs=4 --size=25% --offset_increment=25% --direct=1 --time_based --runtime=20 --thread "
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
