#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "bench/run/run.hpp"
#include "bench/transfer/transfer.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

/// Copies are at their full rate long before; more would be pinned for nothing.
constexpr std::uint64_t kMostCopy = std::uint64_t{256} << 20U;
constexpr std::uint64_t kLeastCopy = 4096;

/// Parts of a batch, then all of it, as far as there is memory for it on both sides.
std::vector<std::uint64_t> copy_sizes(const BatchCopies& wanted, const gpu::Device& device,
                                      const system::Probe& probe) {
  const double batch = static_cast<double>(wanted.batch) * wanted.sample_bytes;
  const std::uint64_t room = std::min(system::usable_memory(probe) / 4, device.free_memory() / 10 * 8);
  const std::uint64_t most = std::min(kMostCopy, room / kLeastCopy * kLeastCopy);
  if (most == 0) throw Error(ErrorCode::no_space, fmt::format("GPU {} has no free memory", device.facts().index));
  const auto all =
      batch < static_cast<double>(most) ? std::max<std::uint64_t>(static_cast<std::uint64_t>(batch), 1) : most;
  std::vector<std::uint64_t> sizes;
  for (const std::uint64_t parts : {16U, 4U}) {
    if (all / parts >= kLeastCopy) sizes.push_back(all / parts);
  }
  sizes.push_back(all);
  return sizes;
}

/// Measures one GPU, into a stage that others share. The stage's rate is that of the slowest.
void measure_gpu(gpu::Device& device, const TransferMachine& machine, const BatchCopies& wanted, Context& context,
                 TransferStage& stage) {
  const auto sizes = copy_sizes(wanted, device, machine.probe);
  TransferPlan plan;
  plan.kinds = {gpu::HostMemory::pinned};
  plan.times_pinning = false;
  plan.seconds_per_copy = wanted.seconds / static_cast<double>(stage.gpus * sizes.size());
  for (const std::uint64_t bytes : sizes) {
    plan.jobs.push_back({gpu::HostMemory::pinned, CopyDirection::h2d, bytes, 1});
  }
  TransferResult result;
  measure_copies(plan, device, machine, context, result);
  const TransferRow& whole = result.rows.back();
  if (whole.bytes_per_second <= stage.pinned_h2d.value_or(whole.bytes_per_second)) {
    stage.pinned_h2d = whole.bytes_per_second;
    stage.interval = whole.interval;
    stage.copy_bytes = whole.bytes;
  }
  std::ranges::move(result.rows, std::back_inserter(stage.rows));
  std::ranges::move(result.devices, std::back_inserter(stage.devices));
}

std::string stage_text(const TransferStage& stage, const BatchCopies& wanted) {
  const std::string link = stage.devices.size() == 1 ? link_name(stage.devices.front()) : std::string();
  const std::string to = stage.devices.size() == 1
                             ? std::string("one GPU")
                             : fmt::format("each of {} GPUs, one at a time, the slowest", stage.gpus);
  const double batch = static_cast<double>(wanted.batch) * wanted.sample_bytes;
  const std::string batch_text = format_rounded_size(batch);
  return fmt::format("pinned memory to {}: {}, batches of {}{}", to, format_rate(stage.pinned_h2d.value_or(0)),
                     batch_text, link.empty() ? "" : ", " + link);
}

}  // namespace

TransferStage measure_transfer(const RunGpus& gpus, const BatchCopies& wanted, Context& context) {
  TransferStage stage;
  stage.text = gpus.missing;
  if (gpus.machine.devices.empty()) return stage;
  stage.gpus = std::min<std::uint64_t>(wanted.gpus, gpus.machine.devices.size());
  stage.batch = wanted.batch;
  stage.sample_bytes = wanted.sample_bytes;
  try {
    for (std::size_t i = 0; i < stage.gpus; ++i) {
      measure_gpu(*gpus.machine.devices[i], gpus.machine, wanted, context, stage);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::corrupt) throw;
    stage = {};
    stage.text = fmt::format("not measured: {}", error.what());
    context.warn("transfer_not_measured", fmt::format("copies to the GPUs were not measured: {}", error.what()));
    return stage;
  }
  stage.measured = true;
  stage.gpu = stage.devices.front().name;
  stage.text = stage_text(stage, wanted);
  return stage;
}

void TransferStage::describe(FieldList& v) {
  v.field({"measured", "whether this stage was measured"}, measured);
  v.field({"text", "what was measured, or why not"}, text);
  v.field({"gpu", "model of the first GPU"}, gpu);
  v.field({"gpus", Unit::count, "GPUs that were measured, one at a time"}, gpus);
  v.field({"batch", Unit::count, "samples per batch of a GPU"}, batch);
  v.field({"sample", Unit::bytes, "bytes per sample when copied to the GPU"}, sample_bytes);
  v.field({"copy", Unit::bytes, "size of the measured copies: that of a batch, at most 256 MiB"}, copy_bytes);
  v.field({"pinned_h2d", Unit::bytes_per_second, "time of a copy to the slowest GPU, median"}, pinned_h2d);
  v.field({"interval", "95 % interval of the rate, bytes per second"}, interval);
  v.field({"devices", "the GPUs and their links"}, devices);
  v.field({"rows", "rate of each GPU by copy size"}, rows);
}

}  // namespace shardkit::bench
