#include <algorithm>
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
  RunSummary& summary = result.summary;
  summary.verdict = {false, "decode", "decode limits: 800 of 2,000 samples/s, predicted AU 40 %", "3.0 more cores"};
  summary.requirement.emplace();
  summary.stage_table = {{"read", 2000, 8000, stats::Interval{7000, 9000}, 4.0, "800 MB/s, cold"},
                         {"decode", 2000, 800, {}, 0.4, "predicted"}};
  result.command = "iobench run data --gpus 8";
  summary.loader.line = "loader = DataLoader(dataset, num_workers=2)";
  summary.loader.code = "dataset = photos\n" + summary.loader.line + "\n";
  summary.loader.samples_per_second = 560;
  summary.loader.dev_shm_needed = 1 << 20;
  return result;
}

}  // namespace

TEST_CASE("the verdict comes first, then what would close the gap, then the ladder") {
  const std::string report = report_text(answer_run(short_of_cores()), false);
  CHECK(report.starts_with("decode limits: 800 of 2,000 samples/s, predicted AU 40 % (1.00 s)\n3.0 more cores\n"));
  CHECK(contains(report, "stage        needed available  headroom\n"));
  CHECK(contains(report, "read        2,000/s   8,000/s    4.00 x  800 MB/s, cold\n"));
  CHECK(contains(report, "decode      2,000/s     800/s    0.40 x  predicted\n"));
  CHECK_FALSE(contains(report, "transfer"));  // without a GPU
  CHECK(contains(report,
                 "\n\ndataset = photos\nloader = DataLoader(dataset, num_workers=2)\n"
                 "# about 560 samples/s (estimated; --python measures it), 1.00 MiB of /dev/shm\n"));
  CHECK(report.ends_with("hint: the run took 25 ms\nsame again: iobench run data --gpus 8\n"));
}

TEST_CASE("without a job the loader is one line, and a report with the presets fits a terminal") {
  RunResult result = short_of_cores();
  result.summary.requirement.reset();
  result.summary.presets = preset_rows({});
  const std::string report = report_text(answer_run(result), false);
  CHECK(contains(report, "\n\nDataLoader  num_workers=0: about 560 samples/s; code with --verbose\n"));
  CHECK_FALSE(contains(report, "dataset = photos"));
}

/// A report as long as it gets for a job on one GPU.
RunResult long_report() {
  RunResult result = short_of_cores();
  RunSummary& summary = result.summary;
  summary.verdict.text =
      "decode is the bottleneck: 1,371 samples/s available, 3,200 needed, predicted AU 43 %; "
      "storage was not measured: warm page cache";
  summary.verdict.remedy = "2.7 more cores of this kind would close the gap (4.7 in total), or decoding on the GPU";
  summary.stage_table.push_back({"augment", 2000, 20000, {}, 10.0, "alone: flip, normalize, collate"});
  summary.stage_table.push_back({"pipeline", 2000, 790, {}, 0.39, "all at once; 1,839/s expected"});
  summary.loader.code = "1\n2\n3\n4\n5\n6\n7\n8\n" + summary.loader.line + "\n";
  result.read.hints.assign(5, "a hint that is longer than a line of eighty columns, so that it is broken into two");
  return result;
}

TEST_CASE("a report fits a terminal of 80 columns and 24 rows: hints that do not are counted") {
  const std::string report = shardkit::cli::answer_text(answer_run(long_report()), 1, {.columns = 80});
  CHECK(std::ranges::count(report, '\n') <= 22);  // and the line about the node, and the prompt
  std::size_t begin = 0;
  for (std::size_t end = report.find('\n'); end != std::string::npos; end = report.find('\n', begin)) {
    CHECK(end - begin <= 80);
    begin = end + 1;
  }
  CHECK(contains(report, "2 hints more with --verbose\n"));
  CHECK(contains(report, "\n\nDataLoader  num_workers=0: about 560 samples/s; code with --verbose\n"));
  RunResult shorter = long_report();
  shorter.summary.loader.code = "loader\n";
  const std::string with_code = shardkit::cli::answer_text(answer_run(shorter), 1, {.columns = 80});
  CHECK(contains(with_code, "\n\nloader\n# about 560 samples/s"));
  CHECK(contains(with_code, "hint: a hint that is longer"));
  CHECK(contains(with_code, "2 hints more with --verbose\n"));
  CHECK(std::ranges::count(with_code, '\n') <= 22);
}

TEST_CASE(
    "a report without a job fits a terminal too, and what must be said of the shards leaves its place to no hint") {
  RunResult result = long_report();
  result.summary.requirement.reset();
  result.summary.verdict.remedy.clear();  // that of a job
  result.summary.presets = preset_rows({});
  result.decode.emplace();
  result.summary.loader.is_uneven = true;
  result.summary.loader.reshard = "shardctl reshard data OUT --shards 12";
  const std::string report = shardkit::cli::answer_text(answer_run(result), 1, {.columns = 80});
  CHECK(std::ranges::count(report, '\n') <= 22);
  CHECK(contains(report, "hint: the shards do not divide by the GPUs"));
  CHECK(contains(report, "hints more with --verbose\n"));
}

TEST_CASE("headroom is green or red where colors are wanted") {
  const std::string report = report_text(answer_run(short_of_cores()), true);
  CHECK(contains(report, "\x1b[32m    4.00 x\x1b[0m"));
  CHECK(contains(report, "\x1b[31m    0.40 x\x1b[0m"));
}

TEST_CASE("what more reads deliver is a row where storage is the bottleneck") {
  RunResult result = short_of_cores();
  result.summary.stage_table.push_back({"more reads", 2000, 9000, {}, 4.5, "900 MB/s, 16 in flight"});
  CHECK_FALSE(contains(report_text(answer_run(result), false), "more reads"));
  result.summary.verdict.limiting_stage = "read";
  CHECK(contains(report_text(answer_run(result), false), "more reads  2,000/s   9,000/s    4.50 x"));
}

TEST_CASE("too few shards are a hint with the command, and without a loader that is all") {
  RunResult result = short_of_cores();
  LoaderAdvice& loader = result.summary.loader;
  loader.calibrated = true;
  loader.wanted_workers = 4;
  loader.shards_needed = 8;
  loader.reshard = "shardctl reshard data OUT --shards 8";
  const std::string hint = "hint: 4 loader processes per GPU need 8 shards: `shardctl reshard data OUT --shards 8`\n";
  CHECK(contains(report_text(answer_run(result), false), "(calibrated with --python), 1.00 MiB of /dev/shm\n" + hint));
  loader.line.clear();
  loader.code.clear();
  const std::string report = report_text(answer_run(result), false);
  CHECK(contains(report, "\nno DataLoader: fewer shards than GPUs, and each GPU needs shards of its own\n" + hint));
  CHECK_FALSE(contains(report, "# about"));
}

TEST_CASE("GPUs with different numbers of shards are a hint with a number that divides") {
  RunResult result = short_of_cores();
  result.summary.loader.is_uneven = true;
  result.summary.loader.shards_needed = 12;
  result.summary.loader.reshard = "shardctl reshard data OUT --shards 12";
  CHECK(contains(report_text(answer_run(result), false),
                 "\nhint: the shards do not divide by the GPUs, so some GPUs end an epoch earlier, and "
                 "DDP waits for them for ever. As many as divide: `shardctl reshard data OUT --shards 12`\n"));
}

TEST_CASE("what a loader delivers is said to be that of an idle machine if the measurement was disturbed") {
  RunResult result = short_of_cores();
  CHECK_FALSE(contains(report_text(answer_run(result), false), "on an idle machine"));
  result.neighbors = {1.1, 2, 0, 0};
  CHECK(contains(report_text(answer_run(result), false),
                 " samples/s on an idle machine (estimated), 1.00 MiB of /dev/shm\n"));
}

TEST_CASE("advice of the pipeline is shown unless the job is fed or others disturbed the measurement") {
  RunResult result = short_of_cores();
  result.pipeline.emplace().advice = {"use more cores"};
  CHECK(contains(report_text(answer_run(result), false), "hint: use more cores\n"));
  result.neighbors = {1.1, 2, 0, 0};
  CHECK_FALSE(contains(report_text(answer_run(result), false), "hint: use more cores\n"));
}

TEST_CASE("a headroom beyond a thousand is shown as that") {
  RunResult result = short_of_cores();
  result.summary.stage_table.front().headroom_ratio = 123456.7;
  CHECK(contains(report_text(answer_run(result), false), "  > 1000 x  800 MB/s, cold\n"));
}

TEST_CASE("escape sequences only where colors are wanted") {
  CHECK_FALSE(contains(report_text(answer_run(short_of_cores()), false), "\x1b"));
  CHECK(report_text(answer_run(short_of_cores()), true).starts_with("\x1b[1mdecode limits"));
}

TEST_CASE("with repetitions each metric has a line, apart from its name however long that is") {
  RunResult result = short_of_cores();
  RepeatedMetric row;
  row.metric = "transfer.pinned_h2d_bytes_per_second";
  row.text = "54.0 GB/s";
  result.repeated = {row};
  result.repetitions.resize(2);
  CHECK(contains(report_text(answer_run(result), false), "\ntransfer.pinned_h2d_bytes_per_second  54.0 GB/s\n"));
}

TEST_CASE("with repetitions the report shows what is a median and what comes from a single one") {
  RunResult result = short_of_cores();
  CHECK_FALSE(contains(report_text(answer_run(result), false), "turn"));
  result.repetitions.resize(5);
  result.repeated = {{"read.bytes_per_second", 800e6, 700e6, 900e6, {}, "800 MB/s (700 MB/s to 900 MB/s)"}};
  const std::string report = report_text(answer_run(result), false);
  CHECK(contains(report, "stage        needed    median  headroom\n"));
  CHECK(contains(report, "median of 5 repetitions (range of 5)"));
  CHECK(contains(report, "each stage in the JSON, come from the repetition with its median rate\n"));
}

TEST_CASE("with 6 repetitions or more the interval is one of 95 %, with fewer their range") {
  RunResult result = short_of_cores();
  result.repeated = {{"read.bytes_per_second", 800e6, 700e6, 900e6, {}, "800 MB/s (700 MB/s to 900 MB/s)"}};
  result.repetitions.resize(3);
  CHECK(contains(report_text(answer_run(result), false), "median of 3 repetitions (range of 3)"));
  CHECK_FALSE(contains(report_text(answer_run(result), false), "95 %"));
  result.repetitions.resize(6);
  CHECK(contains(report_text(answer_run(result), false), "median of 6 repetitions (95 % interval)"));
}

TEST_CASE("without a job there is a table of presets and nothing required") {
  RunResult result = short_of_cores();
  result.summary.requirement.reset();
  result.summary.stage_table = {{"read", {}, 8000, {}, {}, "800 MB/s, cold"}};
  result.summary.presets = preset_rows({});
  const std::string other = report_text(answer_run(result), false);
  CHECK(contains(other, "read         8,000/s  800 MB/s, cold\n"));
  CHECK(contains(other, "unet3d-h100"));
  CHECK_FALSE(contains(other, "resnet50-a100-amp"));
  CHECK_FALSE(contains(other, "predicted AU:"));
  result.decode.emplace();  // the data are JPEGs, so only presets of JPEGs are like them
  const std::string jpegs = report_text(answer_run(result), false);
  CHECK(contains(jpegs, "resnet50-a100-amp"));
  CHECK_FALSE(contains(jpegs, "unet3d-h100"));
}
