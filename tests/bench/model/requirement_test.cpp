#include "bench/requirement/requirement.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using doctest::Approx;

TEST_CASE("8 GPUs of 256 images in 0.2 s at 130 kB need 1.33 GB/s") {
  const TrainingJob job{8, 256, 0.2, 130e3};
  CHECK(samples_per_second(job) == Approx(10240));
  CHECK(bytes_per_second(job) == Approx(1.3312e9));
}

TEST_CASE("5000 samples/s of 150 kB are 750 MB/s") { CHECK(bytes_per_second({1, 5000, 1.0, 150e3}) == Approx(750e6)); }

TEST_CASE("published slips: 512 GPUs * 4 * 8192 B / 2 s are 8.39 MB/s, 2 M tokens/s of 2 B are 4 MB/s") {
  CHECK(bytes_per_second({512, 4, 2.0, 8192}) == Approx(8388608));
  CHECK(bytes_per_second({1, 2'000'000, 1.0, 2}) == Approx(4e6));
}

TEST_CASE("64 crops of 224 in float32 are 38.5 MB: 4.8 ms at 8 GB/s, 1.4 ms at 28 GB/s") {
  const auto batch = static_cast<double>(64 * tensor_bytes(224, 4));
  CHECK(batch == 38535168);
  CHECK(batch / 8e9 == Approx(4.8e-3).epsilon(0.01));
  CHECK(batch / 28e9 == Approx(1.4e-3).epsilon(0.02));
}

TEST_CASE("8 ranks with 8 workers that prefetch 2 batches of 256 float32 crops hold 19.7 GB") {
  CHECK(prefetch_bytes(8, 8, 2, 256, static_cast<double>(tensor_bytes(224, 4))) == Approx(128.0 * 256 * 602112));
}

TEST_CASE("a checkpoint of 350 s every 1000 steps of 2 s takes 14.9 %") {
  CHECK(checkpoint_share(350, 1000, 2) == Approx(0.149).epsilon(0.001));
}

TEST_CASE("an asynchronous checkpoint costs its copy, and must be written before the next") {
  CHECK(checkpoint_share(5, 1000, 2) == Approx(5.0 / 2005));
  CHECK(checkpoint_fits(2000, 1000, 2));
  CHECK_FALSE(checkpoint_fits(2001, 1000, 2));
}

TEST_CASE("utilization lies between full overlap and none") {
  const TrainingJob job{1, 400, 0.2, 100e3};  // demands 2000/s
  CHECK(overlapped_au(500, 2000) == Approx(0.25));
  CHECK(serial_au(job, 500) == Approx(0.2 / (0.2 + 0.8)));
  CHECK(overlapped_au(4000, 2000) == 1);
  CHECK(serial_au(job, 2000) == Approx(0.5));
  CHECK(serial_au(job, 0) == 0);
}

TEST_CASE("the inverse: GPUs that a supply feeds, whole ones") {
  const TrainingJob job{8, 400, 0.4, 0};  // 1000/s each
  CHECK(gpus_fed(job, 999) == 0);
  CHECK(gpus_fed(job, 1000) == 1);
  CHECK(gpus_fed(job, 7999) == 7);
  CHECK(gpus_fed(job, 900, 0.9) == 1);
  CHECK(gpus_fed(job, 0) == 0);
}

TEST_CASE("an exact multiple of what a GPU needs feeds as many GPUs, whatever rounds; a little less feeds one fewer") {
  for (const double step_seconds : {3.0, 0.1, 0.224, 0.4}) {
    for (const double au : {1.0, 0.9, 0.7}) {
      for (std::uint64_t n = 1; n <= 1280; ++n) {
        const TrainingJob job{n, 7, step_seconds, 0};
        const double needed = samples_per_second(job) * au;
        REQUIRE(gpus_fed(job, needed, au) == n);
        REQUIRE(gpus_fed(job, needed * (1 - 1e-6), au) == n - 1);
      }
    }
  }
}

TEST_CASE("stages that share cores add their processor time") {
  const std::vector<double> stages{0.001, 0.003};
  CHECK(shared_cores_rate(2, stages) == Approx(500));
  CHECK(shared_cores_rate(2, {}) == 0);
}

TEST_CASE("the presets give the published rates per GPU") {
  struct Row {
    const char* name;
    double samples, megabytes;
  };
  for (const Row& row : {Row{"unet3d-a100", 11.0, 1613},
                         {"unet3d-h100", 21.7, 3177},
                         {"unet3d-b200", 43.2, 6335},
                         {"resnet50-a100", 920, 105},
                         {"resnet50-h100", 1786, 205},
                         {"resnet50-a100-amp", 2470, 283},
                         {"cosmoflow-a100", 181, 513},
                         {"cosmoflow-h100", 286, 808},
                         {"retinanet-b200", 505, 163},
                         {"retinanet-mi355", 504.7, 163},
                         {"flux-b200", 35.6, 77},
                         {"flux-mi355", 35.6, 77},
                         {"dlrm-b200", 43'690'667, 33'249},
                         {"dlrm-mi355", 29'127'111, 22'166}}) {
    CAPTURE(row.name);
    const TrainingJob job = preset_job(find_preset(row.name), 1);
    CHECK(samples_per_second(job) == Approx(row.samples).epsilon(0.005));
    CHECK(bytes_per_second(job) == Approx(row.megabytes * 1e6).epsilon(0.006));
  }
  CHECK(presets().size() == 14);
}

TEST_CASE("an unknown preset is a usage error that names the known ones") {
  try {
    find_preset("resnet50");
    FAIL("found");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    CHECK(std::string(error.what()).find("resnet50-a100-amp") != std::string::npos);
  }
}

TEST_CASE("GPUs that are fed are listed by workload") {
  const std::vector<FedGpus> fed{{&find_preset("resnet50-a100"), "2.3"},
                                 {&find_preset("resnet50-a100-amp"), "0.8"},
                                 {&find_preset("retinanet-b200"), "1.5"}};
  CHECK(fed_gpus_text(fed) == "2.3 A100, 0.8 A100 AMP (ResNet-50), 1.5 B200 (RetinaNet)");
  CHECK(fed_gpus_text({}).empty());
}
