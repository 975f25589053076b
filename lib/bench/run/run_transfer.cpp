#include "bench/run/run_transfer.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

/// Copies are at their full rate long before; more would be pinned for nothing.
constexpr std::uint64_t kMostCopy = std::uint64_t{256} << 20U;
constexpr std::uint64_t kLeastCopy = 4096;

/// Parts of a batch, then all of it, as far as there is memory for it on both sides.
std::vector<std::uint64_t> copy_sizes(const BatchCopies& wanted, std::span<gpu::Device* const> devices,
                                      const system::Probe& probe) {
  const double batch = static_cast<double>(wanted.batch) * wanted.sample_bytes;
  std::uint64_t most = std::min(kMostCopy, system::usable_memory(probe) / 4 / devices.size() / kLeastCopy * kLeastCopy);
  for (const gpu::Device* const device : devices) {
    most = std::min(most, device->free_memory() / 10 * 8 / kLeastCopy * kLeastCopy);
    if (most == 0) throw Error(ErrorCode::no_space, fmt::format("GPU {} has no free memory", device->facts().index));
  }
  const auto all =
      batch < static_cast<double>(most) ? std::max<std::uint64_t>(static_cast<std::uint64_t>(batch), 1) : most;
  std::vector<std::uint64_t> sizes;
  for (const std::uint64_t parts : {16U, 4U}) {
    if (all / parts >= kLeastCopy) sizes.push_back(all / parts);
  }
  sizes.push_back(all);
  return sizes;
}

/// Measures all GPUs at the same time, as they copy in the job. The stage's rate is that of the slowest.
void measure_gpus(std::span<gpu::Device* const> devices, const GpuMachine& machine, const BatchCopies& wanted,
                  Context& context, TransferStage& stage) {
  const auto sizes = copy_sizes(wanted, devices, machine.probe);
  TransferPlan plan;
  plan.kinds = {gpu::HostMemory::pinned};
  plan.times_pinning = false;
  plan.seconds_per_copy = wanted.seconds / static_cast<double>(sizes.size());
  for (const std::uint64_t bytes : sizes) {
    plan.jobs.push_back({gpu::HostMemory::pinned, CopyDirection::h2d, bytes, 1});
  }
  TransferResult result;
  measure_copies(plan, devices, machine, context, result);
  for (const TransferRow& row : result.rows) {
    if (row.bytes != sizes.back() || row.bytes_per_second > stage.pinned_h2d.value_or(row.bytes_per_second)) continue;
    stage.pinned_h2d = row.bytes_per_second;
    stage.interval = row.interval;
    stage.copy_bytes = row.bytes;
  }
  stage.rows = std::move(result.rows);
  stage.devices = std::move(result.devices);
}

std::string stage_text(const TransferStage& stage, const BatchCopies& wanted) {
  const std::string link = stage.devices.size() == 1 ? link_name(stage.devices.front()) : std::string();
  const std::string to = stage.devices.size() == 1 ? std::string("one GPU")
                                                   : fmt::format("each of {} GPUs at once, the slowest", stage.gpus);
  const double batch = static_cast<double>(wanted.batch) * wanted.sample_bytes;
  const std::string batch_text = format_rounded_size(batch);
  return fmt::format("pinned memory to {}: {}, batches of {}{}", to, format_rate(stage.pinned_h2d.value_or(0)),
                     batch_text, link.empty() ? "" : ", " + link);
}

}  // namespace

TransferStage measure_transfer(const GpuMachine& gpus, const BatchCopies& wanted, Context& context) {
  TransferStage stage;
  stage.text = gpus.missing;
  if (gpus.devices.empty()) return stage;
  stage.gpus = std::min<std::uint64_t>(wanted.gpus, gpus.devices.size());
  stage.batch = wanted.batch;
  stage.sample_bytes = wanted.sample_bytes;
  try {
    measure_gpus(std::span(gpus.devices).first(stage.gpus), gpus, wanted, context, stage);
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
  v.field({"gpus", Unit::count, "GPUs that were measured at the same time"}, gpus);
  v.field({"batch", Unit::count, "samples per batch of a GPU"}, batch);
  v.field({"sample", Unit::bytes, "bytes per sample when copied to the GPU"}, sample_bytes);
  v.field({"copy", Unit::bytes, "size of the measured copies: that of a batch, at most 256 MiB"}, copy_bytes);
  v.field({"pinned_h2d", Unit::bytes_per_second, "rate of a copy to the slowest GPU, median", metric(Better::higher)},
          pinned_h2d);
  v.field({"interval", "95 % interval of the rate, bytes per second"}, interval);
  v.field({"devices", "the GPUs and their links"}, devices);
  v.field({"rows", "rate of each GPU by copy size"}, rows);
}

}  // namespace shardkit::bench
