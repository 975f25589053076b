#include "bench/run/conclusion.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace shardkit;
using doctest::Approx;

namespace {

/// 2 cores; 8000 samples/s of 100 kB read for 0.1 ms of processor time each; 800/s decoded for 2.4 ms each.
MeasuredNode small_node() {
  MeasuredNode node;
  node.cores = 2;
  node.threads = 2;
  node.sample_bytes = 100e3;
  node.read_bytes_per_second = 800e6;
  node.read_cpu_seconds = 0.0001;
  node.cache_state = "cold";
  node.decode_samples_per_second = 830;
  node.decode_cpu_seconds = 0.0024;
  node.dev_shm = 1U << 30U;
  return node;
}

LoaderOptions float_crops() { return {{}, 2, tensor_bytes(224, 4), 256}; }

/// `gpus` that take 1000 samples/s each.
JobRequirement thousand_each(std::uint64_t gpus, double min_au = 1) { return {{gpus, 200, 0.2, 1}, min_au, nullptr}; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("stages that share cores add up: 2 cores / (0.1 ms + 2.4 ms) are 800 samples/s") {
  const Conclusion conclusion = conclude(small_node(), thousand_each(2), float_crops());
  CHECK(conclusion.predicted.samples_per_second == Approx(800));
  CHECK(conclusion.predicted.au_ratio.value() == Approx(0.4));
  CHECK(conclusion.predicted.au_serial_ratio.value() == Approx(0.2 / (0.2 + 400.0 / 800)));
  CHECK(conclusion.predicted.gpus_fed == 0);
  CHECK_FALSE(conclusion.verdict.ok);
  CHECK(conclusion.verdict.limiting_stage == "decode");
  CHECK(conclusion.verdict.text == "decode limits: 800 of 2,000 samples/s, predicted AU 40 %");
}

TEST_CASE("what would close a decode gap is in cores: 2000/s * 2.5 ms are 5, of which 2 are there") {
  const Conclusion conclusion = conclude(small_node(), thousand_each(2), float_crops());
  CHECK(contains(conclusion.verdict.remedy, "3.0 more cores"));
  CHECK(contains(conclusion.verdict.remedy, "(5.0 in all)"));
  CHECK_FALSE(contains(conclusion.verdict.remedy, "short too"));
}

TEST_CASE(
    "cores that decode less together than one by one are counted as they are: 2000/s of 400/s are 5 times as many") {
  MeasuredNode node = small_node();
  node.decode_samples_per_second = 400;  // 2 cores alone would give 830
  const Conclusion conclusion = conclude(node, thousand_each(2), float_crops());
  CHECK(contains(conclusion.verdict.remedy, "8.0 more cores"));
  CHECK(contains(conclusion.verdict.remedy, "(10.0 in all)"));
}

TEST_CASE("what would close a read gap is in bytes: 2000/s of 100 kB are 200 MB/s, of which 50 are there") {
  MeasuredNode node = small_node();
  node.read_bytes_per_second = 50e6;
  const Conclusion conclusion = conclude(node, thousand_each(2), float_crops());
  CHECK(conclusion.verdict.limiting_stage == "read");
  CHECK(conclusion.verdict.text == "read limits: 500 of 2,000 samples/s, predicted AU 25 %");
  CHECK(contains(conclusion.verdict.remedy, "150 MB/s more"));
  CHECK(contains(conclusion.verdict.remedy, "decode is short too (800 samples/s)"));
}

TEST_CASE("augmenting shares the decoding threads: 1 / (1/830 + 1/8300) are 755 samples/s") {
  MeasuredNode node = small_node();
  node.augment_samples_per_second = 8300;
  node.augment_cpu_seconds = 0.0001;
  const Conclusion conclusion = conclude(node, thousand_each(2), float_crops());
  CHECK(conclusion.predicted.samples_per_second == Approx(830.0 * 8300 / (830 + 8300)));
  REQUIRE(conclusion.ladder.size() == 3);
  CHECK(conclusion.ladder[2].stage == "augment");
  CHECK(*conclusion.ladder[2].measured_per_second == 8300);
  node.augment_cpu_seconds = 0.003;
  CHECK(conclude(node, thousand_each(2), float_crops()).verdict.limiting_stage == "augment");
}

TEST_CASE("a pipeline that was measured is what the verdict goes by, and the prediction is held against it") {
  MeasuredNode node = small_node();
  node.pipeline_samples_per_second = 640;
  const Conclusion conclusion = conclude(node, thousand_each(2), float_crops());
  CHECK(conclusion.predicted.samples_per_second == Approx(800));
  CHECK(*conclusion.predicted.of_measured_ratio == Approx(1.25));
  CHECK(conclusion.predicted.au_ratio.value() == Approx(0.32));
  CHECK(conclusion.verdict.text == "decode limits: 640 of 2,000 samples/s, predicted AU 32 %");
  CHECK(conclusion.ladder.back().stage == "pipeline");
  CHECK(conclusion.ladder.back().headroom_ratio.value() == Approx(0.32));
  CHECK(contains(conclude(node, {}, float_crops()).verdict.text, "decode limits at 640 samples/s"));
  // What a pipeline gives, each of its stages gives.
  node.pipeline_samples_per_second = 9000;
  CHECK(conclude(node, thousand_each(2), float_crops()).verdict.limiting_stage == "compute");
}

TEST_CASE("half a core that a control group allows is half a core: 0.5 / 2.5 ms are 200 samples/s") {
  MeasuredNode node = small_node();
  node.cores = 0.5;
  node.cpu_limit = 0.5;
  node.threads = 1;
  const Conclusion conclusion = conclude(node, thousand_each(2), float_crops());
  CHECK(conclusion.predicted.samples_per_second == Approx(200));
  CHECK(contains(conclusion.verdict.remedy, "4.5 more cores"));
  CHECK(contains(conclusion.verdict.remedy, "CPU limit of 0.50 cuts in"));
}

TEST_CASE("threads that were asked for and leave cores idle are part of the remedy") {
  MeasuredNode node = small_node();
  node.threads = 1;
  node.decode_samples_per_second = 415;
  CHECK(contains(conclude(node, thousand_each(2), float_crops()).verdict.remedy, "--threads 1 leaves cores idle"));
}

TEST_CASE("images far larger than their crops are to be made smaller once: 12 megapixels for 224 * 224") {
  MeasuredNode node = small_node();
  node.megapixels = 12;
  CHECK(contains(conclude(node, thousand_each(2), float_crops()).verdict.remedy, "shardctl convert --resize"));
  node.megapixels = 0.19;  // ImageNet's
  CHECK_FALSE(contains(conclude(node, thousand_each(2), float_crops()).verdict.remedy, "--resize"));
}

TEST_CASE("image files that storage gives too slowly are to be sharded, with what that brings at least") {
  MeasuredNode node = small_node();
  node.read_bytes_per_second = 50e6;
  node.shards_gain_ratio = 2.84;
  CHECK(contains(conclude(node, thousand_each(2), float_crops()).verdict.remedy,
                 "shards (`shardctl convert`) spare each file's opening and closing: at least 2.8 times"));
}

TEST_CASE("rows of the ladder have the intervals of their stages") {
  MeasuredNode node = small_node();
  node.read_interval = RateInterval{700e6, 900e6};
  node.decode_interval = RateInterval{747, 913};  // a tenth below and above 830
  const Conclusion conclusion = conclude(node, thousand_each(2), float_crops());
  CHECK(conclusion.ladder[0].interval->low == Approx(7000));
  CHECK(conclusion.ladder[0].interval->high == Approx(9000));
  CHECK(conclusion.ladder[1].interval->low == Approx(720));
  CHECK(conclusion.ladder[1].interval->high == Approx(880));
}

TEST_CASE("a lower utilisation may be enough, and then the limit is told without a finding") {
  const Conclusion conclusion = conclude(small_node(), thousand_each(1, 0.8), float_crops());
  CHECK(conclusion.verdict.ok);
  CHECK(conclusion.verdict.limiting_stage == "decode");
  CHECK(contains(conclusion.verdict.text, "enough, though decode limits: 800 of 1,000"));
  CHECK(conclusion.verdict.remedy.empty());
}

TEST_CASE("when input is fast enough compute limits") {
  const JobRequirement slow{{1, 100, 1.0, 1}, 1, nullptr};
  const Conclusion conclusion = conclude(small_node(), slow, float_crops());
  CHECK(conclusion.verdict.ok);
  CHECK(conclusion.verdict.limiting_stage == "compute");
  CHECK(contains(conclusion.verdict.text, "the GPUs are fed"));
}

TEST_CASE("the first line says warm where storage was not measured") {
  MeasuredNode node = small_node();
  for (const char* state : {"warm", "mixed"}) {
    node.cache_state = state;
    CHECK(contains(conclude(node, thousand_each(2), float_crops()).verdict.text, std::string(state) + " page cache"));
    CHECK(contains(conclude(node, {}, float_crops()).verdict.text, std::string(state) + " page cache"));
  }
  node.cache_state = "unknown";
  CHECK(contains(conclude(node, {}, float_crops()).verdict.text, "not known"));
}

TEST_CASE("without a job it tells what each preset's GPUs would get, in tenths") {
  const Conclusion conclusion = conclude(small_node(), {}, float_crops());
  CHECK(conclusion.verdict.ok);
  CHECK_FALSE(conclusion.requirement);
  CHECK(conclusion.presets.size() == presets().size());
  CHECK(contains(conclusion.verdict.text, "0.9 x resnet50-a100,"));  // 800 / (0.9 * 919.5) = 0.967
  CHECK(contains(conclusion.verdict.text, "decode limits at 800 samples/s"));
}

TEST_CASE("a workload that is no JPEG is held against bytes alone") {
  const Preset& unet = find_preset("unet3d-a100");
  const Conclusion conclusion = conclude(small_node(), JobRequirement{preset_job(unet, 1), 0.9, &unet}, float_crops());
  CHECK(conclusion.verdict.limiting_stage == "read");
  CHECK(conclusion.predicted.au_ratio.value() == Approx(800e6 / 1.61353e9).epsilon(0.001));
  CHECK(conclusion.ladder.size() == 1);
}

TEST_CASE("volumes are read and moved as they are stored, and no processor time goes into decoding them") {
  MeasuredNode node = small_node();  // 100 kB for 0.1 ms, so a volume of 146,600,628 B for 146.6 ms
  node.cores = 64;
  const Preset& unet = find_preset("unet3d-h100");  // 7 volumes in 0.323 s: 21.67/s a GPU
  const Conclusion conclusion = conclude(node, JobRequirement{preset_job(unet, 8), 0.9, &unet}, float_crops());
  CHECK(conclusion.requirement->h2d_bytes_per_second == Approx(8 * 7 / 0.323 * 146600628));
  CHECK(conclusion.loader.workers == 4);  // 21.67/s * 146.6 ms = 3.18
  CHECK(conclusion.loader.dev_shm_needed == Approx(8.0 * 4 * 2 * 7 * 146600628));
  CHECK_FALSE(conclusion.loader.dev_shm_fits);
}

TEST_CASE("data without images has only its reading to judge") {
  MeasuredNode node = small_node();
  node.decode_samples_per_second.reset();
  const Conclusion conclusion = conclude(node, thousand_each(10), float_crops());
  CHECK(conclusion.verdict.limiting_stage == "read");
  CHECK(conclusion.ladder.size() == 1);
  CHECK(conclusion.ladder.front().headroom_ratio.value() == Approx(0.8));
  CHECK(conclude(node, {}, float_crops()).verdict.text ==
        "reads 8,000 samples/s (800 MB/s); there were no images to decode");
}

TEST_CASE("the loader gets as many workers as it takes, no more than the cores, or what was asked for") {
  MeasuredNode node = small_node();
  node.cores = 16;
  // 1000/s * 2.5 ms = 2.5: three workers
  CHECK(conclude(node, thousand_each(1), float_crops()).loader.workers == 3);
  CHECK(conclude(node, thousand_each(8), float_crops()).loader.workers == 2);
  LoaderOptions asked = float_crops();
  asked.workers = 12;
  const DataLoaderAdvice advice = conclude(node, thousand_each(8), asked).loader;
  CHECK(contains(advice.line, "batch_size=200, num_workers=12, prefetch_factor=2, pin_memory=True"));
  CHECK(contains(advice.line, "persistent_workers=True"));
}

TEST_CASE("the loader's memory is 8 GPUs * 12 workers * 2 batches * 200 * 602,112 B, too much for 1 GiB") {
  MeasuredNode node = small_node();
  LoaderOptions asked = float_crops();
  asked.workers = 12;
  const DataLoaderAdvice advice = conclude(node, thousand_each(8), asked).loader;
  CHECK(advice.dev_shm_needed == Approx(8.0 * 12 * 2 * 200 * 602112));
  CHECK_FALSE(advice.dev_shm_fits);
  node.dev_shm.reset();  // no /dev/shm to be too small
  CHECK(conclude(node, thousand_each(8), asked).loader.dev_shm_fits);
}
