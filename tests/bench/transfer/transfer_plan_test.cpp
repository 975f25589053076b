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
}

TEST_CASE("lists choose kinds, sizes and streams") {
  const TransferPlan plan = plan_with([](TransferOptions& o) {
    o.kinds = "pinned,write-combined";
    o.bytes = "1MiB,3";
    o.depth = "1,8";
  });
  REQUIRE(plan.jobs.size() == 24);
  CHECK(plan.jobs[3].streams == 8);
  CHECK(plan.jobs[6].bytes == 3);
  CHECK(plan.jobs[12].kind == HostMemory::write_combined);
}

TEST_CASE("memory of a job: a piece for each stream and direction, each from the start of a page") {
  const CopyJob job{HostMemory::pinned, CopyDirection::both, 4097, 3};
  CHECK(job.lanes() == 6);
  CHECK(job.memory() == 6 * 8192);
}

TEST_CASE("what cannot be meant is a usage error that names the option") {
  CHECK(complaint([](TransferOptions& o) { o.kinds = "pinned,paged"; }) ==
        "--kinds: 'paged' is not one of pageable, pinned, write-combined, registered");
  CHECK(complaint([](TransferOptions& o) { o.kinds = ""; }).starts_with("--kinds: '' is not a list of"));
  CHECK(complaint([](TransferOptions& o) { o.bytes = "1MiB,many"; }).starts_with("--bytes: 'many' is not a size"));
  CHECK(complaint([](TransferOptions& o) { o.bytes = "0"; }).starts_with("--bytes: '0' is not"));
  CHECK(complaint([](TransferOptions& o) { o.bytes = "2TiB"; }).starts_with("--bytes: '2TiB' is not"));
  CHECK(complaint([](TransferOptions& o) { o.depth = "9"; }) == "--depth: '9' is not a number from 1 to 8");
  CHECK(complaint([](TransferOptions& o) { o.depth = "0"; }).starts_with("--depth"));
}

TEST_CASE("gaps in lists, what is named twice and a GPU that is no number are usage errors") {
  for (const char* list : {"1KiB,,2", ",4K", "4K,", "4096,4KiB"}) {
    CAPTURE(list);
    CHECK(complaint([&](TransferOptions& o) { o.bytes = list; }).starts_with("--bytes: '"));
  }
  CHECK(complaint([](TransferOptions& o) { o.kinds = "pinned,pinned"; }).starts_with("--kinds"));
  CHECK(complaint([](TransferOptions& o) { o.depth = "1,1"; }).starts_with("--depth"));
  CHECK(complaint([](TransferOptions& o) { o.device = "x"; }) == "--device: 'x' is not the number of a GPU, or all");
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
