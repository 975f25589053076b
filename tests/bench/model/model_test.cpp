#include "bench/model/model.hpp"

#include <algorithm>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "bench/bench_data.hpp"
#include "bench/requirement/requirement.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
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

/// What model() makes of a result file with this text.
ModelResult modeled_from(ModelOptions options, std::string_view text, Context& context) {
  const TempDir dir;
  options.from = dir.path("result.json");
  write_file(*options.from, text);
  return model(options, context);
}

constexpr std::string_view kRead = R"({"schema":"shardkit/read","result":{"bytes_per_second":2.6e9,
    "samples_per_second":20000,"cache":{"state":"cold"}}})";

}  // namespace

TEST_CASE("the worked example of docs/explain/model.md: what 8 GPUs require") {
  Context context;
  ModelOptions options = worked_example();
  options.crop = 224;
  options.dataset_bytes = 133'120'000'000;
  const ModelResult result = model(options, context);
  REQUIRE(result.required);
  CHECK(result.required->samples_per_second == Approx(10240));
  CHECK(result.required->bytes_per_second == Approx(1.3312e9));
  CHECK(result.required->files_per_second == Approx(10240));
  CHECK(result.required->h2d_bytes_per_second == Approx(10240.0 * 602112));
  CHECK(result.required->prefetch_memory == Approx(8.0 * 8 * 2 * 256 * 602112));
  CHECK(result.required->dev_shm == result.required->prefetch_memory);
  CHECK(result.required->epoch_seconds.value() == Approx(100));
  CHECK_FALSE(result.supply);
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("a supply that falls short names the stage, both utilizations and is a finding") {
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
  options.decode_rate = 20'000;
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "compute");
  CHECK(result.predicted_au_ratio == 1.0);
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
  CHECK(cost.asynchronous_share_ratio.value() == Approx(4.0 / 204));
  CHECK(cost.fits_interval);
}

TEST_CASE("a checkpoint that does not fit its interval decides the verdict, whatever the input delivers") {
  Context context;
  ModelOptions options = worked_example();
  options.checkpoint_bytes = 20'000'000'000;
  options.checkpoint_rate = 1e9;
  options.checkpoint_every = 50;  // steps of 0.2 s: 10 s
  options.checkpoint_copy_time = 1;
  const ModelResult alone = model(options, context);
  CHECK(alone.has_findings());
  CHECK(alone.limiting_stage == "checkpoint");
  CHECK(alone.text.starts_with("checkpoint is the bottleneck: writing one takes 20"));
  options.read_rate = 2e9;
  options.decode_rate = 20'000;
  const ModelResult fed = model(options, context);
  CHECK(fed.has_findings());
  CHECK(fed.limiting_stage == "checkpoint");
  CHECK(fed.text.find("GPUs are fed") != std::string::npos);
  options.checkpoint_every = 100;
  CHECK_FALSE(model(options, context).has_findings());
}

TEST_CASE("samples that are tokens, video or bytes are judged by reading") {
  Context context;
  ModelOptions options = worked_example();
  options.read_rate = 2e9;
  CHECK(model(options, context).requirement == RequirementState::undecided);
  for (const SampleKind kind : {SampleKind::tokens, SampleKind::video, SampleKind::bytes}) {
    options.sample_kind = kind;
    CHECK(model(options, context).requirement == RequirementState::met);
  }
  options.sample_kind = SampleKind::images;
  CHECK(model(options, context).requirement == RequirementState::undecided);
  ModelOptions alone;
  alone.sample_kind = SampleKind::tokens;
  CHECK(code_of(alone) == ErrorCode::usage);
}

TEST_CASE("samples that are said to be images become crops, also if only reading was measured") {
  Context context;
  ModelOptions options = worked_example();
  options.read_rate = 2e9;
  const double stored = model(options, context).required->h2d_bytes_per_second;
  options.sample_kind = SampleKind::images;
  const double crops = model(options, context).required->h2d_bytes_per_second;
  options.crop = 224;
  CHECK(crops == model(options, context).required->h2d_bytes_per_second);
  CHECK(crops > stored);
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

TEST_CASE("a run is taken at its table of stages: cores that read decode the less") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("run.json");
  write_file(*options.from, R"({"schema":"shardkit/run","result":{
      "read":{"bytes_per_second":2e9,"cache":{"state":"cold"}},
      "decode":{"samples_per_second":11000,"samples_per_second_per_core":640},
      "stages":[{"stage":"read","measured_per_second":15000},{"stage":"decode","measured_per_second":5120}]}})");
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "decode");
  CHECK(result.headroom_ratio.value() == Approx(0.5));
  CHECK(result.supply->cache_state == "cold");
  CHECK(context.warnings().empty());
}

TEST_CASE("where a run measured its pipeline, that stands for the slower stage, as in the run's own verdict") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("run.json");
  const auto write_run = [&](double read, double decode, double pipeline) {
    write_file(*options.from, fmt::format(R"({{"schema":"shardkit/run","result":{{
      "read":{{"bytes_per_second":{},"samples_per_second":{}}},"decode":{{"samples_per_second":1,"mix":{{"mean_bytes":130000}}}},
      "stages":[{{"stage":"read","measured_per_second":{}}},{{"stage":"decode","measured_per_second":{}}},
                {{"stage":"pipeline","measured_per_second":{}}}]}}}})",
                                          read * 130'000, read, read, decode, pipeline));
    return model(options, context);
  };
  const ModelResult decoding = write_run(15'000, 9'000, 5'120);
  CHECK(decoding.limiting_stage == "decode");
  CHECK(decoding.headroom_ratio.value() == Approx(0.5));
  const ModelResult reading = write_run(6'000, 9'000, 5'120);
  CHECK(reading.limiting_stage == "read");
  CHECK(reading.headroom_ratio.value() == Approx(0.5));
}

TEST_CASE("images larger than those that were measured decode the slower, in proportion to their bytes") {
  CHECK(decode_rate_of(1000, 110'000, 330'000) == Approx(1000.0 / 3));
  CHECK(decode_rate_of(1000, 110'000, 115'000) == 1000);  // no difference
  CHECK(decode_rate_of(1000, 110'000, 50'000) == 1000);   // nobody measured smaller ones
  CHECK(decode_rate_of(1000, 0, 50'000) == 1000);
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("decode.json");
  options.read_rate = 100e9;
  write_file(*options.from,
             R"({"schema":"shardkit/decode","result":{"samples_per_second":20480,"mix":{"mean_bytes":130000}}})");
  CHECK(model(options, context).requirement == RequirementState::met);
  options.sample_bytes = 520'000;
  const ModelResult larger = model(options, context);
  CHECK(larger.limiting_stage == "decode");
  CHECK(larger.headroom_ratio.value() == Approx(0.5));
}

TEST_CASE("a pipeline is a supply of samples, limited by the stage that set its pace") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("pipeline.json");
  write_file(*options.from, R"({"schema":"shardkit/pipeline","result":{"source":"shards","decode":"cpu",
      "limiting_stage":"augment","samples_per_second":5120,"bytes_per_second":6e8,"cache":{"state":"cold"},
      "stages":[{"name":"read","cpu_seconds_per_sample":1e-4},{"name":"decode","cpu_seconds_per_sample":0.002}]}})");
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "augment");
  CHECK(result.headroom_ratio.value() == Approx(0.5));
  CHECK(result.text.starts_with("augment is the bottleneck: 5,120 samples/s available, 10,240 needed"));
  CHECK(result.supply->pipeline_stage == "augment");
  CHECK(result.supply->cache_state == "cold");
  CHECK(result.required->decode_cores.value() == Approx(20.48));
  CHECK(context.warnings().empty());
  ModelOptions alone;
  alone.from = options.from;
  CHECK(model(alone, context).text.starts_with("feeds 6 A100, "));  // 5120 / (0.9 * 919.5) = 6.19
}

TEST_CASE("a pipeline that its own steps held back is a supply where it is enough, and none where it is not") {
  const TempDir dir;
  ModelOptions options = worked_example();
  options.from = dir.path("pipeline.json");
  write_file(*options.from, R"({"schema":"shardkit/pipeline","result":{"source":"shards","decode":"cpu",
      "limiting_stage":"compute","samples_per_second":1280}})");
  CHECK(code_of(options) == ErrorCode::usage);
  options.gpus = 1;
  options.step_time = 0.256;  // 1000/s
  Context context;
  const ModelResult result = model(options, context);
  CHECK(result.limiting_stage == "compute");
  CHECK_FALSE(result.has_findings());
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings().front().code == "supply_is_a_bound");
}

TEST_CASE("a pipeline whose images a GPU decoded is a supply, and tells nothing of cores for decoding") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("pipeline.json");
  write_file(*options.from, R"({"schema":"shardkit/pipeline","result":{"source":"shards","decode":"nvjpeg",
      "limiting_stage":"decode","samples_per_second":5120,
      "stages":[{"name":"decode","cpu_seconds_per_sample":1e-5}]}})");
  const ModelResult result = model(options, context);
  CHECK(result.headroom_ratio.value() == Approx(0.5));
  CHECK_FALSE(result.required->decode_cores);
}

TEST_CASE("a pipeline that decoded nothing tells what reading gives, one that read nothing tells nothing") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("pipeline.json");
  write_file(*options.from, R"({"schema":"shardkit/pipeline","result":{"source":"shards","decode":"null",
      "limiting_stage":"read","samples_per_second":9999,"bytes_per_second":0.6656e9,"cache":{"state":"cold"}}})");
  CHECK(model(options, context).limiting_stage == "read");
  CHECK(model(options, context).headroom_ratio.value() == Approx(0.5));
  write_file(*options.from, R"({"schema":"shardkit/pipeline","result":{"source":"null","decode":"null",
      "samples_per_second":1e6}})");
  CHECK(code_of(options) == ErrorCode::usage);
}

TEST_CASE("a checkpoint's result says what checkpoints cost: 0.5 s of copying 1 GB are 2 s of 4 GB") {
  const TempDir dir;
  Context context;
  ModelOptions options = worked_example();
  options.from = dir.path("checkpoint.json");
  write_file(*options.from, R"({"schema":"shardkit/checkpoint","result":{"bytes":1000000000,"rows":[
      {"mode":"sync","bytes":1000000000,"block_seconds":4,"durable_seconds":4,"bytes_per_second":0.25e9},
      {"mode":"background","bytes":1000000000,"block_seconds":0.5,"durable_seconds":5,"bytes_per_second":0.2e9}]}})");
  CHECK(code_of(options) == ErrorCode::usage);  // how often?
  options.checkpoint_every = 100;
  const CheckpointCost one = model(options, context).required->checkpoint.value();
  CHECK(one.write_seconds == Approx(4));
  CHECK(one.synchronous_share_ratio == Approx(4.0 / 24));
  CHECK(one.asynchronous_share_ratio.value() == Approx(0.5 / 20.5));
  options.checkpoint_bytes = 4'000'000'000;
  const CheckpointCost four = model(options, context).required->checkpoint.value();
  CHECK(four.write_seconds == Approx(16));
  CHECK(four.asynchronous_share_ratio.value() == Approx(2.0 / 22));
  ModelOptions no_job;
  no_job.from = options.from;
  no_job.checkpoint_every = 100;
  CHECK(code_of(no_job) == ErrorCode::usage);
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
    CHECK(has_warning(context, "supply_not_cold"));
  }
  options.read_rate = 1e9;
  Context context;
  model(options, context);
  CHECK_FALSE(has_warning(context, "supply_not_cold"));
}

TEST_CASE("a preset's step time is that of its own batch; another batch without one is warned of") {
  ModelOptions options;
  options.preset = "resnet50-h100";
  options.batch = 10;
  Context doubtful;
  model(options, doubtful);
  CHECK(has_warning(doubtful, "step_time_of_other_batch"));
  Context sure;
  options.step_time = 0.01;
  model(options, sure);
  options.batch = 400;
  options.step_time.reset();
  model(options, sure);
  CHECK_FALSE(has_warning(sure, "step_time_of_other_batch"));
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
  CHECK(refused(supply, [](ModelOptions& o) { o.gpu_hour_cost = 3; }));
  CHECK(refused(worked_example(), [](ModelOptions& o) { o.gpu_hour_cost = 3; }));  // without a supply nothing idles
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
  for (const char* text : {R"({"schema":"shardkit/verify","result":{}})", R"({"schema":"shardkit/read","result":{}})",
                           R"({"schema":"shardkit/checkpoint","result":{"rows":[]}})"}) {
    write_file(*options.from, text);
    CHECK(code_of(options) == ErrorCode::usage);
  }
  write_file(*options.from, R"({"schema":"shardkit/run","result":null})");
  CHECK(code_of(options) == ErrorCode::conflict);
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
  CHECK(broken([](ModelOptions& o) {
          o.read_rate = 1e9;
          o.gpu_hour_cost = -3;
        }) == ErrorCode::usage);
  CHECK(broken([](ModelOptions& o) { o.preset = "resnet-9000"; }) == ErrorCode::usage);
}

TEST_CASE("a job without a size of its samples has those that were measured") {
  ModelOptions job;
  job.batch = 256;
  job.step_time = 0.2;
  job.gpus = 8;
  Context context;
  const ModelResult result = modeled_from(
      job, R"({"schema":"shardkit/read","result":{"bytes_per_second":6e9,"samples_per_second":50000}})", context);
  CHECK(result.required->bytes_per_second == Approx(8 * 256 / 0.2 * 120'000));
  job.sample_bytes = 1000;
  const ModelResult given = modeled_from(
      job, R"({"schema":"shardkit/read","result":{"bytes_per_second":6e9,"samples_per_second":50000}})", context);
  CHECK(given.required->bytes_per_second == Approx(8 * 256 / 0.2 * 1000));
}

TEST_CASE("a given decoding rate is of the job's samples, whatever the size of those in the result") {
  ModelOptions job = worked_example();  // samples of 130 kB
  Context context;
  constexpr std::string_view kSmall = R"({"schema":"shardkit/decode","result":{"samples_per_second":20000,
      "threads":2,"mix":{"mean_bytes":13000}}})";
  CHECK(modeled_from(job, kSmall, context).headroom_ratio.value() == Approx(20'000.0 / 10 / 10'240));  // scaled
  job.decode_rate = 5120;
  CHECK(modeled_from(job, kSmall, context).headroom_ratio.value() == Approx(0.5));
}

TEST_CASE("one stage that is enough feeds no GPU: the others were not measured") {
  Context context;
  ModelOptions job = worked_example();
  const auto check = [&](std::string_view text, std::string_view line, const char* missing) {
    Context own;
    const ModelResult result = modeled_from(job, text, own);
    CHECK(result.text == line);
    CHECK(result.requirement == RequirementState::undecided);
    CHECK_FALSE(result.limiting_stage);
    CHECK(result.not_measured == std::vector<std::string>{missing});
    CHECK_FALSE(result.has_findings());
    REQUIRE(has_warning(own, "not_measured"));
    CHECK(own.warnings().back().text.find("`iobench run DATA --json FILE`") != std::string::npos);
  };
  check(kRead, "storage is enough: 20,000 samples/s available, 10,240 needed; decoding was not measured", "decode");
  check(R"({"schema":"shardkit/pipeline","result":{"source":"shards","decode":"null","limiting_stage":"read",
        "samples_per_second":20000,"bytes_per_second":2.6e9,"cache":{"state":"cold"}}})",
        "storage is enough: 20,000 samples/s available, 10,240 needed; decoding was not measured", "decode");
  check(R"({"schema":"shardkit/decode","result":{"samples_per_second":20000}})",
        "decoding is enough: 20,000 samples/s available, 10,240 needed; reading was not measured", "read");
  job.min_au = 0.5;
  job.gpus = *job.gpus * 3;
  check(kRead,
        "storage is enough: 20,000 samples/s available, 30,720 needed, AU 65 %, of which 50 % are required; decoding "
        "was not measured",
        "decode");
  job.gpus = *job.gpus / 3;
  job.min_au.reset();
  job.decode_rate = 20'000;
  CHECK(modeled_from(job, kRead, context).requirement == RequirementState::met);
  CHECK_FALSE(has_warning(context, "not_measured"));
}

TEST_CASE("a measured stage that is short is a miss, whatever was not measured") {
  Context context;
  ModelOptions job = worked_example();
  job.gpus = 80;
  const ModelResult result = modeled_from(job, kRead, context);
  CHECK(result.has_findings());
  CHECK(result.text.starts_with("read is the bottleneck: 20,000 samples/s available, 102,400 needed"));
  CHECK(has_warning(context, "not_measured"));
}

TEST_CASE("what is no image needs no decoding to be fed") {
  Context context;
  ModelOptions job;
  job.preset = "cosmoflow-a100";
  const ModelResult result = modeled_from(job, kRead, context);
  CHECK(result.requirement == RequirementState::met);
  CHECK(result.not_measured.empty());
  CHECK_FALSE(has_warning(context, "not_measured"));
}

TEST_CASE("decoding alone says nothing of samples that are not decoded: that is said once, and what to measure") {
  Context context;
  ModelOptions job;
  job.preset = "unet3d-a100";
  const ModelResult result =
      modeled_from(job, R"({"schema":"shardkit/decode","result":{"samples_per_second":1000}})", context);
  CHECK(result.text ==
        "1 GPU takes 11 samples/s, 1.61 GB/s from storage; whether that is available is unknown: reading was not "
        "measured");
  CHECK_FALSE(result.requirement);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings().front().code == "not_measured");
  CHECK(context.warnings().front().text.starts_with("samples of this job are not decoded"));
  CHECK(context.warnings().front().text.find("may be the bottleneck") == std::string::npos);
}

TEST_CASE("a rate of one sample is in the singular") {
  CHECK(sample_rate_text(1) == "1 sample/s");
  CHECK(sample_rate_text(0.27) == "0.27 samples/s");
  CHECK(sample_rate_text(9.96) == "10 samples/s");
  CHECK(sample_rate_text(0) == "0 samples/s");
  CHECK(sample_rate_text(1200) == "1,200 samples/s");
}

TEST_CASE("without a job one stage feeds images at most so many GPUs") {
  Context context;
  const ModelResult read = modeled_from({}, kRead, context);
  CHECK(read.text.starts_with("feeds 1 A100 (3D U-Net), "));
  CHECK(read.text.find(", at most 27 A100, ") != std::string::npos);  // 2.6e9 / 114660 / (0.9 * 919.5)
  CHECK(read.text.ends_with(" (judged only by storage); decoding was not measured"));
  CHECK(has_warning(context, "not_measured"));
  const ModelResult decode =
      modeled_from({}, R"({"schema":"shardkit/decode","result":{"samples_per_second":1000}})", context);
  CHECK(decode.text.starts_with("feeds at most 1 A100 (ResNet-50)"));
  CHECK(decode.text.ends_with(" (judged only by decoding); reading was not measured"));
}

TEST_CASE("where samples of another size were measured the line says for which size it speaks") {
  Context context;
  ModelOptions job;
  job.preset = "unet3d-h100";
  job.gpus = 2;
  CHECK(modeled_from(job, kRead, context)
            .text.starts_with("read is the bottleneck: 18 samples/s available, 43 needed (140 MiB per sample, measured "
                              "with 127 KiB), predicted AU 41 %"));
}

TEST_CASE("a checkpoint that training waited for says nothing of copies, and its share stands in the first line") {
  Context context;
  ModelOptions options = worked_example();
  options.checkpoint_every = 100;
  const ModelResult result =
      modeled_from(options, R"({"schema":"shardkit/checkpoint","result":{"bytes":1000000000,"rows":[
      {"mode":"sync","bytes":1000000000,"block_seconds":4,"durable_seconds":4,"bytes_per_second":0.25e9}]}})",
                   context);
  CHECK_FALSE(result.required->checkpoint->asynchronous_share_ratio);
  CHECK(result.text.starts_with("checkpoints take 16.7 % of the running time if training waits for them; 8 GPUs"));
  CHECK(context.warnings().empty());
}

TEST_CASE("a checkpoint that a budget cut short is taken whole at its rate, with a warning") {
  Context context;
  ModelOptions options = worked_example();
  options.checkpoint_every = 100;
  const ModelResult result =
      modeled_from(options, R"({"schema":"shardkit/checkpoint","result":{"bytes":4000000000,"rows":[
      {"mode":"sync","bytes":500000000,"block_seconds":2,"durable_seconds":2,"bytes_per_second":0.25e9},
      {"mode":"background","bytes":400000000,"block_seconds":1,"durable_seconds":2,"bytes_per_second":0.2e9}]}})",
                   context);
  CHECK(result.required->checkpoint->write_seconds == Approx(16));
  CHECK(result.required->checkpoint->asynchronous_share_ratio.value() == Approx(1.0 / 21));  // all of it was copied
  CHECK(has_warning(context, "part_of_checkpoint"));
}

TEST_CASE("the options that a checkpoint's result requires are all named at once") {
  Context context;
  ModelOptions options = worked_example();
  options.checkpoint_every = 100;
  options.sample_bytes.reset();
  try {
    modeled_from(options, R"({"schema":"shardkit/checkpoint","result":{"bytes":1000,"rows":[
      {"mode":"sync","bytes":1000,"bytes_per_second":1000}]}})",
                 context);
    FAIL("no error came");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("--batch, --step-time and --sample-bytes") != std::string::npos);
  }
}

TEST_CASE("tokens are moved to the GPU as they are stored: 512 GPUs * 4 * 8192 B / 2 s are 8.39 MB/s") {
  Context context;
  ModelOptions options;
  options.gpus = 512;
  options.batch = 4;
  options.step_time = 2;
  options.sample_bytes = 8192;
  CHECK(model(options, context).required->h2d_bytes_per_second == Approx(8.388608e6));
  options.crop = 224;
  CHECK(model(options, context).required->h2d_bytes_per_second == Approx(1024.0 * 602112));
}

TEST_CASE("checkpoints and starts of epochs leave GPUs idle, which costs: 14.9 % of 512 GPUs at 3 are 229 an hour") {
  Context context;
  ModelOptions options;
  options.gpus = 512;
  options.batch = 4;
  options.step_time = 2;
  options.sample_bytes = 8192;
  options.gpu_hour_cost = 3;
  options.checkpoint_bytes = 350'000'000'000;
  options.checkpoint_rate = 1e9;
  options.checkpoint_every = 1000;
  ModelResult result = model(options, context);
  CHECK(result.idle_cost_per_hour.value() == Approx(350.0 / 2350 * 512 * 3));
  CHECK(result.checkpoint_cost.value() == Approx(350.0 / 3600 * 512 * 3));
  options.checkpoint_copy_time = 10;
  result = model(options, context);
  CHECK(result.idle_cost_per_hour.value() == Approx(10.0 / 2010 * 512 * 3));
  CHECK(result.required->checkpoint->blocked_seconds == 10);
}

TEST_CASE("a job of several nodes needs of each its share, and costs what all of them cost") {
  Context context;
  ModelOptions options = worked_example();
  options.gpus = 64;
  options.nodes = 8;
  options.dataset_bytes = 133'120'000'000;
  options.decode_rate = 5120;
  options.read_rate = 2e9;
  options.gpu_hour_cost = 3;
  const ModelResult result = model(options, context);
  CHECK(result.required->samples_per_second == Approx(10240));
  CHECK(result.required->epoch_seconds.value() == Approx(25));  // half of the rate is supplied
  CHECK(result.predicted_au_ratio.value() == Approx(0.5));
  CHECK(result.idle_cost_per_hour.value() == Approx(0.5 * 64 * 3));
  CHECK(result.nodes == 8U);
  CHECK(result.text.starts_with("on each of 8 nodes: "));
  options.gpus = 63;
  CHECK(error_code_of([&] { model(options, context); }) == ErrorCode::usage);
}
