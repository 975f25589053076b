#include <string>

#include <doctest/doctest.h>

#include "bench/run/run.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

RunResult short_of_cores() {
  RunResult result;
  result.transfer.text = "no GPU here";
  result.read.hints = {"the run took 25 ms"};
  result.environment.usable_threads = 2;
  result.environment.cpu_limit = 2.5;
  result.environment.storage.file_system = "ext4";
  result.environment.storage.device = "vda";
  Conclusion& conclusion = result.conclusion;
  conclusion.verdict = {false, "decode", "decode limits: 800 of 2,000 samples/s, predicted AU 40 %", "3.0 more cores"};
  conclusion.predicted.au_ratio = 0.4;
  conclusion.predicted.au_serial_ratio = 0.29;
  conclusion.ladder = {{"read", 2000, 8000, stats::Interval{7000, 9000}, 4.0, "800 MB/s, cold"},
                       {"decode", 2000, 800, {}, 0.4, "predicted"}};
  result.command = "iobench run data --gpus 8";
  conclusion.loader.line = "loader = DataLoader(dataset, num_workers=2)";
  conclusion.loader.code = "dataset = photos\n" + conclusion.loader.line + "\n";
  conclusion.loader.samples_per_second = 560;
  conclusion.loader.dev_shm_needed = 1 << 20;
  return result;
}

}  // namespace

TEST_CASE("the verdict comes first, then what would close the gap, then the ladder") {
  const std::string report = report_text(answer_run(short_of_cores()), false);
  CHECK(report.starts_with("decode limits: 800 of 2,000 samples/s, predicted AU 40 % (1.00 s)\n3.0 more cores\n"));
  CHECK(contains(report, "40 % when loading overlaps compute fully, 29 % without overlap"));
  CHECK(contains(report, "read           2,000/s     8,000/s      7,000/s to 9,000/s    4.00 x  800 MB/s, cold\n"));
  CHECK(contains(report, "decode         2,000/s       800/s                       -    0.40 x  predicted\n"));
  CHECK(contains(report, "transfer             -           -                       -         -  no GPU here\n"));
  CHECK(contains(report,
                 "\n\ndataset = photos\nloader = DataLoader(dataset, num_workers=2)\n"
                 "# delivers about 560 samples/s (estimated; --python measures it), uses 1.00 MiB of /dev/shm\n"));
  CHECK(contains(report, "2 cores (limit 2.50)"));
  CHECK(contains(report, "data on ext4, vda"));
  CHECK(report.ends_with("hint: the run took 25 ms\nsame again: iobench run data --gpus 8\n"));
}

TEST_CASE("too few shards are a hint with the command, and without a loader that is all") {
  RunResult result = short_of_cores();
  LoaderAdvice& loader = result.conclusion.loader;
  loader.calibrated = true;
  loader.wanted_workers = 4;
  loader.shards_needed = 8;
  loader.reshard = "shardctl reshard data OUT --shards 8";
  const std::string hint = "hint: 4 loader processes per GPU need 8 shards: `shardctl reshard data OUT --shards 8`\n";
  CHECK(contains(report_text(answer_run(result), false),
                 "(calibrated with --python), uses 1.00 MiB of /dev/shm\n" + hint));
  loader.line.clear();
  loader.code.clear();
  const std::string report = report_text(answer_run(result), false);
  CHECK(contains(report,
                 "\nno DataLoader: there are fewer shards than GPUs, and each GPU needs shards of its own\n" + hint));
  CHECK_FALSE(contains(report, "delivers"));
}

TEST_CASE("without a job the second line is what the node feeds") {
  RunResult result = short_of_cores();
  result.conclusion.verdict = {true, "decode", "800 samples/s; decode is the bottleneck", ""};
  result.conclusion.feeds = "feeds 0.9 A100 (ResNet-50)";
  CHECK(report_text(answer_run(result), false)
            .starts_with("800 samples/s; decode is the bottleneck (1.00 s)\nfeeds 0.9 A100 (ResNet-50)\n"));
}

TEST_CASE("advice of the pipeline is shown unless the job is fed or others disturbed the measurement") {
  RunResult result = short_of_cores();
  result.pipeline.emplace().advice = {"use more cores"};
  CHECK(contains(report_text(answer_run(result), false), "hint: use more cores\n"));
  result.neighbors = {1.1, 2, 0, 0};
  CHECK_FALSE(contains(report_text(answer_run(result), false), "hint: use more cores\n"));
}

TEST_CASE("for a FUSE mount the load of others is unknown, and the report says so") {
  RunResult result = short_of_cores();
  result.environment.storage = {"fuse.juicefs", system::StorageClass::fuse, "/jfs", {}, {}, {}, {}};
  CHECK(contains(report_text(answer_run(result), false),
                 "data on fuse.juicefs at /jfs; load of other processes unknown (FUSE)\n"));
}

TEST_CASE("a headroom beyond a thousand is shown as that") {
  RunResult result = short_of_cores();
  result.conclusion.ladder.front().headroom_ratio = 123456.7;
  CHECK(contains(report_text(answer_run(result), false), "  > 1000 x  800 MB/s, cold\n"));
}

TEST_CASE("one core is one") {
  RunResult result = short_of_cores();
  result.environment.usable_threads = 1;
  result.environment.cpu_limit.reset();
  CHECK(contains(report_text(answer_run(result), false), "\n1 core, "));
}

TEST_CASE("escape sequences only where colors are wanted") {
  CHECK_FALSE(contains(report_text(answer_run(short_of_cores()), false), "\x1b"));
  CHECK(report_text(answer_run(short_of_cores()), true).starts_with("\x1b[1mdecode limits"));
}

TEST_CASE("of image files the report says what each call takes") {
  RunResult result = short_of_cores();
  result.file_costs = FileCosts{100, 0.010, 0.002, 0.006, 0.0001, 0.67};
  CHECK(contains(report_text(answer_run(result), false), "per file: open 10 ms, stat 2 ms, read 6 ms, close 0.1 ms\n"));
}

TEST_CASE("with repetitions each metric has a line, apart from its name however long that is") {
  RunResult result = short_of_cores();
  RepeatedMetric row;
  row.metric = "transfer.pinned_h2d_bytes_per_second";
  row.text = "54.0 GB/s";
  result.repeated = {row};
  CHECK(contains(report_text(answer_run(result), false), "\ntransfer.pinned_h2d_bytes_per_second  54.0 GB/s\n"));
}

TEST_CASE("copies that were measured are a row of the ladder, once") {
  RunResult result = short_of_cores();
  result.conclusion.ladder.push_back({"transfer", 2000, 80000, {}, 40.0, "50.0 GB/s to the GPU"});
  const std::string report = report_text(answer_run(result), false);
  CHECK(
      contains(report, "transfer       2,000/s    80,000/s                       -   40.00 x  50.0 GB/s to the GPU\n"));
  CHECK_FALSE(contains(report, "no GPU here"));
}

TEST_CASE("with repetitions the report shows what is a median and what comes from a single one") {
  RunResult result = short_of_cores();
  CHECK_FALSE(contains(report_text(answer_run(result), false), "turn"));
  result.repetitions.resize(5);
  result.repeated = {{"read.bytes_per_second", 800e6, 700e6, 900e6, {}, "800 MB/s (700 MB/s to 900 MB/s)"}};
  result.shown_repetitions = ShownRepetitions{3, 2, {}, 4};
  const std::string report = report_text(answer_run(result), false);
  CHECK(contains(report, "stage           needed      median              range of 5  headroom\n"));
  CHECK(contains(report, "median of 5 repetitions (range of 5)"));
  CHECK(contains(report,
                 "come from the repetitions with the median rate: read from repetition 3, decode from repetition 2, "
                 "transfer from repetition 4\n"));
}

TEST_CASE("with 6 repetitions or more the interval is one of 95 %, with fewer their range") {
  RunResult result = short_of_cores();
  result.repeated = {{"read.bytes_per_second", 800e6, 700e6, 900e6, {}, "800 MB/s (700 MB/s to 900 MB/s)"}};
  CHECK(contains(report_text(answer_run(result), false), "95 % interval  headroom\n"));
  result.repetitions.resize(3);
  CHECK(contains(report_text(answer_run(result), false), "median of 3 repetitions (range of 3)"));
  CHECK_FALSE(contains(report_text(answer_run(result), false), "95 %"));
  result.repetitions.resize(6);
  CHECK(contains(report_text(answer_run(result), false), "95 % interval  headroom\n"));
}

TEST_CASE("without a job there is a table of presets and nothing required") {
  RunResult result = short_of_cores();
  result.conclusion.predicted.au_serial_ratio.reset();
  result.conclusion.ladder = {{"read", {}, 8000, {}, {}, "800 MB/s, cold"}};
  result.conclusion.presets = preset_rows({});
  const std::string other = report_text(answer_run(result), false);
  CHECK(contains(other, "read                 -     8,000/s                       -         -  800 MB/s, cold\n"));
  CHECK(contains(other, "unet3d-h100"));
  CHECK_FALSE(contains(other, "resnet50-a100-amp"));
  CHECK_FALSE(contains(other, "predicted AU:"));
  result.decode.emplace();  // the data are JPEGs, so only presets of JPEGs are like them
  const std::string jpegs = report_text(answer_run(result), false);
  CHECK(contains(jpegs, "resnet50-a100-amp"));
  CHECK_FALSE(contains(jpegs, "unet3d-h100"));
}
