#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/run/run.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using doctest::Approx;

namespace {

/// 2 cores; 8000 samples/s of 100 kB read for 0.1 ms of processor time each; 800/s decoded for 2.4 ms each.
MeasuredNode small_node() {
  MeasuredNode node;
  node.cores = 2;
  node.threads = 2;
  node.sample_bytes = 100e3;
  node.read.rate = 800e6;
  node.read.cpu_seconds = 0.0001;
  node.cache_state = CacheState::cold;
  node.decode = MeasuredStage{830, {}, 0.0024};
  return node;
}

LoaderOptions float_crops() {
  LoaderOptions options;
  options.batches = crop_batches(224, image::TensorType::f32);
  return options;
}

/// `gpus` that take 1000 samples/s each.
JobRequirement thousand_each(std::uint64_t gpus, double min_au = 1) { return {{gpus, 200, 0.2, 1}, min_au, nullptr}; }

/// The first line, and what it has no space for.
std::string words_of(const Verdict& verdict) {
  std::string words = verdict.text;
  for (const std::string& note : verdict.notes) words += "; " + note;
  return words;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("stages that share cores add up: 2 cores / (0.1 ms + 2.4 ms) are 800 samples/s") {
  const RunSummary summary = summarize_run(small_node(), thousand_each(2), float_crops());
  CHECK(summary.predicted.samples_per_second == Approx(800));
  CHECK(summary.predicted.au_ratio.value() == Approx(0.4));
  CHECK(summary.predicted.au_serial_ratio.value() == Approx(0.2 / (0.2 + 400.0 / 800)));
  CHECK(summary.predicted.gpus_fed == 0);
  CHECK(summary.verdict.ok == false);
  CHECK(summary.verdict.limiting_stage == "decode");
  CHECK(summary.verdict.text == "decode is the bottleneck: 800 samples/s available, 2,000 needed, predicted AU 40 %");
}

TEST_CASE("unpacking takes its share of the cores: 2 / (0.1 ms + 0.7 ms + 2.4 ms) are 625 samples/s") {
  MeasuredNode node = small_node();
  node.unpack = UnpackCosts{100, 1000, 100e3, 120e3, 0.0007};
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(summary.predicted.samples_per_second == Approx(625));
  CHECK(summary.verdict.limiting_stage == "decode");
  CHECK(contains(summary.verdict.remedy, "plain shards (`shardctl reshard`) avoid unpacking, which takes 22 % of"));
  REQUIRE(summary.stage_table.size() > 1);
  CHECK(summary.stage_table[1].stage == "unpack");
  CHECK(*summary.stage_table[1].measured_per_second == Approx(2 / 0.0007));
}

TEST_CASE("unpacking is the bottleneck if it takes most of the CPU time, or if few shards keep few cores busy") {
  MeasuredNode node = small_node();
  node.unpack = UnpackCosts{100, 1000, 100e3, 120e3, 0.005};
  const Verdict verdict = summarize_run(node, thousand_each(2), float_crops()).verdict;
  CHECK(verdict.limiting_stage == "unpack");
  CHECK(contains(verdict.remedy, "`shardctl reshard`"));
  CHECK(contains(verdict.remedy, "or 13.0 more cores of this kind (15.0 in total)"));  // for 2000/s * 7.5 ms
  node.unpack = UnpackCosts{1, 1000, 100e3, 120e3, 0.002};  // one core: 500/s; both: 2 / 4.5 ms
  node.cores = 8;
  node.threads = 8;
  node.decode->rate = 3320;
  const RunSummary few = summarize_run(node, thousand_each(2), float_crops());
  CHECK(few.verdict.limiting_stage == "unpack");
  CHECK(few.predicted.samples_per_second == Approx(500));
  CHECK(contains(few.verdict.remedy, "or use more shards"));
}

TEST_CASE("without decoding, unpacking is judged as well as reading") {
  MeasuredNode node = small_node();
  node.decode.reset();
  node.unpack = UnpackCosts{100, 1000, 100e3, 120e3, 0.001};
  const Verdict verdict = summarize_run(node, {}, float_crops()).verdict;
  CHECK(verdict.limiting_stage == "unpack");
  CHECK(verdict.text.starts_with("reads 2,000 samples/s (800 MB/s); unpack is the bottleneck"));
}

TEST_CASE("what would close a decode gap is in cores: 2000/s * 2.5 ms are 5, of which 2 are there") {
  const RunSummary summary = summarize_run(small_node(), thousand_each(2), float_crops());
  CHECK(contains(summary.verdict.remedy, "3.0 more cores"));
  CHECK(contains(summary.verdict.remedy, "(5.0 in total)"));
  CHECK_FALSE(contains(summary.verdict.remedy, "also too slow"));
}

TEST_CASE(
    "cores that decode less together than one by one are counted as they are: 2000/s of 400/s are 5 times as many") {
  MeasuredNode node = small_node();
  node.decode->rate = 400;  // 2 cores alone would give 830
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(contains(summary.verdict.remedy, "8.0 more cores"));
  CHECK(contains(summary.verdict.remedy, "(10.0 in total)"));
}

TEST_CASE("what would close a read gap is in bytes: 2000/s of 100 kB are 200 MB/s, of which 50 are there") {
  MeasuredNode node = small_node();
  node.read.rate = 50e6;
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(summary.verdict.limiting_stage == "read");
  CHECK(summary.verdict.text == "read is the bottleneck: 500 samples/s available, 2,000 needed, predicted AU 25 %");
  CHECK(contains(summary.verdict.remedy, "150 MB/s more"));
  CHECK(contains(summary.verdict.remedy, "decode is also too slow (800 samples/s)"));
}

TEST_CASE("augmenting shares the decoding threads: 1 / (1/830 + 1/8300) are 755 samples/s") {
  MeasuredNode node = small_node();
  node.augment = MeasuredStage{8300, stats::Interval{8200, 8400}, 0.0001};
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(summary.predicted.samples_per_second == Approx(830.0 * 8300 / (830 + 8300)));
  REQUIRE(summary.stage_table.size() == 3);
  CHECK(summary.stage_table[2].stage == "augment");
  CHECK(*summary.stage_table[2].measured_per_second == 8300);
  CHECK(summary.stage_table[2].interval->low == 8200);
  CHECK(summary.stage_table[2].interval->high == 8400);
  node.augment->cpu_seconds = 0.003;
  const Verdict verdict = summarize_run(node, thousand_each(2), float_crops()).verdict;
  CHECK(verdict.limiting_stage == "augment");
  CHECK(verdict.remedy.starts_with("8-bit values normalized on the GPU"));
  CHECK_FALSE(contains(verdict.remedy, "decoding on the GPU"));
}

TEST_CASE("samples that are no images are judged by reading, with the size of the data") {
  JobRequirement job = thousand_each(2);
  job.kind = SampleKind::tokens;
  const RunSummary summary = summarize_run(small_node(), job, float_crops());
  CHECK(summary.verdict.ok == true);
  CHECK(summary.predicted.samples_per_second == Approx(8000));
  CHECK(contains(summary.verdict.text, "samples are tokens: judged only by reading"));
}

TEST_CASE(
    "a pipeline that was measured is what the node feeds, as in the verdict, and the stages are compared with it") {
  MeasuredNode node = small_node();
  node.pipeline = MeasuredStage{640};
  CHECK(summarize_run(node, {}, float_crops()).predicted.samples_per_second == Approx(640));
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(summary.predicted.samples_per_second == Approx(640));
  CHECK(*summary.predicted.of_measured_ratio == Approx(1.25));
  CHECK(summary.predicted.au_ratio.value() == Approx(0.32));
  CHECK(summary.verdict.text == "decode is the bottleneck: 640 samples/s available, 2,000 needed, predicted AU 32 %");
  CHECK(summary.stage_table.back().stage == "pipeline");
  CHECK(summary.stage_table.back().headroom_ratio.value() == Approx(0.32));
  CHECK(summarize_run(node, {}, float_crops()).verdict.text.starts_with("640 samples/s; decode is the bottleneck"));
  // What a pipeline gives, each of its stages gives.
  node.pipeline = MeasuredStage{9000};
  CHECK(summarize_run(node, thousand_each(2), float_crops()).verdict.limiting_stage == "compute");
}

TEST_CASE("half a core that a control group allows is half a core: 0.5 / 2.5 ms are 200 samples/s") {
  MeasuredNode node = small_node();
  node.cores = 0.5;
  node.cpu_limit = 0.5;
  node.threads = 1;
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(summary.predicted.samples_per_second == Approx(200));
  CHECK(contains(summary.verdict.remedy, "4.5 more cores"));
  CHECK(contains(summary.verdict.remedy, "CPU limit of 0.50 cores"));
}

TEST_CASE("threads that were asked for and leave cores idle are part of the remedy") {
  MeasuredNode node = small_node();
  node.threads = 1;
  node.decode->rate = 415;
  CHECK(contains(summarize_run(node, thousand_each(2), float_crops()).verdict.remedy, "--threads 1 leaves cores idle"));
}

TEST_CASE("images far larger than their crops are to be made smaller once: 12 megapixels for 224 * 224") {
  MeasuredNode node = small_node();
  node.megapixels = 12;
  CHECK(contains(summarize_run(node, thousand_each(2), float_crops()).verdict.remedy, "shardctl convert --resize"));
  node.megapixels = 0.19;  // ImageNet's
  CHECK_FALSE(contains(summarize_run(node, thousand_each(2), float_crops()).verdict.remedy, "--resize"));
}

TEST_CASE("image files that storage gives too slowly are to be sharded, with the share of time that this spares") {
  MeasuredNode node = small_node();
  node.read.rate = 50e6;
  node.file_costs_ratio = 0.64;
  CHECK(contains(summarize_run(node, thousand_each(2), float_crops()).verdict.remedy,
                 "64 % of the time of a file is opening, stat and closing, which shards avoid"));
}

TEST_CASE("rows of the table have the intervals of their stages") {
  MeasuredNode node = small_node();
  node.read.interval = stats::Interval{700e6, 900e6};
  node.decode->interval = stats::Interval{747, 913};  // a tenth below and above 830
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(summary.stage_table[0].interval->low == Approx(7000));
  CHECK(summary.stage_table[0].interval->high == Approx(9000));
  CHECK(summary.stage_table[1].interval->low == Approx(720));
  CHECK(summary.stage_table[1].interval->high == Approx(880));
}

TEST_CASE("an interval that does not hold the rate is left out: the one is of slices, the other of all the time") {
  MeasuredNode node = small_node();
  node.read.interval = stats::Interval{801e6, 900e6};
  node.decode->interval = stats::Interval{700, 829};
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK_FALSE(summary.stage_table[0].interval);
  CHECK_FALSE(summary.stage_table[1].interval);
}

TEST_CASE("with repetitions the table has medians and their intervals over the repetitions") {
  std::vector<MeasuredNode> repetitions(6, small_node());
  for (std::size_t i = 0; i < repetitions.size(); ++i) {
    const auto step = static_cast<double>(i);
    repetitions[i].read.rate = 800e6 + step * 10e6;
    repetitions[i].read.interval = stats::Interval{1, 2};  // of a single repetition
    repetitions[i].decode->rate = 830 + step * 2;
    repetitions[i].decode->cpu_seconds = 0.0024 + step * 1e-5;
    repetitions[i].pipeline = MeasuredStage{700 + step * 4};
  }
  const MeasuredNode node = median_node(repetitions);
  CHECK(node.decode->cpu_seconds == Approx(0.002425));
  CHECK(node.decode->interval->low == 830);
  CHECK(node.decode->interval->high == 840);
  CHECK_FALSE(node.augment);
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  CHECK(summary.stage_table.front().measured_per_second.value() == Approx(8250));
  CHECK(summary.stage_table.front().interval->low == Approx(8000));
  CHECK(summary.stage_table.front().interval->high == Approx(8500));
  CHECK(summary.stage_table.back().stage == "pipeline");
  CHECK(summary.stage_table.back().measured_per_second.value() == Approx(710));
  CHECK(summary.stage_table.back().interval->low == 700);
  CHECK(summary.stage_table.back().interval->high == 720);
  repetitions.back().pipeline.reset();
  CHECK_FALSE(median_node(repetitions).pipeline);
}

TEST_CASE("a lower utilization may be enough, and then the limit is reported without a finding") {
  const RunSummary summary = summarize_run(small_node(), thousand_each(1, 0.8), float_crops());
  CHECK(summary.verdict.ok == true);
  CHECK(summary.verdict.limiting_stage == "decode");
  CHECK(contains(summary.verdict.text, "enough; decode is the bottleneck: 800 samples/s available, 1,000"));
  CHECK(summary.verdict.remedy.empty());
}

TEST_CASE("when input is fast enough compute limits") {
  const JobRequirement slow{{1, 100, 1.0, 1}, 1, nullptr};
  const RunSummary summary = summarize_run(small_node(), slow, float_crops());
  CHECK(summary.verdict.ok == true);
  CHECK(summary.verdict.limiting_stage == "compute");
  CHECK(contains(summary.verdict.text, "GPUs are fed"));
}

TEST_CASE("the verdict says warm where storage was not measured") {
  MeasuredNode node = small_node();
  for (const CacheState state : {CacheState::warm, CacheState::mixed}) {
    node.cache_state = state;
    const std::string words = std::string(enum_name(state)) + " page cache";
    CHECK(contains(words_of(summarize_run(node, thousand_each(2), float_crops()).verdict), words));
    CHECK(contains(summarize_run(node, {}, float_crops()).verdict.text, words));
  }
  node.cache_state = CacheState::unknown;
  CHECK(contains(summarize_run(node, {}, float_crops()).verdict.text, "unknown"));
}

TEST_CASE("without a job it reports how many GPUs of each preset it feeds") {
  const RunSummary summary = summarize_run(small_node(), {}, float_crops());
  CHECK(summary.verdict.ok == true);
  CHECK_FALSE(summary.requirement);
  CHECK(summary.presets.size() == presets().size());
  CHECK(summary.verdict.text.starts_with("800 samples/s; decode is the bottleneck"));
}

TEST_CASE("a workload that is no JPEG is held against bytes alone") {
  const Preset& unet = find_preset("unet3d-a100");
  const RunSummary summary =
      summarize_run(small_node(), JobRequirement{preset_job(unet, 1), 0.9, &unet}, float_crops());
  CHECK(summary.verdict.limiting_stage == "read");
  CHECK(summary.predicted.au_ratio.value() == Approx(800e6 / 1.61353e9).epsilon(0.001));
  CHECK(summary.stage_table.size() == 1);
  CHECK(contains(words_of(summary.verdict), "; samples are not JPEGs: judged only by reading"));
}

TEST_CASE("volumes are read and moved as they are stored, and no processor time goes into decoding them") {
  MeasuredNode node = small_node();  // 100 kB for 0.1 ms, so a volume of 146,600,628 B for 146.6 ms
  node.cores = 64;
  const Preset& unet = find_preset("unet3d-h100");  // 7 volumes in 0.323 s: 21.67/s a GPU
  LoaderOptions options = float_crops();
  options.limits.cores = 64;
  const RunSummary summary = summarize_run(node, JobRequirement{preset_job(unet, 8), 0.9, &unet}, options);
  CHECK(summary.requirement->h2d_bytes_per_second == Approx(8 * 7 / 0.323 * 146600628));
  CHECK(summary.loader.workers > 0);
  const auto workers = static_cast<double>(summary.loader.workers);
  CHECK(summary.loader.dev_shm_needed == Approx(8.0 * (workers * 2 + 1) * 7 * 146600628));
  CHECK(summary.loader.why_no_code == "samples of unet3d-h100 are not images");
}

TEST_CASE("data without images has only its reading to judge") {
  MeasuredNode node = small_node();
  node.decode.reset();
  const RunSummary summary = summarize_run(node, thousand_each(10), float_crops());
  CHECK(summary.verdict.limiting_stage == "read");
  CHECK(summary.stage_table.size() == 1);
  CHECK(summary.stage_table.front().headroom_ratio.value() == Approx(0.8));
  CHECK(summarize_run(node, {}, float_crops()).verdict.text ==
        "reads 8,000 samples/s (800 MB/s); no JPEG, PNG or WebP: decoding not measured");
}

TEST_CASE("where nothing was decoded the first line says so, and no GPU of a JPEG workload counts as fed") {
  MeasuredNode node = small_node();
  CHECK_FALSE(contains(summarize_run(node, thousand_each(2), float_crops()).verdict.text, "no JPEG"));
  CHECK(summarize_run(node, {}, float_crops()).presets.size() == presets().size());
  node.decode.reset();
  CHECK(summarize_run(node, thousand_each(2), float_crops()).verdict.text ==
        "GPUs are fed: 8,000 samples/s available, 2,000 needed, predicted AU 100 %; no JPEG, PNG or WebP: "
        "decoding not measured");
  const std::vector<PresetRow> rows = summarize_run(node, {}, float_crops()).presets;
  CHECK_FALSE(rows.empty());
  for (const PresetRow& row : rows) CHECK_FALSE(find_preset(row.name).jpeg);
}

TEST_CASE("the loader has the job's batches, or 256 samples, and those of whole images have their pixels") {
  MeasuredNode node = small_node();
  LoaderOptions asked = float_crops();
  asked.batches.workers = 12;
  CHECK(summarize_run(node, thousand_each(8), asked).loader.dev_shm_needed == Approx(8 * 25.0 * 200 * 602112));
  CHECK(summarize_run(node, {}, asked).loader.dev_shm_needed == Approx(25.0 * 256 * 602112));
  node.crop = 0;
  node.megapixels = 0.21;
  asked.batches.decoded_bytes = 3;
  const RunSummary summary = summarize_run(node, thousand_each(1), asked);
  CHECK(summary.requirement->h2d_bytes_per_second == Approx(1000 * 630e3));
  CHECK(summary.loader.dev_shm_needed == Approx(25.0 * 200 * 630e3));
}

namespace {

/// A loader that delivers `rate` on a node that delivers 800/s to a job that needs 400/s.
RunSummary with_loader(double rate, bool is_measured, std::uint64_t workers, bool is_disturbed = false) {
  MeasuredNode node = small_node();
  LoaderOptions options = float_crops();
  options.data.kind = LoaderKind::image_folder;
  options.data.folder = "photos";
  options.data.images = 1'000'000;
  options.limits.cores = 1;
  options.batches.workers = workers;
  const double step = workers == 0 ? 1.0 / 400 : 0;  // without workers, loading and computing alternate
  const double cpu = 1 / rate - step;
  if (is_measured) {
    Calibration& measured = node.calibration.emplace();
    measured.worker_seconds = cpu;
    measured.alone_seconds = cpu;
  } else {
    node.sample_work = {100e3, 0.2, cpu - 0.0015, 1};
  }
  if (is_disturbed) node.neighbors = {1.3, 2, 0, 0};
  return summarize_run(node, JobRequirement{{1, 400, 1.0, 1}, 1, nullptr}, options);
}

}  // namespace

TEST_CASE("a loader that was measured is a stage of the verdict, one that was estimated is named beside it") {
  struct Row {
    bool is_measured;
    std::uint64_t workers;
    double rate;
    bool is_disturbed;
    std::optional<bool> ok;  // false: exit code 3; empty: 1
    std::string stage;
    std::string text;
  };
  const std::string fed = "GPUs are fed: 800 samples/s available, 400 needed, predicted AU 100 %";
  const std::vector<Row> rows{
      {true, 1, 1200, false, true, "compute", fed},
      {true, 1, 700, false, true, "compute", "GPUs are fed: 700 samples/s available, 400 needed, predicted AU 100 %"},
      {true, 1, 380, false, {}, "loader", "undecided: loader 380 of 400 samples/s"},
      {true, 1, 361, false, {}, "loader", "undecided: loader 361 of 400 samples/s"},
      {true, 1, 350, false, false, "loader",
       "loader is the bottleneck: 350 samples/s available, 400 needed, predicted AU 88 %"},
      {true, 1, 350, true, {}, "loader", "undecided: loader 350 of 400 samples/s"},
      {true, 0, 200, false, false, "loader",
       "loader is the bottleneck: 200 samples/s available, 400 needed, predicted AU 50 %"},
      {true, 0, 380, false, {}, "loader", "undecided: loader 380 of 400 samples/s"},
      {false, 1, 320, false, true, "compute",
       "storage and decoding suffice: 800 of 400/s; PyTorch with PIL does not: about "},
      {false, 0, 150, false, true, "compute",
       "storage and decoding suffice: 800 of 400/s; PyTorch with PIL does not: about "},
      {false, 1, 320, true, true, "compute",
       "storage and decoding suffice: 800 of 400/s; PyTorch with PIL does not: about "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.rate);
    CAPTURE(row.workers);
    const RunSummary summary = with_loader(row.rate, row.is_measured, row.workers, row.is_disturbed);
    if (row.is_measured) CHECK(summary.loader.samples_per_second == Approx(row.rate));
    CHECK(summary.verdict.ok == row.ok);
    CHECK(summary.verdict.limiting_stage == row.stage);
    CHECK(summary.verdict.text.starts_with(row.text));
    CHECK(summary.verdict.text.size() <= 120);
    CHECK(summary.predicted.samples_per_second == Approx(800));  // of the node, as compare needs it
  }
  const RunSummary missed = with_loader(350, true, 1);
  CHECK(missed.stage_table.back().stage == "loader");
  CHECK(missed.stage_table.back().note == "PyTorch with PIL, 1 worker per GPU, calibrated");
  CHECK(contains(missed.verdict.remedy, "leave out --workers"));
}

TEST_CASE("the stage that is named has the least headroom in the table") {
  MeasuredNode node = small_node();
  node.augment = MeasuredStage{600, {}, 0.003};  // decoding takes 2.4 ms
  const RunSummary summary = summarize_run(node, thousand_each(2), float_crops());
  const auto least = std::ranges::min_element(summary.stage_table, {},
                                              [](const StageTableRow& row) { return row.headroom_ratio.value(); });
  CHECK(least->stage == "augment");
  CHECK(summary.verdict.limiting_stage == "augment");
  CHECK(least->note == "beside the others; alone 600/s");
}

TEST_CASE("a utilization that is missed is not rounded to the required one, and a rate in full digits is met") {
  MeasuredNode node = small_node();
  node.read.rate = 199.8e6;  // 1,998 of 2,000
  node.decode.reset();
  CHECK(contains(summarize_run(node, thousand_each(2), float_crops()).verdict.text, "predicted AU 99.9 %"));
  node.read.rate = 200e6 * (1 - 1e-9);
  CHECK(summarize_run(node, thousand_each(2), float_crops()).verdict.ok == true);
}

namespace {

/// One GPU that is given 50 GB/s, in copies of 154 MB: 83,000 float32 crops of 224 a second.
MeasuredNode node_with_gpu() {
  MeasuredNode node = small_node();
  node.transfer = MeasuredStage{50e9, stats::Interval{49e9, 51e9}};
  node.transfer_gpus = 1;
  node.transfer_copy_bytes = 154140672;
  return node;
}

}  // namespace

TEST_CASE("copies to the GPU are a row of the table: 50 GB/s are 83,041 crops of 602,112 bytes") {
  const RunSummary summary = summarize_run(node_with_gpu(), thousand_each(1), float_crops());
  const StageTableRow& row = summary.stage_table.back();
  CHECK(row.stage == "transfer");
  CHECK(*row.required_per_second == 1000);
  CHECK(*row.measured_per_second == Approx(50e9 / 602112));
  CHECK(row.interval->low == Approx(49e9 / 602112));
  CHECK(*row.headroom_ratio == Approx(83.04).epsilon(0.001));
  CHECK(row.note == "50.0 GB/s to the GPU, 147 MiB per copy");
  CHECK(summary.verdict.limiting_stage == "decode");
}

TEST_CASE("each GPU of a job has a link of its own, measured or not") {
  const RunSummary summary = summarize_run(node_with_gpu(), thousand_each(8), float_crops());
  CHECK(*summary.stage_table.back().measured_per_second == Approx(8 * 50e9 / 602112));
  CHECK(summary.stage_table.back().note == "50.0 GB/s to each, 1 of 8 at once");
}

TEST_CASE("a link that is too slow limits, and what would close the gap is in bytes for each GPU") {
  MeasuredNode node = node_with_gpu();
  node.transfer->rate = 0.3e9;  // 498 crops a second
  const RunSummary summary = summarize_run(node, thousand_each(2, 0.9), float_crops());
  CHECK(summary.verdict.limiting_stage == "decode");
  CHECK(contains(summary.verdict.remedy, "transfer is also too slow (996 samples/s)"));
  node.decode->rate = 1e6;
  node.decode->cpu_seconds = 1e-6;
  node.read.cpu_seconds = 1e-6;
  const RunSummary link = summarize_run(node, thousand_each(2, 0.9), float_crops());
  CHECK(link.verdict.limiting_stage == "transfer");
  CHECK(link.predicted.samples_per_second == Approx(2 * 0.3e9 / 602112));
  CHECK(contains(link.verdict.remedy, "242 MB/s more to each GPU would close the gap (542 MB/s in total)"));
  CHECK(contains(link.verdict.remedy, "--dtype u8"));
}

TEST_CASE("a pipeline of the host is held against the host's stages alone") {
  MeasuredNode node = node_with_gpu();
  node.transfer->rate = 0.06e9;  // 100 crops a second
  node.pipeline = MeasuredStage{640};
  const RunSummary summary = summarize_run(node, thousand_each(1), float_crops());
  CHECK(*summary.predicted.of_measured_ratio == Approx(1.25));
  CHECK(summary.verdict.limiting_stage == "transfer");
  CHECK(summary.verdict.text.starts_with("transfer is the bottleneck: 100 samples/s available, 1,000"));
  CHECK(contains(summary.verdict.remedy, "decode is also too slow (640 samples/s)"));
}

TEST_CASE("without a job the link may be what limits") {
  MeasuredNode node = node_with_gpu();
  node.transfer->rate = 0.06e9;
  CHECK(summarize_run(node, {}, float_crops()).verdict.limiting_stage == "transfer");
  CHECK(summarize_run(node_with_gpu(), {}, float_crops()).verdict.limiting_stage == "decode");
}

TEST_CASE("a job that is missed while others disturb is undecided, one that is met is met") {
  MeasuredNode node = small_node();
  node.neighbors = {1.3, 2, 0, 0};
  const Verdict missed = summarize_run(node, thousand_each(2), float_crops()).verdict;
  CHECK_FALSE(missed.ok);
  CHECK(missed.text == "undecided: decode 800 of 2,000 samples/s");
  CHECK(missed.remedy == "others used 1.3 of 2 cores: run again on an idle machine");
  LoaderOptions forced = float_crops();
  forced.force_verdict = true;
  const Verdict anyway = summarize_run(node, thousand_each(2), forced).verdict;
  CHECK(anyway.ok == false);
  CHECK(anyway.remedy == "run again on an idle machine to find out what would close the gap");
  CHECK(contains(words_of(anyway), "disturbed: others used 1.3 of 2 cores"));
  const JobRequirement small{{1, 50, 0.5, 1}, 1, nullptr};
  CHECK(summarize_run(node, small, float_crops()).verdict.ok == true);
  node.neighbors = {0.19, 2, 40e6, 0.049};
  CHECK(summarize_run(node, thousand_each(2), float_crops()).verdict.ok == false);
  node.neighbors.device_ratio = 0.06;
  CHECK(contains(summarize_run(node, thousand_each(2), float_crops()).verdict.remedy,
                 "others used 40.0 MB/s of the disk:"));
}

TEST_CASE("separate stages and their pipeline name the same bottleneck, or the verdict says that they do not") {
  MeasuredNode node = small_node();
  const auto text = [&](std::string stage) {
    node.pipeline = MeasuredStage{800};
    node.pipeline_stage = std::move(stage);
    return words_of(summarize_run(node, thousand_each(2), float_crops()).verdict);
  };
  CHECK_FALSE(contains(text("decode"), "uncertain"));
  CHECK_FALSE(contains(text("augment"), "uncertain"));  // by the same threads
  CHECK_FALSE(contains(text("compute"), "uncertain"));
  CHECK(contains(
      text("read"),
      "uncertain: decode is the slowest stage when measured alone, but the pipeline waited for read. Run again with "
      "a longer --budget"));
  node.read.rate = 85e6;
  CHECK(contains(text("read"), "; read is about as slow (850 samples/s)"));
}

TEST_CASE("storage with latency needs as many reads in flight as a rate times its latency") {
  MeasuredNode node = small_node();  // on 2 cores
  node.readers = 8;
  node.read.rate = 8e6;                                   // a read of 100 kB takes 0.1 s
  const JobRequirement job{{1, 20, 0.2, 1}, 1, nullptr};  // 100/s
  node.more_readers = MoreReaders{32, 320, 32e6};
  const RunSummary more = summarize_run(node, job, float_crops());
  CHECK(more.stage_table[1].stage == "more reads");
  CHECK(more.stage_table[1].measured_per_second.value() == Approx(320));
  CHECK(contains(more.verdict.remedy, "a sample takes 0.10 s to read, so 10 reads in flight are needed, --workers 10"));
  node.more_readers = MoreReaders{32, 81, 8.1e6};
  CHECK(contains(summarize_run(node, job, float_crops()).verdict.remedy, "more reads in flight do not help"));
  node.more_readers = MoreReaders{32, 95, 9.5e6};
  CHECK(contains(summarize_run(node, job, float_crops()).verdict.remedy,
                 "32 reads in flight instead of 8 give 95 samples/s"));
}

TEST_CASE("images that are not JPEG are named first, and their remedy is not one of JPEGs") {
  MeasuredNode node = small_node();
  node.images = image::ImageKind::png;
  node.megapixels = 12;
  const std::string free = summarize_run(node, {}, float_crops()).verdict.text;
  CHECK(contains(free, "is the bottleneck; the images are PNG, not JPEG"));
  const Verdict verdict = summarize_run(node, thousand_each(100), float_crops()).verdict;
  CHECK(contains(verdict.text, "; the images are PNG, not JPEG"));
  CHECK(contains(verdict.remedy, "or JPEGs, which take less time and which a GPU decodes"));
  CHECK_FALSE(contains(verdict.remedy, "--resize"));
}
