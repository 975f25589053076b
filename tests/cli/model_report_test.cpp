#include <string>

#include <doctest/doctest.h>

#include "bench/model/model.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;

namespace {

ModelResult modeled(const ModelOptions& options) {
  Context context;
  return model(options, context);
}

/// 8 GPUs that take 256 samples of 130 kB in 0.2 s each.
ModelOptions worked_example() {
  ModelOptions job;
  job.gpus = 8, job.batch = 256, job.step_time = 0.2, job.sample_bytes = 130'000;
  return job;
}

std::string first_line(const ModelOptions& options) {
  const std::string report = report_text(answer_model(modeled(options)), false);
  return report.substr(0, report.find(" (1.00 s)\n"));
}

}  // namespace

TEST_CASE("a model's first line is what comes of it") {
  ModelOptions job = worked_example();
  CHECK(first_line(job) == "8 GPUs take 10,240 samples/s, 1.33 GB/s from storage");
  job.decode_rate = 2560;
  CHECK(first_line(job) ==
        "decode is the bottleneck: 2,560 samples/s available, 10,240 needed, predicted AU 25 % (20 % if each step "
        "waits for its batch)");
  job.min_au = 0.2;
  job.read_rate = 2e9;
  CHECK(first_line(job).starts_with("enough; decode is the bottleneck: 2,560 samples/s available, 10,240 needed"));
  job.decode_rate = 20'480;
  job.read_rate = 13e9;
  CHECK(first_line(job).starts_with("GPUs are fed: 20,480 samples/s available, 10,240 needed, predicted AU 100 %"));
  ModelOptions supply;
  supply.read_rate = 2e9;
  supply.decode_rate = 4000;
  CHECK(first_line(supply).starts_with("feeds 1 A100 (3D U-Net), 5 A100, 3 H100 (CosmoFlow), "));
  CHECK(first_line(supply).find(", 4 A100, 2 H100, 1 A100 AMP (ResNet-50), ") != std::string::npos);
  supply.decode_rate = 1;
  supply.read_rate = 1;
  CHECK(first_line(supply) == "cannot feed a GPU of any preset");
  ModelOptions list;
  list.list_presets = true;
  CHECK(first_line(list) == "14 published workloads, and what one GPU of each needs");
}

TEST_CASE("the report of a preset of MLPerf has its rate in the unit of MLPerf, too") {
  ModelOptions job;
  job.preset = "unet3d-h100", job.gpus = 8;
  const auto report = [](const ModelOptions& options) { return report_text(answer_model(modeled(options)), false); };
  // 8 * 7 / 0.323 s * 146,600,628 B = 25.417 GB/s = 24,239 * 2^20 B/s
  CHECK(report(job).find("MLPerf Storage prints MiB/s as MB/s: 25.4 GB/s here are 24,239 MB/s there") !=
        std::string::npos);
  ModelOptions list;
  list.list_presets = true;
  CHECK(report(list).find("1,000 MB/s there are 1.05 GB/s here") != std::string::npos);
  CHECK(report(worked_example()).find("MLPerf") == std::string::npos);
  job.preset = "resnet50-a100-amp";  // of another publication
  CHECK(report(job).find("MLPerf") == std::string::npos);
}

TEST_CASE("one GPU takes, and one sample is one") {
  ModelOptions job = worked_example();
  job.gpus = 1, job.batch = 1, job.step_time = 1;
  CHECK(first_line(job) == "1 GPU takes 1 sample/s, 130 kB/s from storage");
}

TEST_CASE("shares are in percent, and a headroom beyond a thousand is no more than that") {
  ModelOptions job = worked_example();
  job.decode_rate = 1e9;
  job.read_rate = 1e15;
  const std::string report = report_text(answer_model(modeled(job)), false);
  CHECK(report.find("headroom: ") != std::string::npos);
  CHECK(report.find("more than 1000\n") != std::string::npos);
  CHECK(report.find("100 %\n") != std::string::npos);
}

TEST_CASE("a model's line is said once, the numbers follow it, and colors only where they are wanted") {
  const ModelResult result = modeled(worked_example());
  const std::string report = report_text(answer_model(result), false);
  CHECK(report.find("8 GPUs take", 1) == std::string::npos);
  CHECK(report.find("prefetch memory") != std::string::npos);
  CHECK(report.find('\x1b') == std::string::npos);
  CHECK(report_text(answer_model(result), true).starts_with("\x1b[1m8 GPUs take"));
  CHECK(result.text.starts_with("8 GPUs take"));
}
