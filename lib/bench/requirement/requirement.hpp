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

/// Calculates what training needs from its input, and whether a supply is enough. docs/explain/model.md has every
/// formula with its source and an example. Sizes in bytes, times in seconds, rates per second. Inputs are positive
/// unless a comment says otherwise.
namespace shardkit::bench {

/// A training job, from the view of its input.
struct TrainingJob {
  std::uint64_t gpus = 1;
  std::uint64_t batch = 1;  ///< samples per GPU and step
  double step_seconds = 1;  ///< that a GPU computes one batch
  double sample_bytes = 0;  ///< as stored
};

/// N * B / t
double samples_per_second(const TrainingJob& job);
/// BW = N * B * S / t
double bytes_per_second(const TrainingJob& job);

/// Size of one decoded sample: channels * height * width * bytes per value, for a square RGB crop.
std::uint64_t tensor_bytes(std::uint64_t side, std::uint64_t value_bytes);

/// Rate of decoding images of `bytes` if images of `measured_bytes` are decoded at `rate`: rate * measured_bytes /
/// bytes if they are larger by more than a quarter, because the cost is roughly proportional to the bytes. Smaller ones
/// count like the measured ones, because their gain was not measured.
double decode_rate_of(double rate, double measured_bytes, double bytes);

/// Memory in which a PyTorch DataLoader keeps finished batches, a lower limit of its /dev/shm: ranks * workers *
/// prefetch factor * batch * bytes per decoded sample.
double prefetch_bytes(std::uint64_t ranks, std::uint64_t workers, std::uint64_t prefetch, std::uint64_t batch,
                      double decoded_sample_bytes);

/// Share of the running time for checkpoints: t_blocked / (interval * t_step + t_blocked), where t_blocked is the whole
/// write if training waits for it, or only the copy if the data is written in the background.
double checkpoint_share(double blocked_seconds, double interval_steps, double step_seconds);

/// Whether a checkpoint written in the background is finished before the next one starts.
bool checkpoint_fits(double write_seconds, double interval_steps, double step_seconds);

/// Accelerator utilization if fetching overlaps with computing completely: min(1, supply / demand).
double overlapped_au(double supply_per_second, double demand_per_second);

/// Accelerator utilization if each step first waits for its batch: t_step / (t_step + t_fetch), with t_fetch = N * B /
/// supply. 0 without supply.
double serial_au(const TrainingJob& job, double supply_per_second);

/// A supply that is lower than a demand by this share meets it: rates are written with a limited number of digits.
inline constexpr double kRateRounding = 1e-6;

/// Whether a supply meets a demand.
bool meets(double supply_per_second, double demand_per_second);

/// How many GPUs a supply of samples keeps busy at `au`: the largest number whose demand it meets.
std::uint64_t gpus_fed(const TrainingJob& job, double supply_per_second, double au = 1);

/// The rate of stages that share `cores`: their CPU seconds per sample add up. 0 if they cost nothing.
double shared_cores_rate(double cores, std::span<const double> cpu_seconds_per_sample);

/// A published training workload on one kind of GPU.
struct Preset {
  std::string_view name;      ///< <workload>-<accelerator>[-amp]
  std::string_view workload;  ///< the model, as people write it
  std::string_view gpu;       ///< with AMP: in mixed precision
  double sample_bytes;
  std::uint64_t batch;
  double step_seconds;
  double min_au;             ///< required GPU utilization
  bool jpeg;                 ///< its samples are JPEG files, so the job includes decoding
  std::string_view edition;  ///< publication
};

/// All presets, workloads together.
std::span<const Preset> presets();

/// The preset named `name`. Throws Error{usage} with a list of all.
const Preset& find_preset(std::string_view name);

/// How many GPUs of a preset can be fed, as text.
struct FedGpus {
  const Preset* preset = nullptr;
  std::string count;
};

/// "2.3 A100, 1.1 H100 (ResNet-50), 1.5 B200 (RetinaNet)"; rows of one workload follow each other. Empty without rows.
std::string fed_gpus_text(std::span<const FedGpus> rows);

/// The job of `gpus` GPUs with the preset.
TrainingJob preset_job(const Preset& preset, std::uint64_t gpus);

/// Cores that a stage needs for one GPU of a JPEG preset.
struct CoresNeeded {
  std::string preset;
  double samples_per_second = 0;
  double cores = 0;

  void describe(FieldList& v);
};

/// A row for every JPEG preset: its samples per second divided by those of one core. None if `per_core` is 0.
std::vector<CoresNeeded> cores_needed(double per_core);

/// Whether a supply meets a requirement.
enum class RequirementState {
  met,
  missed,
  undecided,  ///< the measured stage is enough, but another one was not measured
};
constexpr auto enum_names(RequirementState) { return std::to_array<std::string_view>({"met", "missed", "undecided"}); }

/// Stages have these names in every result.
namespace stage {
inline constexpr std::string_view kRead = "read";
inline constexpr std::string_view kMoreReads = "more reads";  ///< with more of them in flight
inline constexpr std::string_view kUnpack = "unpack";         ///< of compressed shards, by the readers
inline constexpr std::string_view kDecode = "decode";
inline constexpr std::string_view kAugment = "augment";
inline constexpr std::string_view kPipeline = "pipeline";  ///< those at once
inline constexpr std::string_view kTransfer = "transfer";
inline constexpr std::string_view kCompute = "compute";
inline constexpr std::string_view kCheckpoint = "checkpoint";
inline constexpr std::string_view kLoader = "loader";  ///< PyTorch's, if --python measured its work
}  // namespace stage

/// Samples per second of a stage without other stages.
struct StageRate {
  std::string_view stage;
  double samples_per_second = 0;
};

/// Rates of stages that were measured alone, where all of them at once reach `together`: that replaces the rate of the
/// slowest one, and no other is below it. Requires at least one.
std::vector<StageRate> measured_together(std::vector<StageRate> alone, double together);

/// Outcome of a job on a node.
struct Rating {
  std::string limiting_stage;    ///< the slowest stage; "compute" if every stage is fast enough
  double supply_per_second = 0;  ///< samples, of the slowest stage
  double headroom_ratio = 0;     ///< supply divided by demand; below 1 the supply is too slow
  double overlapped_au = 0;      ///< utilization if fetching overlaps with computing completely
  double serial_au = 0;          ///< utilization if each step waits for its batch
  std::uint64_t gpus_fed = 0;    ///< at `min_au`
  bool ok = false;               ///< overlapped_au reaches `min_au`
};

/// Name of a stage's activity, for the start of a sentence: "decoding" for "decode".
std::string_view stage_activity(std::string_view stage);

/// "40 %": a utilization. One below `min_au` has a digit more if it would be shown as `min_au` or more.
std::string au_text(double au, double min_au);

/// "1,200", "0.27": rounded to whole numbers, below 10 to two digits.
std::string rate_number(double per_second);
/// "1 sample/s", "1,200 samples/s", "0.27 samples/s", rounded like rate_number().
std::string sample_rate_text(double samples_per_second);

/// Rates overlapping stages, of which the slowest is the bottleneck. `rates` is not empty; min_au in (0, 1].
Rating rating_of(const TrainingJob& job, double min_au, std::span<const StageRate> rates);

/// What the samples of a job are. Only images are decoded and cropped by what this program measures.
enum class SampleKind { images, tokens, video, bytes };
constexpr auto enum_names(SampleKind) {
  return std::to_array<std::string_view>({"images", "tokens", "video", "bytes"});
}

/// A job and its required GPU utilization.
struct JobRequirement {
  TrainingJob job;
  double min_au = 1;                 ///< 1: every GPU busy all the time
  const Preset* preset = nullptr;    ///< preset of the job, if there is one
  std::optional<SampleKind> kind{};  ///< if it was given

  /// False for workloads whose samples are not images: they are neither decoded nor cropped.
  bool is_of_images() const { return kind ? *kind == SampleKind::images : preset == nullptr || preset->jpeg; }
};

/// A job on the command line: a preset, single values, or a preset with replaced values. The base of the options of
/// verbs that judge by a job.
struct JobOptions {
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::optional<std::uint64_t> sample_bytes;  ///< given or measured; needed only without a preset
  std::optional<double> min_au;
  std::optional<SampleKind> sample_kind;

  /// All but sample_bytes.
  void describe(FieldList& v);
};

/// Empty if the options describe no job. Throws Error{usage} if something is missing or invalid, such as a number of
/// GPUs or a utilization without a job.
std::optional<JobRequirement> job_requirement(const JobOptions& options);

/// Warns if the batch of a preset was replaced but not its step time, which belongs to its own batch.
void warn_of_step_time(const JobOptions& options, Context& context);

}  // namespace shardkit::bench
