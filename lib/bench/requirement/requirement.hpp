#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

/// The arithmetic of what training asks of its input, and of what it gets. Pure functions; every formula stands in
/// docs/model.md with its source and an example. Sizes in bytes, times in seconds, rates per second. Inputs are taken
/// to be positive unless a comment says otherwise.
namespace shardkit::bench {

/// A training job as its input side sees it.
struct TrainingJob {
  std::uint64_t gpus = 1;
  std::uint64_t batch = 1;  ///< samples per GPU and step
  double step_seconds = 1;  ///< that a GPU computes on one batch
  double sample_bytes = 0;  ///< as stored
};

/// N * B / t
double samples_per_second(const TrainingJob& job);
/// BW = N * B * S / t
double bytes_per_second(const TrainingJob& job);

/// What one sample takes once decoded: channels * height * width * bytes per value, for a square RGB crop.
std::uint64_t tensor_bytes(std::uint64_t side, std::uint64_t value_bytes);

/// What decodes `rate` images of `measured_bytes` a second gives of images of `bytes`: rate * measured_bytes / bytes
/// where these are larger by more than a quarter, as decoding costs about as much as there are bytes. Smaller ones
/// count as those that were measured: what they would gain nobody measured.
double decode_rate_of(double rate, double measured_bytes, double bytes);

/// Memory in which a PyTorch DataLoader keeps finished batches, a lower bound of its /dev/shm:
/// ranks * workers * prefetch factor * batch * bytes per decoded sample.
double prefetch_bytes(std::uint64_t ranks, std::uint64_t workers, std::uint64_t prefetch, std::uint64_t batch,
                      double decoded_sample_bytes);

/// Share of the running time that goes into checkpoints: t_blocked / (interval * t_step + t_blocked), where t_blocked
/// is the whole write when training waits for it, or only the copy when the write goes on behind it.
double checkpoint_share(double blocked_seconds, double interval_steps, double step_seconds);

/// Whether a checkpoint written behind the training is done before the next one starts.
bool checkpoint_fits(double write_seconds, double interval_steps, double step_seconds);

/// Accelerator utilisation when fetching runs wholly beside computing: min(1, supply / demand).
double overlapped_au(double supply_per_second, double demand_per_second);

/// Accelerator utilisation when each step first waits for its batch: t_step / (t_step + t_fetch), with
/// t_fetch = N * B / supply. 0 when there is no supply.
double serial_au(const TrainingJob& job, double supply_per_second);

/// How many GPUs a supply of samples keeps busy at `au`: the inverse of the demand, rounded down but for rounding
/// error.
std::uint64_t gpus_fed(const TrainingJob& job, double supply_per_second, double au = 1);

/// The rate of stages that share `cores`: their processor seconds per sample add up. 0 when they cost nothing at all.
double shared_cores_rate(double cores, std::span<const double> cpu_seconds_per_sample);

/// A published training workload on one kind of GPU.
struct Preset {
  std::string_view name;  ///< <workload>-<accelerator>[-amp]
  double sample_bytes;
  std::uint64_t batch;
  double step_seconds;
  double min_au;             ///< accelerator utilisation that counts as fed
  bool jpeg;                 ///< its samples are JPEG files, so that decoding is part of the job
  std::string_view edition;  ///< what was published, where
};

/// All presets, workloads together.
std::span<const Preset> presets();

/// The preset called `name`. Throws Error{usage} that lists them all.
const Preset& find_preset(std::string_view name);

/// The job that `gpus` GPUs of the preset's kind run.
TrainingJob preset_job(const Preset& preset, std::uint64_t gpus);

/// Cores that one GPU of a JPEG preset keeps busy with a stage.
struct CoresNeeded {
  std::string preset;
  double samples_per_second = 0;
  double cores = 0;

  void describe(FieldVisitor& v);
};

/// A row for every JPEG preset: its samples per second over those that one core does. None when `per_core` is 0.
std::vector<CoresNeeded> cores_needed(double per_core);

}  // namespace shardkit::bench
