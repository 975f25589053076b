#include "bench/model/model.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using doctest::Approx;

namespace {

ModelOptions worked_example() {
  ModelOptions options;
  options.gpus = 8;
  options.batch = 256;
  options.step_time = 0.2;
  options.sample_bytes = 130'000;
  return options;
}

ErrorCode code_of(const ModelOptions& options) {
  Context context;
  try {
    model(options, context);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error came");
  return ErrorCode::io;
}

}  // namespace

TEST_CASE("the worked example of docs/model.md: what 8 GPUs require") {
  Context context;
  ModelOptions options = worked_example();
  options.decode_per_core = 512;
  options.dataset_bytes = 133'120'000'000;
  options.stage_rate = 665.6e6;
  const ModelResult result = model(options, context);
  REQUIRE(result.required);
  CHECK(result.required->samples_per_second == Approx(10240));
  CHECK(result.required->bytes_per_second == Approx(1.3312e9));
  CHECK(result.required->files_per_second == Approx(10240));
  CHECK(result.required->decode_cores.value() == Approx(20));
  CHECK(result.required->h2d_bytes_per_second == Approx(10240.0 * 602112));
  CHECK(result.required->prefetch_memory == Approx(8.0 * 8 * 2 * 256 * 602112));
  CHECK(result.required->dev_shm == result.required->prefetch_memory);
  CHECK(result.required->epoch_seconds.value() == Approx(100));
  CHECK(result.required->staging_seconds.value() == Approx(200));
  CHECK_FALSE(result.supply);
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("a supply that falls short names the stage, both utilisations and is a finding") {
  Context context;
  ModelOptions options = worked_example();
  options.read_rate = 2.6624e9;  // 20480/s
  options.decode_rate = 2560;
  options.gpu_hour_cost = 3;
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "decode");
  CHECK(result.headroom_ratio.value() == Approx(0.25));
  CHECK(result.predicted_au_ratio.value() == Approx(0.25));
  CHECK(result.predicted_au_serial_ratio.value() == Approx(0.2 / (0.2 + 0.8)));
  CHECK(result.gpus_fed == 2);
  CHECK(result.idle_cost_per_hour.value() == Approx(0.75 * 8 * 3));
  CHECK(result.has_findings());
}

TEST_CASE("with enough of everything the GPUs limit") {
  Context context;
  ModelOptions options = worked_example();
  options.read_rate = 2e9;
  options.egress_cost = 0.1;
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "compute");
  CHECK(result.predicted_au_ratio == 1.0);
  CHECK(result.egress_cost_per_hour.value() == Approx(1.3312 * 3600 * 0.1));
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("a preset's threshold decides, single values replace the preset's") {
  Context context;
  ModelOptions options;
  options.preset = "resnet50-a100";
  options.read_rate = 0.91 * 114660 * 400 / 0.435;
  CHECK_FALSE(model(options, context).has_findings());
  options.min_au = 0.95;
  CHECK(model(options, context).has_findings());
  options.batch = 100;
  CHECK(model(options, context).required->samples_per_second == Approx(100 / 0.435));
  CHECK(model(options, context).edition == "MLPerf Storage v2.0");
}

TEST_CASE("a workload that is no JPEG needs no decoding and moves what it stores") {
  Context context;
  ModelOptions options;
  options.preset = "unet3d-h100";
  options.decode_rate = 1;
  options.read_rate = 4e9;
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "compute");
  CHECK(result.required->h2d_bytes_per_second == Approx(result.required->bytes_per_second));
}

TEST_CASE("a supply without a job tells for each preset how many GPUs it feeds") {
  Context context;
  ModelOptions options;
  options.read_rate = 2e9;
  options.decode_rate = 4000;
  const ModelResult result = model(options, context);
  for (const PresetRow& row : result.presets) {
    CAPTURE(row.name);
    if (row.name == "resnet50-a100") CHECK(row.gpus_fed == 4);   // 4000 / (0.9 * 919.5) = 4.83
    if (row.name == "unet3d-a100") CHECK(row.gpus_fed == 1);     // 2e9 / (0.9 * 1.6135e9) = 1.38
    if (row.name == "cosmoflow-a100") CHECK(row.gpus_fed == 5);  // 2e9 / (0.7 * 513.3e6) = 5.57
  }
  CHECK(result.presets.size() == presets().size());
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("checkpoints: 112.7 GB at 2 GB/s every 1000 steps of 0.2 s") {
  Context context;
  ModelOptions options = worked_example();
  options.checkpoint_bytes = 112'700'000'000;
  options.checkpoint_rate = 2e9;
  options.checkpoint_every = 1000;
  options.checkpoint_copy_time = 4;
  const CheckpointCost cost = model(options, context).required->checkpoint.value();
  CHECK(cost.write_seconds == Approx(56.35));
  CHECK(cost.synchronous_share_ratio == Approx(56.35 / 256.35));
  CHECK(cost.asynchronous_share_ratio == Approx(4.0 / 204));
  CHECK(cost.fits_interval);
}

TEST_CASE("measured results are a supply") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("run.json");
  write_file(*options.from, R"({"schema":"shardkit/run","result":{"read":{"bytes_per_second":1.3e9,
      "samples_per_second":10000},"decode":{"samples_per_second":5120,"samples_per_second_per_core":640}}})");
  const ModelResult run = model(options, context);
  CHECK(run.limiting_stage == "decode");
  CHECK(run.headroom_ratio.value() == Approx(0.5));
  CHECK(run.required->decode_cores.value() == Approx(16));
  write_file(*options.from, R"({"schema":"shardkit/read","result":{"bytes_per_second":0.6656e9}})");
  CHECK(model(options, context).limiting_stage == "read");
  CHECK(model(options, context).headroom_ratio.value() == Approx(0.5));
}

TEST_CASE("a run is taken at its ladder: cores that read decode the less") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("run.json");
  write_file(*options.from, R"({"schema":"shardkit/run","result":{
      "read":{"bytes_per_second":2e9,"cache":{"state":"cold"}},
      "decode":{"samples_per_second":11000,"samples_per_second_per_core":640},
      "ladder":[{"stage":"read","measured_per_second":15000},{"stage":"decode","measured_per_second":5120}]}})");
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "decode");
  CHECK(result.headroom_ratio.value() == Approx(0.5));
  CHECK(result.supply->cache_state == "cold");
  CHECK(context.warnings().empty());
}

TEST_CASE("a supply that may be the page cache's is warned of, unless the rate is given apart") {
  const TempDir dir;
  ModelOptions options = worked_example();
  options.from = dir.path("read.json");
  for (const char* state : {"warm", "mixed", "unknown"}) {
    write_file(*options.from, fmt::format(R"({{"schema":"shardkit/read","result":{{"bytes_per_second":6e9,
        "cache":{{"state":"{}"}}}}}})",
                                          state));
    Context context;
    model(options, context);
    REQUIRE(context.warnings().size() == 1);
    CHECK(context.warnings().front().code == "supply_not_cold");
  }
  options.read_rate = 1e9;
  Context context;
  model(options, context);
  CHECK(context.warnings().empty());
}

TEST_CASE("an option that would change nothing is refused") {
  ModelOptions supply;
  supply.read_rate = 1e9;
  const auto refused = [](ModelOptions options, auto change) {
    change(options);
    return code_of(options) == ErrorCode::usage;
  };
  CHECK(refused(supply, [](ModelOptions& o) { o.gpus = 8; }));
  CHECK(refused(supply, [](ModelOptions& o) { o.min_au = 0.9; }));
  CHECK(refused(supply, [](ModelOptions& o) { o.sample_bytes = 130'000; }));
  CHECK(refused(supply, [](ModelOptions& o) { o.dataset_bytes = 1; }));
  CHECK(refused(supply, [](ModelOptions& o) { o.decode_per_core = 500; }));
  CHECK(refused(supply, [](ModelOptions& o) { o.gpu_hour_cost = 3; }));
  CHECK(refused(supply, [](ModelOptions& o) { o.egress_cost = 0.1; }));
  CHECK(refused(worked_example(), [](ModelOptions& o) { o.gpu_hour_cost = 3; }));  // without a supply nothing idles
  CHECK(refused(worked_example(), [](ModelOptions& o) { o.stage_rate = 1e9; }));
  CHECK(refused(worked_example(), [](ModelOptions& o) { o.checkpoint_rate = 1e9; }));
  CHECK(refused(worked_example(), [](ModelOptions& o) { o.checkpoint_every = 100; }));
  CHECK(refused(worked_example(), [](ModelOptions& o) { o.checkpoint_copy_time = 1; }));
}

TEST_CASE("files that are no usable result are refused") {
  const TempDir dir;
  ModelOptions options = worked_example();
  options.from = dir.path("result.json");
  CHECK(code_of(options) == ErrorCode::not_found);
  for (const char* text : {"", "{", "[]", "{\"schema\":3,\"result\":{}}"}) {
    write_file(*options.from, text);
    CHECK(code_of(options) == ErrorCode::corrupt);
  }
  for (const char* text :
       {R"({"schema":"shardkit/verify","result":{}})", R"({"schema":"shardkit/run","result":null})"}) {
    write_file(*options.from, text);
    CHECK(code_of(options) == ErrorCode::usage);
  }
}

TEST_CASE("jobs that make no sense are usage errors") {
  CHECK(code_of({}) == ErrorCode::usage);
  const auto broken = [](auto change) {
    ModelOptions options = worked_example();
    change(options);
    return code_of(options);
  };
  CHECK(broken([](ModelOptions& o) { o.batch = 0; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.gpus = 0; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.step_time = 0; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.sample_bytes.reset(); }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.min_au = 1.5; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.workers = 0; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.checkpoint_bytes = 1; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.checkpoint_copy_time = -1; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.egress_cost = -1; }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) {
          o.read_rate = 1e9;
          o.gpu_hour_cost = -3;
        }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.preset = "resnet-9000"; }) == ErrorCode::usage);
}
