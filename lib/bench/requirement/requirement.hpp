#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"

/// The arithmetic of what training asks of its input, of what it gets, and whether that is enough. Every formula stands
/// in docs/model.md with its source and an example. Sizes in bytes, times in seconds, rates per second. Inputs are
/// taken to be positive unless a comment says otherwise.
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

/// Whether a supply meets a requirement.
enum class RequirementState {
  met,
  missed,
  undecided,  ///< what was measured is enough, but a stage was not measured
};
constexpr auto enum_names(RequirementState) { return std::to_array<std::string_view>({"met", "missed", "undecided"}); }

/// Stages have these names in every result.
namespace stage {
inline constexpr std::string_view kRead = "read";
inline constexpr std::string_view kDecode = "decode";
inline constexpr std::string_view kAugment = "augment";
inline constexpr std::string_view kTransfer = "transfer";
inline constexpr std::string_view kCompute = "compute";
inline constexpr std::string_view kCheckpoint = "checkpoint";
}  // namespace stage

/// How many samples a second a stage gives when nothing else holds it back.
struct StageRate {
  std::string_view stage;
  double samples_per_second = 0;
};

/// What comes of a job on a node.
struct Judgement {
  std::string limiting_stage;    ///< the slowest stage; "compute" when every stage is fast enough
  double supply_per_second = 0;  ///< samples, of the slowest stage
  double headroom_ratio = 0;     ///< supply over demand; below 1 something is short
  double overlapped_au = 0;      ///< utilisation when fetching runs wholly beside computing
  double serial_au = 0;          ///< utilisation when each step waits for its batch
  std::uint64_t gpus_fed = 0;    ///< at `min_au`
  bool ok = false;               ///< overlapped_au reaches `min_au`
};

/// What a stage does, as a sentence begins with it: "decoding" of "decode".
std::string_view stage_activity(std::string_view stage);

/// "1 sample/s", "1,200 samples/s", rounded.
std::string sample_rate_text(double samples_per_second);

/// Judges stages that overlap, so that the slowest sets the pace. `rates` is not empty; min_au in (0, 1].
Judgement judge(const TrainingJob& job, double min_au, std::span<const StageRate> rates);

/// A job and how much of its GPUs' time it wants used.
struct JobRequirement {
  TrainingJob job;
  double min_au = 1;               ///< 1: every GPU busy all the time
  const Preset* preset = nullptr;  ///< where the job came from, if from one

  /// False for workloads whose samples are no images: they are neither decoded nor cropped.
  bool is_of_images() const { return preset == nullptr || preset->jpeg; }
};

/// What a command line says of a job: a preset, single values, or a preset with values replaced.
struct JobOptions {
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::optional<std::uint64_t> sample_bytes;  ///< given or measured; needed only without a preset
  std::optional<double> min_au;
};

/// Empty when the options describe no job at all. Throws Error{usage} when something is missing or impossible; a number
/// of GPUs or a utilisation without a job is such.
std::optional<JobRequirement> job_requirement(const JobOptions& options);

/// Warns where the batch of a preset was replaced and its step time, which is that of its own batch, was not.
void warn_of_step_time(const JobOptions& options, Context& context);

}  // namespace shardkit::bench
