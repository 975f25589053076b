#include <doctest/doctest.h>

#include "bench/transfer/transfer.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit_test;

namespace {

TransferPlan plan_with(auto change) {
  TransferOptions options;
  change(options);
  return plan_transfer(options);
}

/// What the usage error says, or nothing when there is none.
std::string complaint(auto change) {
  const auto failure = failure_of([&] { plan_with(change); });
  return failure == ErrorCode::usage ? failure.text : std::string();
}

}  // namespace

TEST_CASE("by default every kind goes each way in powers of 4 from 4 KiB to 1 GiB, on one stream") {
  const TransferPlan plan = plan_transfer({});
  REQUIRE(plan.jobs.size() == 4 * 10 * 3);
  CHECK(plan.kinds.size() == 4);
  CHECK(plan.jobs.front().bytes == 4096);
  CHECK(plan.jobs.front().kind == HostMemory::pageable);
  CHECK(plan.jobs[3].bytes == 4 * 4096);
  CHECK(plan.jobs.back().bytes == 1U << 30U);
  CHECK(plan.jobs.back().kind == HostMemory::registered);
  CHECK(plan.jobs.back().direction == CopyDirection::both);
  CHECK(plan.jobs.back().streams == 1);
  CHECK_FALSE(plan.samples);
}

TEST_CASE("lists choose kinds, directions, sizes and streams") {
  const TransferPlan plan = plan_with([](TransferOptions& o) {
    o.kinds = "pinned,write-combined";
    o.directions = "d2h";
    o.bytes = "1MiB,3";
    o.streams = "1,8";
  });
  REQUIRE(plan.jobs.size() == 8);
  CHECK(plan.jobs[1].streams == 8);
  CHECK(plan.jobs[2].bytes == 3);
  CHECK(plan.jobs[4].kind == HostMemory::write_combined);
}

TEST_CASE("memory of a job: a piece for each stream and direction, each from the start of a page") {
  const CopyJob job{HostMemory::pinned, CopyDirection::both, 4097, 3};
  CHECK(job.lanes() == 6);
  CHECK(job.memory() == 6 * 8192);
}

TEST_CASE("a batch says how large a copy is") {
  const auto bytes_of = [](TensorType type) {
    const TransferPlan plan = plan_with([&](TransferOptions& o) {
      o.batch = 256;
      o.dtype = type;
    });
    CHECK(plan.samples == 256);
    return plan.jobs.front().bytes;
  };
  CHECK(bytes_of(TensorType::u8) == 38'535'168);  // 256 x 3 x 224 x 224
  CHECK(bytes_of(TensorType::f16) == 2 * 38'535'168);
  CHECK(bytes_of(TensorType::f32) == 4 * 38'535'168ULL);
}

TEST_CASE("what cannot be meant is a usage error that names the option") {
  CHECK(complaint([](TransferOptions& o) { o.kinds = "pinned,paged"; }) ==
        "--kinds: 'paged' is not one of pageable, pinned, write-combined, registered");
  CHECK(complaint([](TransferOptions& o) { o.kinds = ""; }).starts_with("--kinds: '' is not a list of"));
  CHECK(complaint([](TransferOptions& o) { o.directions = "up"; }) ==
        "--directions: 'up' is not one of h2d, d2h, both");
  CHECK(complaint([](TransferOptions& o) { o.bytes = "1MiB,many"; }).starts_with("--bytes: 'many' is not a size"));
  CHECK(complaint([](TransferOptions& o) { o.bytes = "0"; }).starts_with("--bytes: '0' is not"));
  CHECK(complaint([](TransferOptions& o) { o.bytes = "2TiB"; }).starts_with("--bytes: '2TiB' is not"));
  CHECK(complaint([](TransferOptions& o) { o.streams = "9"; }) == "--streams: '9' is not a number from 1 to 8");
  CHECK(complaint([](TransferOptions& o) { o.streams = "0"; }).starts_with("--streams"));
  CHECK(complaint([](TransferOptions& o) { o.batch = 0; }).starts_with("--batch: '0' is not 1 to"));
  CHECK(complaint([](TransferOptions& o) {
          o.batch = 99'999'999'999;
        }).starts_with("--batch: '99999999999' is not 1 to 7304366 samples of 147 KiB"));
  CHECK(complaint([](TransferOptions& o) {
          o.gds = "file";
          o.threads = 0;
        }).starts_with("--threads must be from 1 to 4096"));
  for (const char* shape : {"", "3x0x4", "axb", "3x18446744073709551615x4", "1000000x1000000x1000000"}) {
    CAPTURE(shape);
    const std::string text = complaint([&](TransferOptions& o) {
      o.batch = 4;
      o.shape = shape;
    });
    CHECK(text.starts_with("--shape"));
  }
  CHECK(complaint([](TransferOptions& o) {
          o.batch = 4;
          o.bytes = "1MiB";
        }).starts_with("--batch and --bytes"));
}

TEST_CASE("gaps in lists, what is named twice and a GPU that is no number are usage errors") {
  for (const char* list : {"1KiB,,2", ",4K", "4K,", "4096,4KiB"}) {
    CAPTURE(list);
    CHECK(complaint([&](TransferOptions& o) { o.bytes = list; }).starts_with("--bytes: '"));
  }
  CHECK(complaint([](TransferOptions& o) { o.directions = "h2d,h2d"; }) ==
        "--directions: 'h2d,h2d' is not a list without repetitions");
  CHECK(complaint([](TransferOptions& o) { o.kinds = "pinned,pinned"; }).starts_with("--kinds"));
  CHECK(complaint([](TransferOptions& o) { o.streams = "1,1"; }).starts_with("--streams"));
  CHECK(complaint([](TransferOptions& o) { o.device = "x"; }) == "--device: 'x' is not the number of a GPU, or all");
}

TEST_CASE("an option that would change nothing is refused, with what it needs beside it") {
  CHECK(complaint([](TransferOptions& o) { o.shape = "3x4"; }).find("needs --batch N") != std::string::npos);
  CHECK(complaint([](TransferOptions& o) { o.dtype = TensorType::f32; }).find("needs --batch N") != std::string::npos);
  CHECK(complaint([](TransferOptions& o) { o.threads = 2; }).find("needs --gds FILE") != std::string::npos);
}

TEST_CASE("a GPU is chosen by its number, or all are") {
  FakeDevice first;
  FakeDevice second;
  const std::vector<Device*> both{&first, &second};
  CHECK(chosen_devices("1", both) == std::vector<Device*>{&second});
  CHECK(chosen_devices("all", both) == both);
  CHECK(failure_of([&] { chosen_devices("first", both); }) == ErrorCode::usage);
  const auto absent = failure_of([&] { chosen_devices("2", both); });
  CHECK(absent == ErrorCode::unsupported);
  CHECK(absent.says("this process can use 2 GPUs, counted from 0"));
}
